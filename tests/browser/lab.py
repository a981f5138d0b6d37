"""Drives one notebook in JupyterLab: open, run, ask the kernel, and keep what went wrong."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import ConsoleMessage, Locator, Page, Request

from browser.jupyter import Server

LOCAL = ("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")
OPEN_MS = 90_000
RUN_MS = 180_000

# A run command that is given before the session is ready is dropped without a word.
READY = """async () => {
  await jupyterapp.restored;
  const context = jupyterapp.shell.currentWidget.sessionContext;
  await context.ready;
  const kernel = context.session.kernel;
  await kernel.info;
  while (kernel.connectionStatus !== "connected") await new Promise((go) => setTimeout(go, 50));
  window.nfKernelProblems = [];
  // Before ipywidgets is imported the kernel complains of JupyterLab's own question for its widgets.
  await kernel.requestExecute({ code: "", silent: true }).done;
  kernel.iopubMessage.connect((_, { header, content }) => {
    if (header.msg_type === "error") window.nfKernelProblems.push(content.traceback.join("\\n"));
    if (header.msg_type === "stream" && content.name === "stderr") window.nfKernelProblems.push(content.text);
  });
}"""

CELL_ERRORS = """() => {
  const cells = jupyterapp.shell.currentWidget.content.model.sharedModel.cells;
  const outputs = cells.flatMap((cell) => cell.toJSON().outputs ?? []);
  return outputs.filter(({ output_type }) => output_type === "error").map(({ traceback }) => traceback.join("\\n"));
}"""

SOURCES = """() => jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map((cell) =>
  cell.cell_type === "code" ? cell.source : "")"""

# Returns at once; `finish` waits for the answer.
START = """(code) => {
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const future = kernel.requestExecute({ code, store_history: false });
  const answer = { text: "", error: "" };
  future.onIOPub = ({ header, content }) => {
    if (header.msg_type === "stream" && content.name === "stdout") answer.text += content.text;
    if (header.msg_type === "error") answer.error = content.traceback.join("\\n");
  };
  window.nfRunning = future.done.then(() => Object.assign(answer, { done: true }));
  window.nfAnswer = answer;
}"""

# The centre of an edge's box is seldom on its line: take a point of the line at which the pointer would really meet it.
POINT_ON_EDGE = """(edge) => {
  for (const path of edge.matches("path") ? [edge] : edge.querySelectorAll("path")) {
    const matrix = path.getScreenCTM();
    for (const part of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9]) {
      const { x, y } = path.getPointAtLength(path.getTotalLength() * part).matrixTransform(matrix);
      if (document.elementFromPoint(x, y)?.closest(".nf-edge") === edge) return { x, y };
    }
  }
  return null;
}"""


def plain(text: str) -> str:
    """Without the escape sequences that colour it."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@dataclass  # without slots: Playwright marks the object whose methods it is given
class Lab:
    """`problems` collects console errors, page errors, failed requests and requests to anywhere but this machine."""

    page: Page
    server: Server
    results: Path
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(30_000)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        if not request.url.startswith(LOCAL):
            self.problems.append(f"request to {request.url}")

    def open(self, *cells: str, name: str = "notebook") -> None:
        """Write a notebook of these code cells and open it; its kernel is ready, nothing has run."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.server.root / f"{name}.ipynb")
        self.open_file(f"{name}.ipynb")

    def open_file(self, path: str) -> None:
        """Open a notebook of the served folder."""
        self.page.goto(f"{self.server.url}/lab/tree/{path}?token={self.server.token}&reset")
        self.page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext", timeout=OPEN_MS)
        self.page.evaluate(READY)

    def run_all(self) -> None:
        """Run every cell and wait for the last. Raises `AssertionError` with the traceback of a cell that failed."""
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
        errors = self.page.evaluate(CELL_ERRORS)
        assert not errors, plain(errors[0])

    def start(self, code: str) -> None:
        """Let the kernel run `code` and return at once; `finish` must follow."""
        self.page.evaluate(START, code)

    def running(self) -> bool:
        """Whether what `start` began is still running."""
        busy: bool = self.page.evaluate("() => !nfAnswer.done")
        return busy

    def finish(self) -> str:
        """Wait for what `start` began. Returns what it printed; raises `AssertionError` with its traceback."""
        answer = self.page.evaluate("() => nfRunning")
        assert not answer["error"], plain(answer["error"])
        text: str = answer["text"]
        return text

    def run(self, code: str) -> str:
        """Let the kernel run `code`. Returns what it printed."""
        self.start(code)
        return self.finish()

    def value(self, expression: str) -> Any:
        """The value of a Python expression in the kernel, by way of JSON."""
        return json.loads(self.run(f"print(__import__('json').dumps({expression}))"))

    def theme(self, name: str) -> None:
        """Switch JupyterLab's theme: "JupyterLab Dark", "JupyterLab Light"."""
        self.page.evaluate("(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })", name)
        self.page.wait_for_function("(theme) => document.body.dataset.jpThemeName === theme", arg=name)
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def hover_edge(self, edge: Locator) -> None:
        """Put the pointer on the line of an `.nf-edge`."""
        edge.scroll_into_view_if_needed()
        point = edge.evaluate(POINT_ON_EDGE)
        assert point is not None, "no point of this edge can be reached by the pointer"
        self.page.mouse.move(point["x"], point["y"])

    def kernel_problems(self) -> list[str]:
        """Tracebacks and everything on the standard error of the open notebook's kernel."""
        found: list[str] = self.page.evaluate("() => window.nfKernelProblems ?? []")
        return [plain(problem) for problem in found]

    def cells_with(self, text: str) -> list[int]:
        """Which code cells hold this text."""
        sources: list[str] = self.page.evaluate(SOURCES)
        return [index for index, source in enumerate(sources) if text in source]

    def show_cell(self, index: int) -> None:
        """Scroll a cell into sight: JupyterLab attaches it only then."""
        self.page.evaluate("(index) => jupyterapp.shell.currentWidget.content.scrollToItem(index, 'start')", index)

    def note(self, name: str, text: str) -> None:
        """A line of text, into the folder of results."""
        self.results.mkdir(parents=True, exist_ok=True)
        (self.results / f"{name}.txt").write_text(f"{text}\n", "utf-8")

    def screenshot(self, name: str) -> None:
        """The page, into the folder of results."""
        self.results.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.results / f"{name}.png")

    def screenshot_of(self, locator: Locator, name: str) -> None:
        """One element, into the folder of results."""
        self.results.mkdir(parents=True, exist_ok=True)
        locator.screenshot(path=self.results / f"{name}.png")

    def shut_down(self) -> None:
        """End the kernel of the open notebook."""
        self.page.evaluate("() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.shutdown()")
