"""Scrubbing in JupyterLab: the slider, linked controls, a busy kernel, a frame that raises."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Locator, expect

from browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SLOW = """
import time, torch
from torch import nn
from nf_widget import FlowWidget

ran, shown = [], []

class Slow(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))

    def forward(self, x):
        ran.append((time.time(), round(x.max().item())))
        time.sleep(0.3)
        return self.head(self.stem(x))

w = FlowWidget(Slow(), frames=lambda i: torch.linspace(0, i, 256).reshape(1, 1, 16, 16), frame_count=200)
w.observe(lambda change: shown.append((time.time(), change.new["frame"])), "overview")
w
"""
FORWARD = 0.3
DRAG = 5.0


def slider(lab: Lab) -> Locator:
    return lab.page.locator(".nf-slider input[type=range]")


def place(lab: Lab) -> Locator:
    return lab.page.locator(".nf-s-place")


def settled(lab: Lab, frame: int, count: int) -> None:
    """The slider is at `frame`, and the pictures are its own."""
    expect(place(lab)).to_have_text(f"frame {frame + 1} of {count}")
    expect(lab.page.locator(".nf-widget")).to_have_attribute("data-state", "idle", timeout=60_000)
    assert lab.value("[w.frame, w.overview['frame']]") == [frame, frame]


def test_a_drag_runs_one_forward_at_a_time_and_ends_at_the_last_place(lab: Lab) -> None:
    lab.open(SLOW)
    lab.run_all()
    box = slider(lab).bounding_box()
    assert box is not None
    mouse, middle = lab.page.mouse, box["y"] + box["height"] / 2
    lab.run("ran.clear(), shown.clear()")
    mouse.move(box["x"] + 4, middle)
    mouse.down()
    start = time.time()
    while (part := (time.time() - start) / DRAG) < 1:
        mouse.move(box["x"] + 4 + (0.9 * box["width"] - 4) * part, middle)
    release = time.time()
    mouse.up()
    chosen = int(slider(lab).input_value())
    assert chosen > 150
    settled(lab, chosen, 200)
    # Neighbours are prefetched for a while.
    lab.page.wait_for_timeout(1500)
    ran, shown = lab.value("[ran, shown]")
    during = [frame for when, frame in ran if start <= when <= release]
    seen = [frame for when, frame in shown if when <= release]
    arrived = next(when for when, frame in shown if frame == chosen)
    late = [frame for when, frame in ran if release < when <= arrived]
    report = (
        f"{len(during)} forwards in {release - start:.1f} s of dragging, {len(seen)} frames shown on the way, "
        f"{len(late)} forwards and {arrived - release:.2f} s from release to the right picture"
    )
    lab.note("scrub", report)
    assert len(during) <= (release - start) / FORWARD + 1, report
    assert len(seen) >= 3, report
    assert len(late) <= 2, report
    # Nothing queues: after the last place only its neighbours are looked at.
    after = {frame for when, frame in ran if when > arrived}
    assert after <= {chosen - 1, chosen + 1, chosen + 2}, after


LINKED = """
import ipywidgets, logging, time, torch
from torch import nn
from nf_widget import FlowWidget

ran, told = [], []

class Picky(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)

    def forward(self, x):
        ran.append(round(x.max().item()))
        if ran[-1] == 9:
            raise ValueError("nine is too much for this model")
        return self.stem(x).mean((2, 3))

class Told(logging.Handler):
    def emit(self, record):
        told.append(record.getMessage())

logging.getLogger("nf_widget").addHandler(Told())
logging.getLogger("nf_widget").propagate = False

w = FlowWidget(Picky(), frames=lambda i: torch.linspace(0, i, 64).reshape(1, 1, 8, 8), frame_count=20)
play = ipywidgets.Play(max=19, interval=300)
js, py = ipywidgets.IntSlider(max=19), ipywidgets.IntSlider(max=19)
ipywidgets.jslink((play, "value"), (js, "value"))
ipywidgets.jslink((js, "value"), (w, "frame"))
ipywidgets.link((py, "value"), (w, "frame"))
ipywidgets.VBox([ipywidgets.HBox([play, js, py]), w])
"""


@pytest.fixture
def linked(lab: Lab) -> Lab:
    lab.open(LINKED)
    lab.run_all()
    settled(lab, 0, 20)
    return lab


def test_linked_controls_move_the_frame_and_follow_it(linked: Lab) -> None:
    handles = linked.page.locator(".widget-slider .noUi-handle")
    handles.nth(0).press("ArrowRight")
    settled(linked, 1, 20)
    handles.nth(1).press("ArrowRight")
    settled(linked, 2, 20)
    slider(linked).press("ArrowRight")
    settled(linked, 3, 20)
    assert linked.value("[js.value, py.value, play.value]") == [3, 3, 3]
    linked.run("w.frame = 5")
    settled(linked, 5, 20)
    expect(linked.page.locator(".widget-readout").nth(0)).to_have_text("5")
    expect(linked.page.locator(".widget-readout").nth(1)).to_have_text("5")
    linked.page.locator(".jupyter-widgets.widget-play button").first.click()
    expect(place(linked)).to_have_text("frame 9 of 20")
    linked.page.locator(".jupyter-widgets.widget-play button").first.click()
    linked.screenshot("scrub-linked")


def test_a_frame_that_raises_leaves_the_last_good_picture(linked: Lab) -> None:
    root = linked.page.locator(".nf-widget")
    linked.run("w.frame = 8")
    settled(linked, 8, 20)
    slider(linked).press("ArrowRight")
    expect(root).to_have_attribute("data-state", "stale")
    expect(root).to_contain_text("nine is too much for this model")
    assert linked.value("[w.frame, w.overview['frame']]") == [9, 8]
    linked.screenshot("scrub-stale")
    slider(linked).press("ArrowRight")
    settled(linked, 10, 20)
    assert linked.value("told") == ["The widget could not answer"]


def test_a_busy_kernel_answers_afterwards_with_the_last_place_only(linked: Lab) -> None:
    # JupyterLab gives a widget a way past a running cell with its first message: whoever scrubs has sent one.
    slider(linked).press("ArrowRight")
    settled(linked, 1, 20)
    linked.page.wait_for_timeout(1000)
    go = linked.server.root / "go"
    linked.run("ran.clear()")
    linked.start(f"import pathlib\nwhile not pathlib.Path({str(go)!r}).exists(): time.sleep(0.05)")
    for _ in range(6):
        slider(linked).press("ArrowRight")
        linked.page.wait_for_timeout(60)
    expect(linked.page.locator(".nf-widget")).to_have_attribute("data-state", "waiting")
    go.touch()
    linked.finish()
    settled(linked, 7, 20)
    assert linked.value("ran[0]") == 7


def test_the_notebook_fades_from_a_cat_to_an_espresso(lab: Lab) -> None:
    lab.open_file("notebooks/04_scrub.ipynb")
    lab.run_all()
    occluded, faded = lab.cells_with("ipywidgets.VBox(")
    for index, frame in ((occluded, 21), (faded, 16)):
        lab.show_cell(index)
        cell = lab.page.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')
        expect(cell.locator(".nf-widget .nf-stage[data-stage^=output]")).to_be_visible()
        name = "occlusion" if index == occluded else "fade"
        lab.run(f"{name}.frame = {frame}")
        expect(cell.locator(".nf-s-place")).to_contain_text(f"frame {frame + 1} of")
        expect(cell.locator(".nf-widget")).to_have_attribute("data-state", "idle", timeout=60_000)
        expect(cell.locator(".widget-readout").first).to_have_text(str(frame))
        lab.screenshot_of(cell.locator(".jp-OutputArea-output").last, f"scrub-{name}")
    best = lab.page.locator(f'.jp-Cell[data-windowed-list-index="{faded}"] .nf-stage[data-stage^=output]')
    expect(best).to_contain_text("espresso")
