"""Where no kernel is: a saved notebook reopened, HTML made of it, ipywidgets' own export, and `save_html`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from browser import steps, still
from browser.jupyter import Server
from browser.lab import Lab, Notebook
from browser.still import Still
from browser.vscode import VSCode

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

STATE = "application/vnd.jupyter.widget-state+json"
STEPS = (still.draw, still.hover, still.inspect, still.off, still.zoom)
MAKE = """
exec(open("net.py").read())
from ipywidgets.embed import embed_minimal_html
embed_minimal_html("embedded.html", views=[w])
w.save_html("own.html", frames="all", detail=["mix"])
w.save_html("ends.html", frames=[0, 2])
w.save_html("single.html")
"""


@pytest.fixture(scope="module")
def saved(server: Server, browser: Browser, results: Path) -> Path:
    """A notebook that was run in JupyterLab and saved with what its widget shows."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    lab = Lab(context.new_page(), results, server)
    lab.open(steps.NET + "\nw", name="saved")
    lab.run_all()
    expect(lab.stage("output")).to_be_visible(timeout=60_000)
    lab.save()
    lab.shut_down()
    context.close()
    return server.root / "saved.ipynb"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pages that Python made by itself."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "net.py").write_text(steps.NET, "utf-8")
    subprocess.run([sys.executable, "-c", MAKE], cwd=folder, check=True)
    # The script that it is the digest of is served from a copy of another release.
    page = folder / "embedded.html"
    page.write_text(re.sub(r' integrity="[^"]+"', "", page.read_text("utf-8")), "utf-8")
    return folder


@pytest.fixture
def page(browser: Browser, results: Path) -> Iterator[Still]:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = Still(context.new_page(), results)
    yield page
    context.close()
    assert not page.problems, "\n".join(page.problems)


def converted(notebook: Path, to: Path) -> Path:
    """What `jupyter nbconvert --to html` makes of it."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--log-level=ERROR", f"--output-dir={to}"]
    subprocess.run([*command, str(notebook)], check=True)
    return to / f"{notebook.stem}.html"


@pytest.mark.parametrize("kind", [Lab, Notebook])
def test_saved_notebook_opens_without_running(
    saved: Path, server: Server, browser: Browser, results: Path, kind: type[Lab]
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    host = kind(context.new_page(), results, server)
    host.open_file(saved.name)
    for step in (*STEPS, still.one_frame):
        step(host)
    for name in ("dark", "light"):
        host.theme(name)
        expect(host.widget).to_have_attribute("data-theme", name)
        host.screenshot(f"reopened-{kind.__name__.lower()}-{name}")
    host.shut_down()
    context.close()
    assert not host.problems, "\n".join(host.problems)


def test_saved_notebook_opens_in_vscode_without_running(
    saved: Path, server: Server, browser: Browser, results: Path, tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    editor = VSCode(context.new_page(), results, server, tmp_path)
    editor.open()
    editor.reopen(json.loads(saved.read_text("utf-8"))["metadata"]["widgets"][STATE])
    for step in (*STEPS, still.one_frame):
        step(editor)
    editor.screenshot("reopened-vscode")
    problems = editor.problems + editor.kernel_problems()
    editor.shut_down()
    context.close()
    assert not problems, "\n".join(problems)


def test_saved_notebook_becomes_html(saved: Path, page: Still, tmp_path: Path) -> None:
    page.open(converted(saved, tmp_path))
    for step in (*STEPS, still.one_frame):
        step(page)
    expect(page.widget).to_have_attribute("data-theme", "light")  # the page's own, whatever the system's is
    page.screenshot("nbconvert")


def test_ipywidgets_embeds_it(pages: Path, page: Still) -> None:
    page.open(pages / "embedded.html")
    for step in (*STEPS, still.one_frame):
        step(page)
    still.theme(page)
    page.screenshot("embedded")


def test_saved_page_needs_nothing(pages: Path, page: Still) -> None:
    page.its_own = ()
    page.open(pages / "own.html")
    for step in STEPS:
        step(page)
    steps_without_kernel(page)
    page.screenshot("save-html")


def test_saved_page_moves_to_the_frames_that_it_holds(pages: Path, page: Still) -> None:
    page.its_own = ()
    page.open(pages / "ends.html")
    place = page.widget.locator(".nf-s-place")
    track = page.widget.locator(".nf-slider input[type=range]")
    track.press("ArrowRight")
    expect(place).to_have_text("frame 3 of 3")
    expect(page.widget.get_by_role("button", name="Next frame")).to_be_disabled()
    track.press("Home")
    expect(place).to_have_text("frame 1 of 3")
    assert "data-waiting" not in (page.widget.locator(".nf-s-marker").evaluate("e => e.outerHTML.split('>')[0]"))


def test_saved_page_of_one_frame_stays_on_it(pages: Path, page: Still) -> None:
    page.its_own = ()
    page.open(pages / "single.html")
    expect(page.widget.locator(".nf-slider input[type=range]")).to_be_disabled()
    for name in ("Previous frame", "Play", "Next frame"):
        expect(page.widget.get_by_role("button", name=name)).to_be_disabled()
    page.screenshot("save-html-single")


def steps_without_kernel(page: Still) -> None:
    """What was asked for is in the file: all frames, and every value of a stage."""
    picture = page.stage("input").locator("image").last
    first = picture.get_attribute("href")
    assert first
    track = page.widget.locator(".nf-slider input[type=range]")
    track.press("End")
    expect(picture).not_to_have_attribute("href", first)
    track.press("Home")
    expect(picture).to_have_attribute("href", first)
    page.widget.get_by_role("button", name="Play").click()
    expect(page.widget.locator(".nf-s-place")).to_have_text("frame 3 of 3")
    expect(picture).not_to_have_attribute("href", first)
    expect(page.widget.get_by_role("button", name="Play")).to_be_enabled()
    expect(page.widget.locator(".nf-message")).to_contain_text("not in this page")
    page.stage("mix").click()
    expect(page.inspector.locator(".nf-i-plate canvas[data-exact]").first).to_be_visible()
    page.inspector.press("Escape")
    still.theme(page)


def test_table_remains_without_the_state(saved: Path, page: Still, tmp_path: Path) -> None:
    notebook = nbformat.read(saved, as_version=4)
    del notebook.metadata["widgets"]
    bare = tmp_path / "bare.ipynb"
    nbformat.write(notebook, bare)
    page.open(converted(bare, tmp_path))
    output = page.page.locator(".jp-OutputArea-output")
    for part in ("8 stages, 8 edges", "ConvTranspose2d", "stem (skip, relu cat)"):
        expect(output).to_contain_text(part)
    page.screenshot("table")
