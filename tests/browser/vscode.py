"""Drives the renderer of VS Code's notebooks in a page of its own, with a kernel and the policy of its webviews."""

from __future__ import annotations

import contextlib
import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from browser import front_ends
from browser.host import Host
from browser.jupyter import Server
from browser.lab import plain

# As VS Code's notebooks have it with `notebook.experimental.enableCsp`, but for the kernel, which the extension reaches
# in another way, and for `blob:`, without which anywidget cannot load any widget.
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' https: http: data:; font-src 'self' https:; child-src https: data:; connect-src {kernel}"
)
# A few of the colours that an editor hands to its webviews.
COLOURS = {
    "dark": {"editor-background": "#1e1e1e", "editor-foreground": "#d4d4d4", "widget-border": "#454545"},
    "light": {"editor-background": "#ffffff", "editor-foreground": "#3b3b3b", "widget-border": "#d4d4d4"},
}
SET_THEME = """([name, colours]) => {
  document.body.className = `vscode-${name}`;
  document.body.dataset.vscodeThemeKind = `vscode-${name}`;
  for (const [key, colour] of Object.entries(colours))
    document.documentElement.style.setProperty(`--vscode-${key}`, colour);
}"""


@dataclass
class VSCode(Host):
    """The output of a notebook cell, as VS Code shows it. `folder` is where its page is put together."""

    server: Server
    folder: Path

    def __post_init__(self) -> None:
        super().__post_init__()
        # The renderer brings icons for widgets of its own, which the policy keeps out.
        self.its_own = ("Loading the font 'data:font/",)
        self._stack = contextlib.ExitStack()

    def show(self, code: str) -> None:
        self.open()
        self.page.evaluate("([url, token]) => nf.connect(url, token)", [f"{self.server.url}/", self.server.token])
        self.run(code)
        self.page.evaluate("(id) => nf.show(id)", self.value("w.model_id"))

    def open(self) -> None:
        """The page, with nothing in it."""
        policy = POLICY.format(kernel=f"{self.server.url} {self.server.url.replace('http', 'ws')}")
        self.page.goto(self._stack.enter_context(serve(self.folder, policy)))
        self.page.wait_for_function("() => window.nf")
        self.theme("light")

    def reopen(self, state: dict[str, Any]) -> None:
        """Show the widget of a notebook that was saved with this state of its widgets. There is no kernel."""
        (shown,) = (name for name, model in state["state"].items() if model["model_module"] == "anywidget")
        self.page.evaluate("([state, id]) => nf.reopen(state, id)", [state, shown])

    def run(self, code: str) -> str:
        answer: dict[str, str] = self.page.evaluate("(code) => nf.run(code)", code)
        assert not answer["error"], plain(answer["error"])
        return answer["text"]

    def theme(self, name: Literal["dark", "light"]) -> None:
        self.page.evaluate(SET_THEME, [name, COLOURS[name]])

    def kernel_problems(self) -> list[str]:
        found: list[str] = self.page.evaluate("() => nf.problems")
        return [plain(problem) for problem in found]

    def shut_down(self) -> None:
        self.page.evaluate("() => nf.shutDown()")
        self._stack.close()


@contextlib.contextmanager
def serve(folder: Path, policy: str) -> Iterator[str]:
    """The page's address, as long as the block lasts."""
    _assemble(folder)
    handler = functools.partial(_Handler, policy=policy, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/vscode.html"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _assemble(folder: Path) -> None:
    front_ends.bundle("vscode.ts", folder)
    packages = front_ends.PACKAGES
    shutil.copy(front_ends.FOLDER / "vscode.html", folder)
    shutil.copy(packages / "@vscode/jupyter-ipywidgets8/dist/ipywidgets.js", folder)
    shutil.copy(packages / "requirejs/require.js", folder)
    shutil.copytree(Path(sys.prefix) / "share/jupyter/nbextensions", folder / "nbextensions")


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *parts: Any, policy: str, directory: str) -> None:
        self._policy = policy
        super().__init__(*parts, directory=directory)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", self._policy)
        super().end_headers()

    def log_message(self, *_parts: Any) -> None:
        """What is asked for is no news."""
