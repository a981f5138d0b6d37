"""Scrubbing in JupyterLab: the slider, linked controls, a busy kernel, a frame that raises."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from browser.lab import Lab
from browser.scrubbing import CELL, FORWARD, drag, settled, slider

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


def place(lab: Lab) -> Locator:
    return lab.page.locator(".nf-s-place")


def test_a_drag_runs_one_forward_at_a_time_and_ends_at_the_last_place(lab: Lab) -> None:
    lab.open(CELL)
    lab.run_all()
    done = drag(lab)
    lab.note("scrub", str(done))
    assert done.chosen > 150
    assert done.forwards <= done.seconds / FORWARD + 1, done
    assert done.shown >= 3, done
    # The forward that was under way, a neighbour's or an earlier place's, then the right one.
    assert done.late <= 2, done
    # Moves between two forwards are one piece of work; a fetch of what is wanted in detail may be another.
    assert done.queue <= 2, done
    # Nothing queues: after the last place only its neighbours are looked at.
    assert done.after <= {done.chosen - 1, done.chosen + 1, done.chosen + 2}, done


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
    # It goes on by itself: some later frame is seen, whichever.
    expect(place(linked)).to_have_text(re.compile(r"frame (9|1\d|20) of 20"))
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
    # It also waits for the last of the messages, which come while it runs.
    linked.start(f"import pathlib\nwhile not pathlib.Path({str(go)!r}).exists() or w.frame != 7: time.sleep(0.05)")
    for _ in range(6):
        slider(linked).press("ArrowRight")
        linked.page.wait_for_timeout(60)
    expect(linked.page.locator(".nf-widget")).to_have_attribute("data-state", "waiting")
    go.touch()
    linked.finish()
    settled(linked, 7, 20)
    assert linked.value("ran[0]") == 7


BATCH = """
import torch
from torch import nn
from nf_widget import FlowWidget

ran = []

class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        ran.append(x.mean().item())
        return self.pool(self.stem(x)).flatten(1)

torch.manual_seed(1)
w = FlowWidget(Counted(), frames=[torch.rand(3, 1, 16, 16) for _ in range(6)])
w
"""


def test_samples_of_a_batch_come_from_one_forward(lab: Lab) -> None:
    lab.open(BATCH)
    lab.run_all()
    settled(lab, 0, 6)
    lab.run("first = ran[0]; ran.clear()")
    number = lab.page.get_by_label("Sample of the batch")
    for sample in (2, 1):
        number.fill(str(sample))
        number.press("Enter")
        lab.page.wait_for_function(f"() => document.querySelector('.nf-s-number').value === '{sample}'")
        settled(lab, 0, 6)
        assert lab.value("[w.sample, w.overview['sample']]") == [sample, sample]
    # Neighbours may have been fetched meanwhile.
    assert lab.value("ran.count(first)") == 0


def test_differences_are_read_exactly_with_both_values(lab: Lab) -> None:
    lab.open(BATCH)
    lab.run_all()
    page = lab.page
    lab.run("w.frame = 1")
    settled(lab, 1, 6)
    page.get_by_label("Pin this frame: show differences to it").click()
    slider(lab).press("ArrowRight")
    settled(lab, 2, 6)
    assert lab.value("w.reference") == 1
    said = page.locator(".nf-readout")
    image = page.locator('.nf-stage[data-stage="stem"] image').first
    image.hover(position={"x": 20, "y": 20})
    expect(said).to_contain_text("in frame 2")
    found = re.search(
        r"channel (\d+) · row (\d+) · column (\d+) · Δ = (\S+) \((\S+), in frame 2 (\S+)\)", said.inner_text()
    )
    assert found is not None, said.inner_text()
    channel, row, column = map(int, found.groups()[:3])
    read = f"w.flow.activation('stem', frame={{}})[0, {channel}, {row}, {column}].item()"
    here, there = lab.value(read.format(2)), lab.value(read.format(1))
    shown = [float(text.replace("−", "-")) for text in found.groups()[3:]]
    assert shown == pytest.approx([here - there, here, there], abs=1e-5)
    lab.screenshot("scrub-differences")
    # The inspector shows the same, and the Python that gives it.
    page.locator('.nf-stage[data-stage="stem"]').click()
    expect(page.locator(".nf-i-expression")).to_contain_text("frame=2")
    expect(page.locator(".nf-i-facts-list")).to_contain_text("frame 2")
    expression = page.locator(".nf-i-expression").inner_text().replace("flow.", "w.flow.")
    value = page.locator(".nf-i-value[data-exact]").inner_text()
    assert float(value.replace("−", "-")) == pytest.approx(lab.value(f"({expression}).item()"), abs=1e-5)
    page.get_by_label("Show values again").click()
    expect(page.get_by_label("Show values again")).to_be_hidden()
    image.hover(position={"x": 20, "y": 20})
    expect(said).not_to_contain_text("Δ")
    assert lab.value("w.reference is None")


def test_inputs_not_yet_visited_have_a_picture_along_the_slider(lab: Lab) -> None:
    lab.open(BATCH)
    lab.run_all()
    cells = lab.page.locator(".nf-s-strip .nf-s-thumbnail:not([data-waiting])")
    expect(cells).to_have_count(6)
    lab.run("ran.clear()")
    for frame in (1, 2):
        lab.run(f"w.frame = {frame}")
        settled(lab, frame, 6)
    spark = lab.page.locator('.nf-stage[data-stage="stem"] .nf-spark rect')
    box = spark.bounding_box()
    assert box is not None
    lab.page.mouse.click(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2)
    settled(lab, 4, 6)


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
