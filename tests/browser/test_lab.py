"""The widget in JupyterLab, used as a person uses it."""

from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import Locator, expect

from browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

UNET = """
import torch, unet
from skimage import data
from nf_widget import FlowWidget

model = unet.load()
x = unet.add_noise(unet.as_tensor(data.cat())[..., 22:278, 90:346])
w = FlowWidget(model, x)
w
"""


@pytest.fixture
def unet(lab: Lab) -> Lab:
    """The U-Net of the quickstart, drawn."""
    lab.open(UNET)
    lab.run_all()
    expect(stage(lab, "output")).to_be_visible()
    return lab


def widget(lab: Lab) -> Locator:
    return lab.page.locator(".nf-widget")


def stage(lab: Lab, name: str) -> Locator:
    return lab.page.locator(f'.nf-widget .nf-stage[data-stage="{name}"]')


def edge(lab: Lab, source: str, target: str) -> Locator:
    return lab.page.locator(f'.nf-widget .nf-edge[data-source="{source}"][data-target="{target}"]')


def readout(lab: Lab) -> Locator:
    return widget(lab).locator(".nf-readout")


def width(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box is not None
    return box["width"]


def test_every_stage_and_edge_of_the_graph_is_drawn(unet: Lab) -> None:
    stages = unet.value("[s.id for s in w.flow.graph.stages]")
    edges = unet.value("[[e.source, e.target, e.kind] for e in w.flow.graph.edges]")
    drawn = widget(unet).locator(".nf-stage")
    expect(drawn).to_have_count(len(stages))
    assert {drawn.nth(i).get_attribute("data-stage") for i in range(len(stages))} == set(stages)
    for source, target, kind in edges:
        expect(edge(unet, source, target)).to_have_attribute("data-kind", kind)
    expect(widget(unet).locator(".nf-edge")).to_have_count(len(edges))
    expect(widget(unet)).to_have_attribute("data-state", "idle")


def test_hovered_edge_is_written_out(unet: Lab) -> None:
    unet.hover_edge(edge(unet, "enc1", "dec1"))
    for part in ("enc1 → dec1", "skip", "cat(dim=1)", "16×256×256"):
        expect(readout(unet)).to_contain_text(part)


def test_hovered_pixel_shows_the_tensors_own_value(unet: Lab) -> None:
    # The last picture is the one on top of the sheets.
    picture = stage(unet, "enc2").locator("image").last
    size = picture.bounding_box()
    assert size is not None
    for across, down in ((0.31, 0.62), (0.77, 0.18)):
        unet.page.mouse.move(size["x"] + size["width"] * across, size["y"] + size["height"] * down)
        # Until the exact tile has come, the value of the overview is marked.
        expect(readout(unet)).to_contain_text(re.compile(r"enc2 · channel \d+ .* = [^≈]"))
        text = readout(unet).inner_text()
        channel, row, column, shown = pixel(text)
        value = unet.value(f"w.flow.activation('enc2')[0, {channel}, {row}, {column}].item()")
        assert math.isclose(shown, value, rel_tol=1e-5, abs_tol=1e-9), text
        # The place that is named is the place that is pointed at; a picture is some 30 px wide.
        assert abs(row / 128 - down) < 0.05
        assert abs(column / 128 - across) < 0.05


def pixel(text: str) -> tuple[int, int, int, float]:
    """Channel, row, column and value that a readout names."""
    found = re.search(r"channel (\d+) · row (\d+) · column (\d+) = ([-−\d.e+]+)", text)
    assert found is not None, text
    return int(found[1]), int(found[2]), int(found[3]), number(found[4])


def number(text: str) -> float:
    """The picture writes a true minus sign."""
    return float(text.replace("−", "-"))


def test_inspectors_python_gives_the_value_that_it_shows(unet: Lab) -> None:
    stage(unet, "dec2").click()
    inspector = widget(unet).locator(".nf-inspector")
    plate = inspector.locator(".nf-i-plate").first
    expect(plate.locator("canvas[data-exact]")).to_be_visible()
    for x, y in ((31, 150), (201, 40)):
        plate.hover(position={"x": x, "y": y})
        shown = inspector.locator(".nf-i-value[data-exact]")
        expect(shown).to_have_text(re.compile(r"\d"))
        expression = inspector.locator(".nf-i-expression").inner_text()
        assert expression.startswith('flow.activation("dec2")')
        value = unet.value(f"w.{expression}.item()")
        assert math.isclose(number(shown.inner_text()), value, rel_tol=1e-5, abs_tol=1e-9), expression


def test_wheel_scrolls_the_page_until_the_picture_is_clicked(unet: Lab) -> None:
    card = stage(unet, "mid")
    card.hover()
    before = width(card)
    unet.page.mouse.wheel(0, -240)
    unet.page.wait_for_timeout(300)
    assert width(card) == pytest.approx(before, rel=1e-3)
    click_beside_the_cards(unet)
    card.hover()
    unet.page.mouse.wheel(0, -240)
    unet.page.wait_for_function(
        "([card, least]) => card.getBoundingClientRect().width > least", arg=[card.element_handle(), 1.1 * before]
    )
    unet.page.keyboard.press("0")
    unet.page.wait_for_function(
        "([card, most]) => card.getBoundingClientRect().width < most", arg=[card.element_handle(), 1.01 * before]
    )


def click_beside_the_cards(lab: Lab) -> None:
    """Click a place of the picture where nothing is drawn."""
    point = (
        widget(lab)
        .locator("svg:has(.nf-stage)")
        .first.evaluate(
            """(svg) => {
          const box = svg.getBoundingClientRect();
          for (let y = box.top + 8; y < Math.min(box.bottom, innerHeight) - 8; y += 12)
            for (let x = box.left + 8; x < box.right - 8; x += 12) {
              const hit = document.elementFromPoint(x, y);
              if (hit && svg.contains(hit) && !hit.closest(".nf-stage, .nf-edge, .nf-group")) return { x, y };
            }
          return null;
        }"""
        )
    )
    assert point is not None, "the cards leave no place free"
    lab.page.mouse.click(point["x"], point["y"])


def test_click_opens_the_inspector_and_tells_the_kernel(unet: Lab) -> None:
    stage(unet, "enc3").click()
    inspector = widget(unet).locator(".nf-inspector")
    expect(inspector).to_contain_text("enc3")
    expect(inspector).to_contain_text("48×64×64")
    assert unet.value("w.selected") == "enc3"
    unet.page.keyboard.press("Escape")
    expect(inspector).not_to_be_visible()


def test_kernel_selects_in_every_view(unet: Lab) -> None:
    unet.run("w.selected = 'dec2'")
    expect(widget(unet).locator(".nf-inspector")).to_contain_text("dec2")


TRAINING = """
import time, torch
from torch import nn
from nf_widget import FlowWidget

def make():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.3),
        nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )

def train(model):
    torch.manual_seed(4)
    model.train()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(200):
        images = torch.randn(8, 3, 24, 24)
        loss = nn.functional.cross_entropy(model(images), torch.randint(4, (8,)))
        optimiser.zero_grad()
        loss.backward()
        time.sleep(0.02)  # time for other threads, between the gradients and their use
        optimiser.step()
        losses.append(loss.item().hex())
    return losses

undisturbed = train(make())
model = make()
x = torch.rand(1, 3, 24, 24, generator=torch.Generator().manual_seed(5))
w = FlowWidget(model, x, layers="leaves")
w
"""


def test_looking_does_not_disturb_a_cell_that_trains(lab: Lab) -> None:
    lab.open(TRAINING)
    lab.run_all()
    expect(stage(lab, "output")).to_be_visible()
    lab.start("disturbed = train(model)")
    for name in ("0", "4"):
        stage(lab, name).click()
        expect(widget(lab).locator(".nf-inspector")).to_contain_text("8×24×24")
    expect(widget(lab)).to_have_attribute("data-state", "waiting")
    assert lab.running(), "the training was over before it could be disturbed"
    lab.finish()
    assert lab.value("disturbed == undisturbed")
    # What had to wait arrives after the cell.
    expect(widget(lab).locator(".nf-inspector [data-exact]").first).to_be_visible()
    expect(widget(lab)).to_have_attribute("data-state", "idle")
    assert lab.value("all(module.training for module in model.modules())")


def test_themes_are_followed_while_shown(unet: Lab) -> None:
    def background() -> str:
        colour: str = widget(unet).evaluate("(root) => getComputedStyle(root).backgroundColor")
        return colour

    light = background()
    unet.theme("dark")
    unet.page.wait_for_function(
        "([root, light]) => getComputedStyle(root).backgroundColor !== light",
        arg=[widget(unet).element_handle(), light],
    )
    unet.screenshot_of(widget(unet), "unet-dark")
    unet.theme("light")


def test_names_with_markup_stay_text(lab: Lab) -> None:
    lab.open(
        """
import torch
from torch import nn
from nf_widget import FlowWidget

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module("<img src=x onerror=alert(1)>", nn.Linear(4, 4))
        self.add_module("plain", nn.Linear(4, 4))
    def forward(self, x):
        return self.plain(self.get_submodule("<img src=x onerror=alert(1)>")(x))

w = FlowWidget(Net(), torch.ones(1, 4), labels={"plain": "<marquee>text</marquee>"})
w
"""
    )
    lab.run_all()
    expect(stage(lab, "output")).to_be_visible()
    stage(lab, "plain").click()
    expect(widget(lab).locator(".nf-inspector")).to_contain_text("<marquee>text</marquee>")
    assert widget(lab).locator("img, marquee").count() == 0


def test_quickstart_draws_all_its_pictures(lab: Lab) -> None:
    lab.open_file("notebooks/quickstart.ipynb")
    lab.run_all()
    # Cells out of sight are drawn when they come into sight.
    for index in lab.cells_with("FlowWidget("):
        lab.show_cell(index)
        cell = lab.page.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')
        expect(cell.locator(".nf-widget .nf-stage[data-stage^=output]")).to_be_visible()
        lab.screenshot_of(cell.locator(".nf-widget"), f"quickstart-{index}")
