"""Drives a marimo app that shows the widget with `mo.ui.anywidget`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

from browser.host import Host
from browser.process import free_port, listening

# The last two cells let the test ask the kernel: a line of Python goes in, its value comes out as JSON.
APP = """
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import json

    import marimo as mo
    return json, mo


@app.cell
def _():
{code}
    return (w,)


@app.cell
def _(mo, w):
    mo.ui.anywidget(w)
    return


@app.cell
def _(mo):
    question = mo.ui.text(label="question", full_width=True)
    question
    return (question,)


@app.cell
def _(json, mo, question, w):
    _number, _, _expression = question.value.partition(" ")
    _answer = json.dumps([_number, eval(_expression, {{"w": w}}) if _expression else None])
    mo.Html(f"<pre id='answer'>{{_answer}}</pre>")
    return


if __name__ == "__main__":
    app.run()
"""


@dataclass
class Marimo(Host):
    """A marimo app in a page, served from `folder`."""

    folder: Path

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asked = 0
        self._stack = contextlib.ExitStack()

    def show(self, code: str) -> None:
        app = self.folder / "app.py"
        app.write_text(APP.format(code=indent(code, "    ")), "utf-8")
        url = self._stack.enter_context(_serve(app, self.folder, self.results / "marimo.log"))
        self.page.goto(url)

    def value(self, expression: str) -> Any:
        self._asked += 1
        field = self.page.get_by_label("question")
        field.fill(f"{self._asked} {expression}")
        field.press("Enter")
        answer = self.page.locator("#answer", has_text=f'["{self._asked}", ')
        return json.loads(answer.inner_text())[1]

    def theme(self, name: Literal["dark", "light"]) -> None:
        self.page.emulate_media(color_scheme=name)

    def shut_down(self) -> None:
        self._stack.close()


@contextlib.contextmanager
def _serve(app: Path, home: Path, log: Path) -> Iterator[str]:
    """The app's address. Its settings are those of `home`: marimo follows the system's theme there."""
    settings = home / "settings" / "marimo" / "marimo.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[display]\ntheme = "system"\n', "utf-8")
    url = f"http://127.0.0.1:{(port := free_port())}"
    options = ["--headless", "--host", "127.0.0.1", "--port", str(port), "--no-token"]
    command = [sys.executable, "-m", "marimo", "-q", "run", str(app), *options]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(home / "settings"), "XDG_STATE_HOME": str(home / "state")}
    with listening(command, urllib.request.Request(f"{url}/health"), log=log, environment=environment):
        yield url
