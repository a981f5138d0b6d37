"""What every front end that shows the widget has in common: a page in which it is, and a kernel that can be asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, expect

LOCAL = ("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:", "file:")

# The centre of an edge's box is seldom on its line: take a point of the line at which the pointer would really meet it.
POINT_ON_EDGE = """(edge) => {
  for (const path of edge.matches("path") ? [edge] : edge.querySelectorAll("path")) {
    const matrix = path.getScreenCTM();
    for (const part of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9]) {
      const { x, y } = path.getPointAtLength(path.getTotalLength() * part).matrixTransform(matrix);
      if (edge.getRootNode().elementFromPoint(x, y)?.closest(".nf-edge") === edge) return { x, y };
    }
  }
  return null;
}"""


@dataclass  # without slots: Playwright marks the object whose methods it is given
class Host:
    """`problems` collects console errors, page errors, failed requests and requests to anywhere but this machine."""

    page: Page
    results: Path
    problems: list[str] = field(default_factory=list, init=False)
    # Part of the text of errors that the front end makes by itself, whatever is shown in it.
    its_own: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(30_000)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self._problem(f"page error: {error}"))
        self.page.on("request", self._request)

    def _problem(self, text: str) -> None:
        if not any(known in text for known in self.its_own):
            self.problems.append(text)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._problem(f"console: {message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        if not request.url.startswith(LOCAL):
            self._problem(f"request to {request.url}")

    # ---- what each front end does in its own way

    def show(self, code: str) -> None:
        """Run `code`, which makes the widget `w`, and show `w`. Returns when the kernel is done."""
        raise NotImplementedError

    def run(self, code: str) -> str:
        """Let the kernel run `code`. Returns what it printed."""
        raise NotImplementedError

    def theme(self, name: Literal["dark", "light"]) -> None:
        """Switch the theme of the front end."""
        raise NotImplementedError

    def kernel_problems(self) -> list[str]:
        """Tracebacks and everything on the standard error of the kernel."""
        return []

    def shut_down(self) -> None:
        """End the kernel."""

    # ---- what is the same everywhere

    def value(self, expression: str) -> Any:
        """The value of a Python expression in the kernel, by way of JSON."""
        return json.loads(self.run(f"print(__import__('json').dumps({expression}))"))

    @property
    def widget(self) -> Locator:
        return self.page.locator(".nf-widget")

    @property
    def readout(self) -> Locator:
        return self.widget.locator(".nf-readout")

    @property
    def inspector(self) -> Locator:
        return self.widget.locator(".nf-inspector")

    def stage(self, name: str) -> Locator:
        return self.widget.locator(f'.nf-stage[data-stage="{name}"]')

    def edge(self, source: str, target: str) -> Locator:
        return self.widget.locator(f'.nf-edge[data-source="{source}"][data-target="{target}"]')

    def hover_edge(self, edge: Locator) -> None:
        """Put the pointer on the line of an `.nf-edge`."""
        edge.scroll_into_view_if_needed()
        point = edge.evaluate(POINT_ON_EDGE)
        assert point is not None, "no point of this edge can be reached by the pointer"
        self.page.mouse.move(point["x"], point["y"])

    def note(self, name: str, text: str) -> None:
        """A line of text, into the folder of results."""
        self.results.mkdir(parents=True, exist_ok=True)
        (self.results / f"{name}.txt").write_text(f"{text}\n", "utf-8")

    def screenshot(self, name: str) -> None:
        """The page at rest, into the folder of results."""
        self.results.mkdir(parents=True, exist_ok=True)
        expect(self.page.locator(".nf-moving")).to_have_count(0)
        self.page.screenshot(path=self.results / f"{name}.png", animations="disabled")

    def screenshot_of(self, locator: Locator, name: str) -> None:
        """One element, into the folder of results."""
        self.results.mkdir(parents=True, exist_ok=True)
        locator.screenshot(path=self.results / f"{name}.png")
