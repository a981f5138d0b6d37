"""Pages that show the widget without a kernel: saved notebooks, HTML made of them, and files of our own."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Route, expect

from browser import front_ends
from browser.host import LOCAL, Host

# What pages made by nbconvert and by ipywidgets fetch, and the copies of it on this machine.
COPIES: tuple[tuple[str, Callable[[], Path]], ...] = (
    (r"/require(\.min)?\.js$", lambda: front_ends.PACKAGES / "requirejs/require.js"),
    (
        r"@jupyter-widgets/html-manager@[^/]+/dist/embed-amd\.js$",
        lambda: front_ends.PACKAGES / "@jupyter-widgets/html-manager/dist/embed-amd.js",
    ),
    (
        r"/anywidget@[^/]+/dist/index(\.js)?$",
        lambda: Path(sys.prefix) / "share/jupyter/nbextensions/anywidget/index.js",
    ),
)
# Fetched by every page of nbconvert, whatever is in it.
NOT_OURS = re.compile(r"/(mathjax|mermaid[^/]*|jquery)/|/embed\.js$")

STAGES = ("input", "stem", "down", "body", "up", "mix", "head", "output")


@dataclass
class Still(Host):
    """A page without a kernel, and without the network: what it fetches comes from copies on this machine."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # The HTML manager looks for a widget's script beside the page before it asks elsewhere.
        self.its_own = ("request to https://", "net::ERR_FAILED", "/anywidget.js)")
        self.page.route("**/*", self._answer)

    def open(self, path: Path) -> None:
        self.page.goto(path.as_uri())

    def theme(self, name: Literal["dark", "light"]) -> None:
        self.page.emulate_media(color_scheme=name)

    def _answer(self, route: Route) -> None:
        url = route.request.url.partition("?")[0]
        if url.startswith(LOCAL):
            route.continue_()
            return
        for pattern, copy in COPIES:
            if re.search(pattern, url):
                headers = {"access-control-allow-origin": "*"}
                route.fulfill(path=copy(), content_type="text/javascript", headers=headers)
                return
        if not NOT_OURS.search(url):
            self.problems.append(f"there is no copy of {url}")
        route.abort()


def draw(host: Host) -> None:
    """The graph and its overviews, of the net in `steps`; it says that there is no kernel."""
    expect(host.stage("output")).to_be_visible(timeout=60_000)
    drawn = host.widget.locator(".nf-stage")
    assert [drawn.nth(i).get_attribute("data-stage") for i in range(drawn.count())] == list(STAGES)
    expect(host.widget.locator(".nf-edge")).to_have_count(8)
    for stage in ("stem", "body", "mix"):
        expect(host.stage(stage).locator("image").last).to_be_visible()
    expect(host.widget).to_have_attribute("data-state", "no-kernel")


def hover(host: Host) -> None:
    """An edge is written out; a pixel has a value, marked as read from the overview."""
    host.hover_edge(host.edge("stem", "mix"))
    for part in ("stem → mix", "skip", "cat(dim=1)", "8×32×32"):
        expect(host.readout).to_contain_text(part)
    host.stage("down").locator("image").last.hover()
    expect(host.readout).to_contain_text(re.compile(r"down · channel \d+ .* [=≈] ?≈? ?[−\d]"))


def inspect(host: Host) -> None:
    """Statistics are there, and what needs the kernel says so."""
    host.stage("mix").click()
    for part in ("mix", "8×32×32", "−0.18", "0.21"):
        expect(host.inspector).to_contain_text(part)
    host.inspector.press("Escape")
    expect(host.inspector).not_to_be_visible()


def off(host: Host) -> None:
    """What would need the kernel is off and says why: depth, and what is not among the saved pictures."""
    depths = "Other depths need the kernel"
    plus = host.stage("body").locator(".nf-expand")
    expect(plus).to_have_attribute("aria-disabled", "true")
    expect(plus.locator("title")).to_have_text(depths)
    plus.click()
    host.stage("body").press("e")
    for name in ("Open all stages one level", "Close all groups one level"):
        button = host.widget.get_by_role("button", name=name)
        expect(button).to_be_disabled()
        expect(button).to_have_attribute("title", depths)
    pin = host.widget.get_by_role("button", name="Pin this frame")
    expect(pin).to_be_disabled()
    expect(host.widget.locator(".nf-stage")).to_have_count(len(STAGES))
    expect(host.widget).to_have_attribute("data-state", "no-kernel")


def one_frame(host: Host) -> None:
    """Where one frame was saved the slider stays on it."""
    track = host.widget.locator(".nf-slider input[type=range]")
    expect(track).to_be_disabled()
    expect(track).to_have_attribute("title", "Other frames need the kernel")
    for name in ("Previous frame", "Play", "Next frame"):
        expect(host.widget.get_by_role("button", name=name)).to_be_disabled()
    expect(host.widget.locator(".nf-message")).to_contain_text("Run the code again")


def zoom(host: Host) -> None:
    """The picture grows, and fits again."""
    card = host.stage("mix")
    before = card.bounding_box()
    assert before is not None
    card.press("+")
    larger = "([card, least]) => card.getBoundingClientRect().width > least"
    host.page.wait_for_function(larger, arg=[card.element_handle(), 1.05 * before["width"]])
    card.press("0")
    fits = "([card, most]) => card.getBoundingClientRect().width < most"
    host.page.wait_for_function(fits, arg=[card.element_handle(), 1.01 * before["width"]])


def theme(host: Host) -> None:
    """Dark and light as the system is."""
    for name in ("dark", "light"):
        host.theme(name)
        expect(host.widget).to_have_attribute("data-theme", name)
