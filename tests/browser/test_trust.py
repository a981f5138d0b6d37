"""What a stranger wrote is shown as text and never run: names in a model, and files that were made to do harm."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from browser import steps
from browser.lab import Lab
from browser.still import Still

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

HARM = "<img src=x onerror=alert(1)><script>alert(2)</script>\u2028'\"`${alert(3)}</script><svg onload=alert(4)>"
# A net all of whose names are hostile, and what is written about it.
HOSTILE = f"""
import torch
from torch import nn
from nf_widget import FlowWidget

HARM = {HARM!r}.replace(".", "")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for name in (HARM, "__proto__", "constructor", "javascript:alert(5)"):
            self.add_module(name, nn.Linear(6, 6))

    def forward(self, x):
        for module in self.children():
            x = module(x)
        return x

Net.__name__ = HARM
w = FlowWidget(
    Net().eval(), frames=[torch.ones(1, 6), torch.zeros(1, 6)], frame_labels=[HARM, "https://example.invalid/x.png"],
    labels={{"constructor": HARM, "output": "<iframe src=javascript:alert(6)>"}}, class_names=[HARM] * 6,
    output_types="logits",
)
"""
SAVE = "exec(open('net.py').read()); w.save_html('page.html', frames='all')"

Content = dict[str, Any]


@pytest.fixture
def page(browser: Browser, results: Path) -> Iterator[Still]:
    """At the end there was no dialog, no request, and no error."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = Still(context.new_page(), results)
    page.its_own = ()

    def told(dialog: Any) -> None:
        page.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.page.on("dialog", told)
    yield page
    context.close()
    assert not page.problems, "\n".join(page.problems)


def made(code: str, folder: Path) -> Path:
    (folder / "net.py").write_text(code, "utf-8")
    subprocess.run([sys.executable, "-c", SAVE], cwd=folder, check=True)
    return folder / "page.html"


def assert_nothing_injected(page: Still) -> None:
    for kind in ("img", "iframe", "object", "embed", "marquee", "a[href]", "[onload]", "[onerror]"):
        assert page.page.locator(kind).count() == 0, kind
    # The page's own: its data, and its code.
    assert page.page.locator("script").count() == 2


def test_hostile_names_stay_text(page: Still, tmp_path: Path) -> None:
    page.open(made(HOSTILE, tmp_path))
    expect(page.widget.locator(".nf-stage")).to_have_count(6)
    for name in ("__proto__", "constructor", "output"):
        page.stage(name).click()
        expect(page.inspector).to_be_visible()
        page.stage(name).hover()
        page.inspector.press("Escape")
    expect(page.stage("constructor")).to_contain_text("<img src=x")
    page.widget.locator(".nf-slider input[type=range]").press("End")
    expect(page.widget.locator(".nf-s-label")).to_have_text("https://example.invalid/x.png")
    assert_nothing_injected(page)
    page.screenshot("hostile-names")


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(steps.NET, tmp_path_factory.mktemp("honest")).read_text("utf-8")


def crafted(text: str, change: Callable[[Content], None]) -> str:
    """The page with its data changed."""
    data = re.search(r'(id="nf-page">)(.*?)(</script>)', text, re.DOTALL)
    assert data is not None
    content = copy.deepcopy(json.loads(data[2]))
    change(content)
    return text[: data.start(2)] + json.dumps(content).replace("<", "\\u003c") + text[data.end(2) :]


def _leaf(content: Content, stage: str = "stem") -> Content:
    leaf: Content = content["state"]["overview"]["stages"][stage][0]
    return leaf


def _picture(**fields: Any) -> Callable[[Content], None]:
    return lambda content: _leaf(content)["picture"].update(fields)


def _summary(**fields: Any) -> Callable[[Content], None]:
    return lambda content: _leaf(content).update(fields)


def _state(**fields: Any) -> Callable[[Content], None]:
    return lambda content: content["state"].update(fields)


def _graph(**fields: Any) -> Callable[[Content], None]:
    return lambda content: content["state"]["graph"].update(fields)


def _stage(**fields: Any) -> Callable[[Content], None]:
    return lambda content: content["state"]["graph"]["stages"][1].update(fields)


def _circle(content: Content) -> None:
    """Groups inside of each other."""
    graph = content["state"]["graph"]
    graph["groups"] = [
        {"id": "a", "label": "a", "type_name": "", "parent": "b"},
        {"id": "b", "label": "b", "type_name": "", "parent": "a"},
    ]
    graph["stages"][1]["group"] = "a"


def _many(content: Content) -> None:
    graph = content["state"]["graph"]
    graph["edges"] = graph["edges"][:1] * 200_000


CRAFTED: dict[str, Callable[[Content], None]] = {
    "rows without bytes": _picture(rows=2**20, columns=2**20),
    "rows below zero": _picture(rows=-4, columns=-4),
    "size of a whole disk": _picture(size=[2**31, 2**31]),
    "size that is text": _picture(size="javascript:alert(1)"),
    "codes that are text": _picture(codes="<img src=x onerror=alert(1)>"),
    "vector of another length": _picture(kind="vector", length=2**30),
    "tokens": _picture(kind="tokens", grid=[2**16, 2**16], special=-1, labels=["<b>"]),
    "volume": _picture(kind="volume", planes=[{"axis": 9, "index": -1, "rows": 2**15, "columns": 2**15}]),
    "classes": _picture(kind="classes", entries=[None, {"name": "<b>"}], count=2**60),
    "mask": _picture(kind="mask", rows=2**20, columns=2**20),
    "boxes": _picture(kind="boxes", entries=[{"sides": ["<b>"], "name": "<b>", "score": None}], count=1, over="<b>"),
    "unknown kind": _picture(kind="__proto__"),
    "no range": _picture(low=None, high=None),
    "histogram": _summary(histogram={"low": "<b>", "high": None, "counts": [1e300] * 100_000}),
    "statistics": _summary(statistics={"count": "<b>"}),
    "shape": _summary(shape=["<b>", 2**53, -1]),
    "axes": _summary(axes=None, axes_kind=["<b>"], dtype=7),
    "ranking": _summary(ranking={"measure": "<b>", "order": "x", "count": 2**53, "dead": -1, "saturated": None}),
    "no summaries": _state(overview={"version": 1, "frame": 0, "sample": 0, "stages": {"stem": 3}}),
    "frames": _state(frame_count=10**9, frame=10**8, frame_labels="<b>"),
    "samples": _state(sample_count=10**15, sample=-1),
    "height": _state(options={"theme": "<b>", "normalisation": "<b>", "height": 10**9}),
    "thumbnails": _state(thumbnails={"sample": 0, "frames": {"0": {"rows": 2**20, "columns": 2**20, "codes": ""}}}),
    "tiles": _state(tiles={"seq": 1, "tiles": [{"key": "k", "rows": 2**20, "columns": 2**20, "dtype": "float64"}]}),
    "wanted": _state(wanted={"seq": 10**300, "tiles": [None, "<b>"]}),
    "expanded": _state(expanded=[{"toString": "<b>"}], selected="nowhere"),
    "status": _state(status={"state": "<b>", "text": ["<b>"], "error": {"type": "<b>", "message": HARM}}),
    "groups in a circle": _circle,
    "a group in itself": _graph(groups=[{"id": "a", "label": "a", "type_name": "", "parent": "a"}]),
    "a stage without leaves": _stage(leaves=None),
    "a stage without a name": _stage(label=None, type_name=None, detail={"a": 1}),
    "a shape that is text": _stage(leaves=[{"path": "", "shape": "<b>", "dtype": "<b>"}]),
    "stages that are not there": _graph(stages=[None, 3]),
    "edges that are not there": _graph(edges=[None, 3]),
    "edges without ops": lambda content: content["state"]["graph"]["edges"][0].update(via=None, shape="<b>"),
    "edges backwards": lambda content: content["state"]["graph"]["edges"][0].update(source="output", target="input"),
    "hundreds of thousands of edges": _many,
    "a model of nothing": _graph(model=None),
    "notes of nothing": _graph(notes=[None, {"text": "<b>"}]),
    "a failure of nothing": _graph(failure={"message": "<b>"}),
    "nothing at all": lambda content: content.update(state={}, overviews=[]),
}


@pytest.mark.parametrize("change", CRAFTED.values(), ids=CRAFTED)
def test_crafted_state_does_no_harm(
    page: Still, honest: str, tmp_path: Path, change: Callable[[Content], None]
) -> None:
    """The page stays alive and small, injects nothing, and says what it cannot read."""
    file = tmp_path / "crafted.html"
    file.write_text(crafted(honest, change), "utf-8")
    # What no guard knows may end the picture, but with words in its place.
    page.its_own = ("page error: ", "console: Error: <")
    page.open(file)
    expect(page.widget.or_(page.page.get_by_text("nf_widget cannot show this"))).to_be_visible(timeout=8_000)
    for stage in page.stage("stem").all():
        stage.dispatch_event("click")
        page.page.wait_for_timeout(200)
    assert page.page.evaluate("() => performance.memory.usedJSHeapSize") < 150e6
    widest = "() => Math.max(0, ...[...document.querySelectorAll('canvas')].map((c) => c.width * c.height))"
    assert page.page.evaluate(widest) < 20e6
    assert page.page.evaluate("() => document.documentElement.scrollHeight") < 20_000
    assert_nothing_injected(page)


def test_untrusted_notebook_shows_the_table_alone(lab: Lab) -> None:
    dialogs: list[str] = []
    lab.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    lab.open(HOSTILE + "\nw", name="stranger")
    lab.run_all()
    expect(lab.stage("output")).to_be_visible()
    lab.save()
    saved = lab.server.root / "stranger.ipynb"
    notebook = nbformat.read(saved, as_version=4)
    assert notebook.metadata["widgets"]
    # Changed by someone else: its signature does not fit any more.
    notebook.cells.append(nbformat.v4.new_code_cell("1"))
    nbformat.write(notebook, lab.server.root / "changed.ipynb")
    lab.open_file("changed.ipynb")
    expect(lab.page.locator(".jp-OutputArea-output").first).to_contain_text("6 stages, 5 edges")
    assert lab.widget.count() == 0
    for kind in ("img[src=x]", "iframe[src^=javascript]", "[onerror]", "[onload]"):
        assert lab.page.locator(kind).count() == 0
    assert not dialogs
