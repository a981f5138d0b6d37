"""The same steps in every front end, each of them a cell of the README's table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browser import steps
from browser.host import Host
from browser.lab import Lab, Notebook
from browser.marimo_app import Marimo
from browser.vscode import VSCode

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

HOSTS = ("lab", "notebook", "vscode", "marimo")
STEPS = (steps.draw, steps.hover, steps.detail, steps.slider, steps.expand, steps.theme)


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Host]:
    """The widget, shown. At the end nothing may have gone wrong in the page or the kernel."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    host = make(request, context.new_page())
    host.show(steps.NET)
    expect(host.stage("output")).to_be_visible(timeout=60_000)
    yield host
    problems = host.problems + host.kernel_problems()
    host.shut_down()
    context.close()
    assert not problems, "\n".join(problems)


def make(request: pytest.FixtureRequest, page: Page) -> Host:
    results = request.getfixturevalue("results")
    folder = functools.partial(request.getfixturevalue("tmp_path_factory").mktemp, request.param)
    match request.param:
        case "lab":
            return Lab(page, results, request.getfixturevalue("server"))
        case "notebook":
            return Notebook(page, results, request.getfixturevalue("server"))
        case "vscode":
            return VSCode(page, results, request.getfixturevalue("server"), folder())
        case "marimo":
            return Marimo(page, results, folder())
        case unknown:
            raise ValueError(unknown)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_host(host: Host, step: Callable[[Host], None]) -> None:
    step(host)
