"""Frame times while panning and zooming a large graph in JupyterLab: `python benchmarks/frames.py [stages]`.

A real kernel and a real Chromium without a graphics card: the machine's own processor draws. Prints the median and the
95th percentile of the times between frames in milliseconds, and what the page's main thread spent in each on average;
16.7 is 60 frames a second, and "nothing" shows what the machine gives.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import CDPSession, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import chromium
from browser.jupyter import serve
from browser.lab import Lab

NOTEBOOK = """
import torch
from torch import nn
from nf_widget import FlowWidget

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
    def forward(self, x):
        return x + self.conv(x).relu()

torch.manual_seed(0)
model = nn.Sequential(*(Block() for _ in range({stages}))).eval()
w = FlowWidget(model, torch.rand(1, 8, 24, 24), layers=[str(i) for i in range({stages})])
w
"""

RECORD = """() => {
  const frames = [];
  const frame = (now) => {
    frames.push(now);
    if (window.nfFrames === frames) requestAnimationFrame(frame);
  };
  window.nfFrames = frames;
  requestAnimationFrame(frame);
}"""
STOP = """() => {
  const frames = nfFrames;
  window.nfFrames = null;
  return frames;
}"""
SECONDS = 4.0
COLUMNS = ("frames", "median ms", "95th percentile ms", "scripts", "styles", "layout", "all tasks")


def main(stages: int) -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        serve(Path(home), Path(home) / "log.txt") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.ARGUMENTS))
        lab = Lab(browser.new_page(viewport={"width": 1280, "height": 900}), Path(home), server)
        lab.open(NOTEBOOK.format(stages=stages))
        lab.run_all()
        lab.widget.locator(".nf-stage").nth(stages).wait_for(state="attached")
        lab.page.wait_for_timeout(3000)
        found = _measured(lab)
        browser.close()
    print(f"| {stages} stages | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
    for name, row in found.items():
        print(f"| {name} | {' | '.join(str(row[column]) for column in COLUMNS)} |")
    print(json.dumps(found))


def _measured(lab: Lab) -> dict[str, dict[str, float]]:
    box = lab.widget.locator(".nf-svg").bounding_box()
    assert box is not None
    hand = Hand(lab.page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    # The wheel zooms only after a click into the picture.
    lab.page.mouse.click(box["x"] + 2, box["y"] + box["height"] - 2)
    found = {"nothing": _timed(hand, hand.rest), "zoom, far to near and back": _timed(hand, hand.zoom)}
    found["pan, all in view"] = _timed(hand, hand.pan)
    for _ in range(12):
        lab.page.mouse.wheel(0, -80)
    lab.page.wait_for_timeout(1500)
    return found | {"pan, cards in view": _timed(hand, hand.pan)}


@dataclass(frozen=True, slots=True)
class Hand:
    """A pointer over the middle of the picture, `part` of the way through what it does."""

    page: Page
    x: float
    y: float

    def rest(self, _part: float) -> None:
        self.page.wait_for_timeout(8)

    def pan(self, part: float) -> None:
        angle = 4 * math.pi * part
        if part == 0:
            self.page.mouse.move(self.x, self.y)
            self.page.mouse.down()
        self.page.mouse.move(self.x + 200 * math.sin(angle), self.y + 120 * math.sin(2 * angle))
        if part == 1:
            self.page.mouse.up()

    def zoom(self, part: float) -> None:
        self.page.mouse.move(self.x, self.y)
        self.page.mouse.wheel(0, -12 if part < 0.5 else 12)


def _timed(hand: Hand, move: Callable[[float], None]) -> dict[str, float]:
    """Times between frames while `move` is called as often as the browser takes it."""
    session = hand.page.context.new_cdp_session(hand.page)
    session.send("Performance.enable")
    before = _spent(session)
    hand.page.evaluate(RECORD)
    start = time.perf_counter()
    move(0)
    while (part := (time.perf_counter() - start) / SECONDS) < 1:
        move(part)
    move(1)
    frames = hand.page.evaluate(STOP)
    times = sorted(later - sooner for sooner, later in pairwise(frames))
    figures = [len(times), statistics.median(times), times[math.ceil(0.95 * len(times)) - 1]]
    figures += [1000 * (after - before) / len(times) for before, after in zip(before, _spent(session), strict=True)]
    return dict(zip(COLUMNS, (round(figure, 1) for figure in figures), strict=True))


def _spent(session: CDPSession) -> list[float]:
    """Seconds that the page has spent so far on scripts, on styles, on layout and on everything."""
    known = {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}
    return [known[name] for name in ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration", "TaskDuration")]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
