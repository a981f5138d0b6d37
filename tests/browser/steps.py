"""What a person does with the widget, the same in every front end: draw, hover, detail, slider, expand, theme."""

from __future__ import annotations

import math
import re

from playwright.sync_api import expect

from browser.host import Host

# Makes the widget `w`: a net with a skip connection and a stage that opens, and three inputs.
NET = """
import torch
from torch import nn
from nf_widget import FlowWidget

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 12, 3, stride=2, padding=1)
        self.body = nn.Sequential(nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1))
        self.up = nn.ConvTranspose2d(12, 8, 2, stride=2)
        self.mix = nn.Conv2d(16, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        first = self.stem(x).relu()
        up = self.up(self.body(self.down(first)).relu())
        return self.head(self.mix(torch.cat([up, first], 1)).relu())

torch.manual_seed(0)
model = Net().eval()
down, right = torch.meshgrid(torch.linspace(0, 1, 32), torch.linspace(0, 1, 32), indexing="ij")
blobs = [torch.exp(-20 * ((down - y) ** 2 + (right - x) ** 2)) for y, x in ((0.3, 0.3), (0.5, 0.6), (0.7, 0.4))]
inputs = [torch.stack([blob, 1 - blob, right])[None] for blob in blobs]
w = FlowWidget(model, frames=inputs, frame_labels=["left", "middle", "low"])
"""


def draw(host: Host) -> None:
    """Every stage and edge of the graph is there, with pictures."""
    stages = host.value("[s.id for s in w.flow.graph.stages]")
    edges = host.value("[[e.source, e.target, e.kind] for e in w.flow.graph.edges]")
    drawn = host.widget.locator(".nf-stage")
    expect(drawn).to_have_count(len(stages))
    assert {drawn.nth(i).get_attribute("data-stage") for i in range(len(stages))} == set(stages)
    expect(host.widget.locator(".nf-edge")).to_have_count(len(edges))
    for source, target, kind in edges:
        expect(host.edge(source, target)).to_have_attribute("data-kind", kind)
    for stage in ("stem", "body", "mix"):
        expect(host.stage(stage).locator("image").last).to_be_visible()
    expect(host.widget).to_have_attribute("data-state", "idle")


def hover(host: Host) -> None:
    """The edge under the pointer is written out, and the value under it is the tensor's own."""
    host.hover_edge(host.edge("stem", "mix"))
    for part in ("stem → mix", "skip", "cat(dim=1)", "8×32×32"):
        expect(host.readout).to_contain_text(part)
    picture = host.stage("stem").locator("image").last  # on top of the sheets
    size = picture.bounding_box()
    assert size is not None
    host.page.mouse.move(size["x"] + size["width"] * 0.31, size["y"] + size["height"] * 0.62)
    # Until the exact tile has come, the value of the overview is marked.
    expect(host.readout).to_contain_text(re.compile(r"stem · channel \d+ .* = [^≈]"))
    text = host.readout.inner_text()
    found = re.search(r"channel (\d+) · row (\d+) · column (\d+) = ([-−\d.e+]+)", text)
    assert found is not None, text
    channel, row, column = (int(found[i]) for i in (1, 2, 3))
    value = host.value(f"w.flow.activation('stem')[0, {channel}, {row}, {column}].item()")
    assert math.isclose(number(found[4]), value, rel_tol=1e-5, abs_tol=1e-9), text


def detail(host: Host) -> None:
    """The inspector's plate is exact, and the Python that it gives has the value that it shows."""
    host.stage("mix").click()
    plate = host.inspector.locator(".nf-i-plate").first
    expect(plate.locator("canvas[data-exact]")).to_be_visible()
    assert host.value("w.selected") == "mix"
    plate.hover(position={"x": 31, "y": 40})
    shown = host.inspector.locator(".nf-i-value[data-exact]")
    expect(shown).to_have_text(re.compile(r"\d"))
    expression = host.inspector.locator(".nf-i-expression").inner_text()
    value = host.value(f"w.{expression}.item()")
    assert math.isclose(number(shown.inner_text()), value, rel_tol=1e-5, abs_tol=1e-9), expression
    host.inspector.press("Escape")
    expect(host.inspector).not_to_be_visible()


def slider(host: Host) -> None:
    """Another frame is another picture, in the page and in the kernel; the first one comes back as it was."""
    picture = host.stage("input").locator("image").last
    first = picture.get_attribute("href")
    assert first
    track = host.widget.locator(".nf-slider input[type=range]")
    track.press("End")
    expect(host.widget.locator(".nf-s-place")).to_have_text("frame 3 of 3")
    expect(host.widget.locator(".nf-s-label")).to_have_text("low")
    expect(picture).not_to_have_attribute("href", first)
    assert host.value("[w.frame, w.overview['frame']]") == [2, 2]
    track.press("Home")
    expect(picture).to_have_attribute("href", first)
    assert host.value("w.frame") == 0


def expand(host: Host) -> None:
    """A stage opens to its children, and closes again."""
    before = host.widget.locator(".nf-stage").count()
    host.stage("body").hover()
    host.widget.locator('[data-expand="body"]').click()
    for child in ("body.0", "body.2"):
        expect(host.stage(child).locator("image").last).to_be_visible()
    assert host.value("w.expanded") == ["body"]
    host.widget.locator(".nf-collapse").click()
    expect(host.widget.locator(".nf-stage")).to_have_count(before)
    assert host.value("w.expanded") == []


def theme(host: Host) -> None:
    """The widget is dark where the front end is, and light again; a screenshot of each."""
    shades = {}
    for name in ("dark", "light"):
        host.theme(name)
        expect(host.widget).to_have_attribute("data-theme", name)
        host.page.mouse.move(2, 2)
        # Colours fade from one to the other.
        host.page.wait_for_timeout(400)
        shades[name] = lightness(host)
        host.screenshot(f"{type(host).__name__.lower()}-{name}")
    assert shades["dark"] < 0.3, shades
    assert shades["light"] > 0.9, shades


def lightness(host: Host) -> float:
    """Of the ground that the widget is drawn on, from 0 to 1."""
    colour: str = host.widget.evaluate("(root) => getComputedStyle(root).backgroundColor")
    channels = [float(part) for part in re.findall(r"[\d.]+", colour)[:3]]
    return sum(channels) / 3 / (255 if colour.startswith("rgb") else 1)


def number(text: str) -> float:
    """The picture writes a true minus sign."""
    return float(text.replace("−", "-"))
