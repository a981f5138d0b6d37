"""The front end by itself on a page, with a made-up kernel: saved files, accessibility, and styles of a host."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
# As JupyterLab, Jupyter Notebook and Colab style what stands in an output.
HOST_STYLES = """
.host dl { width: 100%; overflow: hidden; } .host dt { float: left; width: 20%; font-weight: bold; }
.host dd { float: left; width: 80%; } .host dl, .host dt, .host dd { display: block; }
.host p, .host ul, .host ol { margin-bottom: 1em; } .host ul { list-style: disc; padding-left: 2em; }
.host h3, .host h4 { margin: 1em 0 0.5em; font-size: 30px; line-height: 2; }
.host code { background: red; padding: 9px; }
.host svg, .host canvas { max-width: 10%; } .host button { text-transform: uppercase; margin: 9px; }
"""

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    entries = ["harness=dev/harness.ts", "harness=src/styles.css"]
    target = "--target=es2022,chrome111,firefox113,safari16.4"
    esbuild = [sys.executable, str(ROOT / "hatch_build.py"), "npm", "exec", "--", "esbuild"]
    options = ["--bundle", "--format=iife", target, f"--outdir={folder}", "--log-level=warning"]
    subprocess.run([*esbuild, *entries, *options], cwd=ROOT / "js", check=True)
    shutil.copy(ROOT / "js" / "dev" / "index.html", folder)
    return folder


@pytest.fixture
def open_page(browser: Browser, page_folder: Path) -> Iterator[Open]:
    """Opens the page with a query; at the end no page may have reported an error."""
    context = browser.new_context(viewport={"width": 1000, "height": 1300})
    problems: list[str] = []

    def open_(query: str, width: int = 1000) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.set_viewport_size({"width": width, "height": 1300})
        page.goto(f"{(page_folder / 'index.html').as_uri()}?{query}")
        page.wait_for_selector(".nf-stage image")
        page.wait_for_timeout(600)
        return page

    yield open_
    context.close()
    assert not problems, "\n".join(problems)


def saved(page: Page, name: str, to: Path) -> Path:
    """Saves the picture by the toolbar. Returns the file."""
    page.get_by_role("button", name="Save the picture").click()
    with page.expect_download() as download:
        page.locator(".nf-entry", has_text=name).click()
    assert download.value.suggested_filename == f"EfficientNet.{name.lower()}"
    file = to / download.value.suggested_filename
    download.value.save_as(file)
    return file


def pixels(file: Path) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(file).convert("RGB"), dtype=np.float32)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_saved_svg_stands_alone_and_looks_like_the_canvas(open_page: Open, tmp_path: Path, theme: str) -> None:
    page = open_page(f"scene=classifier&theme={theme}")
    file = saved(page, "SVG", tmp_path)
    tree = ET.parse(file)
    assert tree.getroot().findtext(f"{SVG}title") == "EfficientNet"
    for element in tree.iter():
        assert not {"class", "style"} & set(element.attrib)
        assert not any("var(" in value or "color(" in value or "url(" in value for value in element.attrib.values())
    images = list(tree.iter(f"{SVG}image"))
    assert len(images) > 20
    assert all(image.attrib["href"].startswith("data:image/png;base64,") for image in images)

    page.locator(".nf-canvas").screenshot(path=tmp_path / "canvas.png")
    alone = page.context.new_page()
    alone.goto(file.as_uri())
    alone.locator("svg").first.screenshot(path=tmp_path / "alone.png")
    canvas, same = pixels(tmp_path / "canvas.png"), pixels(tmp_path / "alone.png")
    assert canvas.shape == same.shape
    assert np.abs(canvas - same).mean() < 1


def test_saved_png_has_twice_the_pixels(open_page: Open, tmp_path: Path) -> None:
    page = open_page("scene=classifier&theme=light")
    box = page.locator(".nf-canvas").bounding_box()
    assert box is not None
    picture = pixels(saved(page, "PNG", tmp_path))
    assert picture.shape[:2] == (round(2 * box["height"]), round(2 * box["width"]))
    # Paper, and plenty that is not.
    assert (picture[2, 2] == 255).all()
    assert picture.std() > 20


def test_names_reach_the_saved_svg_as_text(open_page: Open, tmp_path: Path) -> None:
    page = open_page("scene=classifier&theme=light")
    page.evaluate(
        """() => { const graph = nf.model.get("graph");
        const stages = graph.stages.map((stage, i) => (i === 1 ? { ...stage, label: "<b>&\\"x" } : stage));
        nf.model.set("graph", { ...graph, stages }); }"""
    )
    page.wait_for_timeout(600)
    tree = ET.parse(saved(page, "SVG", tmp_path))
    assert '<b>&"x' in [text.text for text in tree.iter(f"{SVG}text")]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "query",
    [
        "scene=unet&selected=enc2",
        "scene=classifier&frames=8&selected=output",
        "scene=classifier&frames=8&reference=2",
        "scene=classifier&state=error",
        "scene=classifier&state=waiting",
    ],
)
def test_axe_finds_nothing(open_page: Open, query: str, theme: str) -> None:
    page = open_page(f"{query}&theme={theme}")
    page.add_style_tag(content=f":root {{ background: {'#14161a' if theme == 'dark' else '#fff'} }}")
    page.add_script_tag(path=ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js")
    found = page.evaluate("() => axe.run('.nf-widget', { preload: false }).then(({ violations }) => violations)")
    said = [f"{each['id']}: {node['html']} {node['failureSummary']}" for each in found for node in each["nodes"]]
    assert not said, "\n".join(said)


@pytest.mark.parametrize("width", [560, 1000, 1500])
def test_styles_of_a_host_change_nothing(open_page: Open, width: int) -> None:
    page = open_page("scene=classifier&theme=light&selected=_blocks.2", width)
    measure = """() => [...document.querySelectorAll(".nf-inspector *, .nf-toolbar *, .nf-footer *")].map((element) => {
        const { x, y, width, height } = element.getBoundingClientRect();
        return [element.tagName, element.getAttribute("class"), x, y, width, height].join(" "); })"""
    before = page.evaluate(measure)
    page.evaluate("() => document.querySelector('.nf-widget').parentElement.classList.add('host')")
    page.add_style_tag(content=HOST_STYLES)
    page.wait_for_timeout(300)
    after = page.evaluate(measure)
    assert len(before) > 150
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == []


GLIDE = """() => new Promise((done) => {
  const seen = [];
  const until = performance.now() + 1500;
  const look = () => {
    const cards = [...document.querySelectorAll(".nf-stage")].map((card) => card.getBoundingClientRect().x);
    seen.push({ cards, lines: Number(getComputedStyle(document.querySelector(".nf-edges")).opacity) });
    if (performance.now() < until) requestAnimationFrame(look);
    else done(seen);
  };
  look();
})"""


def test_no_line_is_shown_beside_cards_that_still_move(open_page: Open) -> None:
    page = open_page("scene=classifier&theme=light", width=1400)
    watched = page.evaluate_handle(f"() => {{ window.glide = ({GLIDE})(); }}")
    page.set_viewport_size({"width": 900, "height": 1300})
    seen = page.evaluate("() => window.glide")
    watched.dispose()
    first, last = seen[0], seen[-1]
    assert first["lines"] == last["lines"] == 1
    moving = [
        each
        for each in seen
        if max(abs(at - end) for at, end in zip(each["cards"], last["cards"], strict=True)) > 2
        and max(abs(at - start) for at, start in zip(each["cards"], first["cards"], strict=True)) > 2
    ]
    assert moving
    assert all(each["lines"] == 0 for each in moving)
