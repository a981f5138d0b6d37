"""JupyterLab over a long sitting: cells below the view, cells run again and again, a busy kernel, large models."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import CDPSession, expect

from browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SMALL = """
import gc, weakref, torch
from torch import nn
from nf_widget import FlowWidget

torch.manual_seed(0)
ran = []

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Conv2d(c, 8, 3, padding=1) for c in (3, 8, 8))

    def forward(self, x):
        ran.append(x.shape)
        return self.third(self.second(self.first(x).relu()).relu()).mean((2, 3))

model = Net().eval()
inputs = [torch.rand(1, 3, 32, 32) for _ in range(3)]
"""
FRAMES = f"{SMALL}\nw = FlowWidget(model, frames=inputs)\nw"


def test_output_holds_a_table_beside_the_widget(lab: Lab) -> None:
    lab.open(FRAMES)
    lab.run_all()
    expect(lab.stage("output")).to_be_visible()
    lab.save()
    saved = lab.server.root / "notebook.ipynb"
    lab.page.wait_for_timeout(1000)
    text = saved.read_text("utf-8")
    assert "application/vnd.jupyter.widget-view+json" in text
    for line in ("first", "Conv2d 3×3", "8×32×32"):
        assert line in text


def test_a_cell_below_the_view_is_drawn_from_the_present_state(lab: Lab) -> None:
    tall = "print('\\n' * 60)"
    lab.open(tall, tall, FRAMES, "w.frame = 1; w.selected = 'second'", tall)
    lab.page.evaluate("() => { window.nfDrawn = document.querySelectorAll('.nf-widget').length }")
    lab.run_all()
    lab.show_cell(2)
    expect(lab.stage("output")).to_be_visible()
    expect(lab.page.locator(".nf-s-place")).to_have_text("frame 2 of 3")
    expect(lab.inspector).to_contain_text("second")
    assert lab.value("w.overview['frame']") == 1


def test_clicks_while_the_kernel_is_busy_end_in_one_answer_to_the_last(lab: Lab) -> None:
    lab.open(f"{SMALL}\nw = FlowWidget(model, inputs[0])\nw")
    lab.run_all()
    lab.stage("first").click()
    expect(lab.inspector.locator("[data-exact]").first).to_be_visible()
    go = lab.server.root / "go-on"
    lab.run("ran.clear()")
    lab.start(f"import pathlib, time\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.05)")
    for name in ("second", "first", "third"):
        lab.stage(name).click()
        # What the browser has is shown at once.
        expect(lab.inspector).to_contain_text(name)
    expect(lab.widget).to_have_attribute("data-state", "waiting")
    expect(lab.widget.locator(".nf-toolbar")).to_contain_text("kernel busy")
    go.touch()
    lab.finish()
    expect(lab.inspector.locator("[data-exact]").first).to_be_visible()
    expect(lab.widget).to_have_attribute("data-state", "idle")
    assert lab.value("w.selected") == "third"
    assert lab.value("len(ran)") <= 1, "each wish was answered with a forward of its own"


# IPython keeps the value of every cell, and so the widget, unless it is displayed by name.
RERUN = """
for w in made: w().close()
w = FlowWidget(model, inputs[0])
seen.append(weakref.ref(w))
made = seen[-1:]
w.selected = 'second'
display(w)
"""


class Heap:
    """What the page holds once its garbage is collected."""

    def __init__(self, session: CDPSession) -> None:
        for _ in range(3):
            session.send("HeapProfiler.collectGarbage")
        usage, counters = session.send("Runtime.getHeapUsage"), session.send("Memory.getDOMCounters")
        self.mb = usage["usedSize"] / 2**20
        self.nodes, self.listeners = counters["nodes"], counters["jsEventListeners"]

    def __str__(self) -> str:
        return f"{self.mb:.1f} MB, {self.nodes} nodes, {self.listeners} listeners"


def test_a_cell_run_thirty_times_leaves_nothing_behind(lab: Lab, results: Path) -> None:
    lab.open(f"{SMALL}\nseen, made = [], []", RERUN)
    lab.run_all()
    session = lab.page.context.new_cdp_session(lab.page)

    def again(times: int) -> None:
        for _ in range(times):
            lab.page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")
            expect(lab.inspector.locator("[data-exact]").first).to_be_visible()
            expect(lab.widget).to_have_attribute("data-state", "idle")
            # What the page still has to say would reach a widget that is closed.
            lab.page.wait_for_timeout(200)

    lab.show_cell(1)
    lab.page.locator(".jp-Cell").nth(1).locator(".cm-content").click()
    lab.page.keyboard.press("Escape")
    again(5)
    before = Heap(session)
    again(30)
    after = Heap(session)
    lab.note("reruns", f"before 30 runs: {before}\nafter: {after}")
    lab.run("w.close(); del w; gc.collect()")
    assert lab.value("len(seen)") == 36
    assert lab.value("[n for n, ref in enumerate(seen) if ref() is not None]") == []
    assert lab.value("[len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]") == [0] * 4
    # JupyterLab itself comes and goes by a hundred; eight of each run would be seen.
    assert after.nodes - before.nodes < 300, (str(before), str(after))
    assert after.listeners - before.listeners < 240, (str(before), str(after))
    assert after.mb - before.mb < 12, (str(before), str(after))


def test_values_that_are_not_finite_are_counted(lab: Lab) -> None:
    lab.open(
        """
import torch
from torch import nn
from nf_widget import FlowWidget

class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.bad = nn.LeakyReLU()
        self.last = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        y = self.first(x).clone()
        y[0, 0, 0, :2], y[0, 1, 0, :3], y[0, 2, 0, 0] = float("nan"), float("inf"), -float("inf")
        return self.last(self.bad(y))

torch.manual_seed(0)
w = FlowWidget(Broken(), torch.rand(1, 1, 16, 16), layers=["first", "bad", "last"])
w
"""
    )
    lab.run_all()
    lab.stage("bad").click()
    expect(lab.inspector).to_contain_text("NaN")
    assert lab.value("[w.flow.summary('bad').statistics.nan, w.flow.summary('bad').statistics.inf]") == [2, 4]
    text = lab.inspector.inner_text()
    assert "2 NaN" in text or "NaN 2" in text, text
    # The scale is that of the finite values.
    low, high = lab.value("[w.flow.summary('bad').statistics.minimum, w.flow.summary('bad').statistics.maximum]")
    assert -10 < low < high < 10
    lab.screenshot_of(lab.widget, "not-finite")


LARGE = """
import torch
from torch import nn
from nf_widget import FlowWidget

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(16, 16)
    def forward(self, x):
        return x + self.mix(x).tanh()

class Chain(nn.Sequential):
    pass

torch.manual_seed(0)
w = FlowWidget(Chain(*(Block() for _ in range(1000))), torch.randn(1, 16), layers=[str(i) for i in range(300)])
w
"""
VOLUME = """
class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AvgPool3d(4)
        self.conv = nn.Conv3d(1, 4, 3, padding=1)
    def forward(self, x):
        return self.conv(self.pool(x))

v = FlowWidget(Scan(), torch.rand(1, 1, 256, 256, 256))
v
"""


def test_large_models_and_inputs_send_small_messages(lab: Lab) -> None:
    sizes: list[int] = []
    closed: list[str] = []
    lab.page.on(
        "websocket",
        lambda socket: (
            socket.on("framereceived", lambda payload: sizes.append(len(payload))),
            socket.on("close", lambda _: closed.append(socket.url)),
        ),
    )
    lab.open(LARGE, VOLUME)
    lab.run_all()
    shown = lab.page.locator(".nf-widget")
    lab.show_cell(0)
    expect(shown.first.locator(".nf-stage")).to_have_count(302)
    lab.screenshot_of(shown.first, "three-hundred")
    lab.show_cell(1)
    conv = lab.page.locator('.nf-stage[data-stage="conv"]')
    expect(conv).to_be_visible()
    assert max(sizes) < 2**20, sorted(sizes)[-5:]
    lab.note("messages", f"largest message before a click: {max(sizes) / 2**10:.0f} KB")
    conv.click()
    expect(lab.page.locator(".nf-inspector [data-exact]").first).to_be_visible()
    assert not closed
