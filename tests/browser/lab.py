"""Drives one notebook in JupyterLab or Jupyter Notebook: open, run, ask the kernel, and keep what went wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import nbformat

from browser.host import Host
from browser.jupyter import Server

OPEN_MS = 90_000

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


def plain(text: str) -> str:
    """Without the escape sequences that colour it."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@dataclass
class Lab(Host):
    """JupyterLab, with one notebook open."""

    server: Server

    def open(self, *cells: str, name: str = "notebook") -> None:
        """Write a notebook of these code cells and open it; its kernel is ready, nothing has run."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, self.server.root / f"{name}.ipynb")
        self.open_file(f"{name}.ipynb")

    def open_file(self, path: str) -> None:
        """Open a notebook of the served folder; its kernel is ready, nothing has run."""
        self.page.goto(f"{self.server.url}{self._address(path)}")
        self.page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext", timeout=OPEN_MS)
        self.page.evaluate(READY)

    def _address(self, path: str) -> str:
        return f"/lab/tree/{path}?token={self.server.token}&reset"

    def show(self, code: str) -> None:
        self.open(f"{code}\nw", name=type(self).__name__.lower())
        self.run_all()

    def run_all(self) -> None:
        """Run every cell and wait for the last. Raises `AssertionError` with the traceback of a cell that failed."""
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
        errors = self.page.evaluate(CELL_ERRORS)
        assert not errors, plain(errors[0])

    def save(self) -> None:
        """Save the open notebook, with what its widgets show."""
        self.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")

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
        self.start(code)
        return self.finish()

    def theme(self, name: Literal["dark", "light"]) -> None:
        theme = f"JupyterLab {name.capitalize()}"
        self.page.evaluate("(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
        self.page.wait_for_function("(theme) => document.body.dataset.jpThemeName === theme", arg=theme)
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def kernel_problems(self) -> list[str]:
        found: list[str] = self.page.evaluate("() => window.nfKernelProblems ?? []")
        return [plain(problem) for problem in found if not any(known in problem for known in self.its_own)]

    def cells_with(self, text: str) -> list[int]:
        """Which code cells hold this text."""
        sources: list[str] = self.page.evaluate(SOURCES)
        return [index for index, source in enumerate(sources) if text in source]

    def show_cell(self, index: int) -> None:
        """Scroll a cell into sight: JupyterLab attaches it only then."""
        self.page.evaluate("(index) => jupyterapp.shell.currentWidget.content.scrollToItem(index, 'start')", index)

    def shut_down(self) -> None:
        self.page.evaluate("() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.shutdown()")


@dataclass
class Notebook(Lab):
    """Jupyter Notebook 7, with one notebook open."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # It asks for settings, a command and a font that it does not have, whatever is open in it.
        self.its_own = ("reading 'schema'", "Command 'filebrowser:open-path' not registered", ".woff2)")

    def _address(self, path: str) -> str:
        return f"/notebooks/{path}?token={self.server.token}"
