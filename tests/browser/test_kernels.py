"""A kernel that is busy, frozen, killed, restarted, or shared by two pages: each has its answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser import steps
from browser.jupyter import Server
from browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture
def shown(lab: Lab) -> Lab:
    # A kernel says so when it is told of what it does not know: widgets of the one before it.
    lab.its_own = ("No such comm", "frozen modules", "debugger miss breakpoints", "PYDEVD", "python to disable frozen")
    lab.open(steps.NET + "\nw", name="kernels")
    lab.run_all()
    expect(lab.stage("output")).to_be_visible()
    expect(lab.widget).to_have_attribute("data-state", "idle")
    return lab


@pytest.fixture
def second(server: Server, browser: Browser, results: Path) -> Iterator[Lab]:
    """Another browser on the same server."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    yield Lab(context.new_page(), results, server)
    context.close()


def test_frozen_kernel_leaves_what_is_there(shown: Lab, tmp_path: Path) -> None:
    """While a cell keeps the interpreter for itself, hovering and inspecting go on; what must wait arrives after."""
    go = tmp_path / "go"
    # Holds the interpreter's lock all the time: no other thread of the kernel runs.
    shown.start(
        f"import ctypes, os\nlibc = ctypes.PyDLL(None)\nwhile not os.path.exists({str(go)!r}): libc.usleep(200_000)"
    )
    shown.stage("down").click()
    expect(shown.inspector).to_contain_text("12×16×16")
    expect(shown.widget).to_have_attribute("data-state", "waiting")
    shown.hover_edge(shown.edge("stem", "mix"))
    expect(shown.readout).to_contain_text("stem → mix")
    shown.screenshot("kernel-frozen")
    go.touch()
    shown.finish()
    expect(shown.inspector.locator(".nf-i-plate canvas[data-exact]").first).to_be_visible()
    expect(shown.widget).to_have_attribute("data-state", "idle")


def test_killed_kernel_is_noticed(shown: Lab) -> None:
    shown.page.evaluate("""() => { jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute(
        { code: "import os; os.kill(os.getpid(), 9)" }).done.catch(() => undefined); }""")
    dialog = shown.page.locator(".jp-Dialog")
    dialog.get_by_role("button", name="Ok").click()
    expect(dialog).to_have_count(0)
    # The picture stays, and says that there is no kernel once something is asked of it.
    shown.stage("down").click()
    expect(shown.inspector).to_contain_text("12×16×16")
    expect(shown.widget).to_have_attribute("data-state", "no-kernel", timeout=40_000)
    shown.screenshot("kernel-killed")
    assert_runs_again(shown)


def test_restarted_kernel_is_noticed_at_once(shown: Lab) -> None:
    shown.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(shown.widget).to_have_attribute("data-state", "no-kernel")
    shown.stage("down").click()
    expect(shown.inspector).to_contain_text("12×16×16")
    expect(shown.inspector).to_contain_text("need the kernel")
    shown.screenshot("kernel-restarted")
    assert_runs_again(shown)


def assert_runs_again(lab: Lab) -> None:
    """The cell brings everything back, in the new kernel."""
    lab.run_all()
    expect(lab.widget).to_have_count(1)
    expect(lab.widget).to_have_attribute("data-state", "idle")
    steps.detail(lab)


def test_two_pages_share_one_kernel(shown: Lab, second: Lab) -> None:
    """Both are answered, each keeps its own zoom and hover, and what is selected or slid to is the same in both."""
    shown.save()
    second.open_file("kernels.ipynb")
    expect(second.stage("output")).to_be_visible()
    expect(second.widget).to_have_attribute("data-state", "idle")
    for here, there, name in ((shown, second, "mix"), (second, shown, "down")):
        here.stage(name).click()
        for page in (here, there):
            expect(page.inspector).to_contain_text(name)
            expect(page.inspector.locator(".nf-i-plate canvas[data-exact]").first).to_be_visible()
    second.widget.locator(".nf-slider input[type=range]").press("End")
    for page in (shown, second):
        expect(page.widget.locator(".nf-s-place")).to_have_text("frame 3 of 3")
    assert shown.value("w.overview['frame']") == 2
    second.screenshot("second-page")
    assert not second.problems, "\n".join(second.problems)


WRONG = """
for _ in range(3):
    try:
        FlowWidget(model, torch.rand(1, 5, 64, 64))
    except RuntimeError as error:
        print("raised:", error)
"""


def test_a_model_that_raises_leaves_the_page_quiet(lab: Lab) -> None:
    """The page has begun to load the front end by then. The next cell, which is right, shows its widget."""
    lab.open(steps.NET, WRONG, "w")
    lab.run_all()
    expect(lab.page.get_by_text("raised:").first).to_be_visible()
    expect(lab.stage("output")).to_be_visible()
    expect(lab.widget).to_have_attribute("data-state", "idle")
    lab.screenshot("kernel-raised")
    open_ones = "sum(type(each).__name__ == 'FlowWidget' for each in widgets._instances.values())"
    assert lab.value(f"(lambda widgets: {open_ones})(__import__('ipywidgets').widgets.widget)") == 1
