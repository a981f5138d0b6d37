"""Fixtures for a real JupyterLab in a real Chromium."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from browser import chromium
from browser.jupyter import Server, serve
from browser.lab import Lab

ROOT = Path(__file__).parents[2]
# Two cores are shared by the browser, the server, the kernel and this process.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def results() -> Path:
    """Where screenshots and logs are left."""
    return (ROOT / os.environ.get("NF_WIDGET_RESULTS", "test-results")).resolve()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, results: Path) -> Iterator[Server]:
    """It serves a copy of the notebooks, and their modules for the notebooks that tests write."""
    with serve(tmp_path_factory.mktemp("jupyter"), results / "jupyterlab.log") as server:
        shutil.copytree(ROOT / "notebooks", server.root / "notebooks")
        for module in (ROOT / "notebooks").glob("unet*"):
            shutil.copy(module, server.root)
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium.find()
    if path is None:
        pytest.fail(f"There is no Chromium. Install it: python {Path(chromium.__file__).relative_to(ROOT)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture
def lab(request: pytest.FixtureRequest, server: Server, browser: Browser, results: Path) -> Iterator[Lab]:
    """JupyterLab, nothing opened. At the end nothing may have gone wrong in the page, the kernel or the server."""
    logged = len(server.read_log())
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    lab = Lab(context.new_page(), results, server)
    yield lab
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    lab.screenshot(name)
    problems = lab.problems + lab.kernel_problems() + server_problems(server.read_log()[logged:])
    lab.shut_down()
    context.close()
    assert not problems, "\n".join(problems)


def server_problems(log: str) -> list[str]:
    """The lines of a server's log that tell of an error, each with the traceback that follows."""
    entries = re.split(r"\n(?=\[[A-Z] )", log)
    return [entry for entry in entries if re.match(r"\[[EC] ", entry) or "Traceback (most recent call last)" in entry]
