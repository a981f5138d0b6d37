"""What a person waits for in JupyterLab, and what travels: `python benchmarks/notebook.py`.

With a real kernel and a real Chromium: from the call of `FlowWidget(model, x)` to the first picture of an activation
in the page, beside the model's own forward; bytes of the widget's state and of the front end; and from the click on
another channel to its exact values, when the kernel has them at hand. Prints a table and JSON.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import chromium
from browser.jupyter import serve
from browser.lab import Lab

SETUP = """
import json, time, torch
from ipywidgets.widgets.widget import _remove_buffers
from torch import nn
from nf_widget import FlowWidget

class Net(nn.Module):
    \"\"\"Ten convolutions over a photograph: twelve stages with input and output.\"\"\"
    def __init__(self):
        super().__init__()
        widths = (3, 32, 32, 48, 48, 64, 64, 96, 96, 128)
        self.convs = nn.ModuleList(
            nn.Conv2d(a, b, 3, stride=1 + i % 2, padding=1) for i, (a, b) in enumerate(zip(widths, widths[1:]))
        )
        self.head = nn.Linear(128, 10)
    def forward(self, x):
        for conv in self.convs:
            x = conv(x).relu()
        return self.head(x.mean((2, 3)))

torch.manual_seed(0)
model = Net().eval()
x = torch.rand(1, 3, 256, 256)
times = []
for _ in range(12):
    start = time.perf_counter()
    with torch.no_grad():
        model(x)
    times.append(time.perf_counter() - start)
forward = sorted(times)[6]
"""
CALL = """
called = time.time()
w = FlowWidget(model, x, layers=[f"convs.{i}" for i in range(9)] + ["head"])
made = time.time()
w
"""

PAINTED = """() => new Promise((resolve) => {
  const look = () => {
    if (document.querySelector(".nf-stage image") === null) return requestAnimationFrame(look);
    // The frame after the one in which it is there has been painted.
    requestAnimationFrame(() => resolve(Date.now()));
  };
  look();
})"""

# Another channel of the stage: its cell in the grid is clicked, and its plate must hold exact values.
SHARP = """(item) => new Promise((resolve) => {
  const root = document.querySelector(".nf-inspector");
  const cell = [...root.querySelectorAll(".nf-i-cell")][item];
  const start = performance.now();
  cell.click();
  const look = () => {
    const plate = root.querySelector(".nf-i-plate canvas");
    const chosen = cell.getAttribute("aria-selected") === "true";
    if (chosen && plate?.hasAttribute("data-exact")) resolve(performance.now() - start);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""

STATE = """
state = w.get_state()
bundle = sum(len(state.pop(name)) for name in ("_esm", "_css"))
left, _, buffers = _remove_buffers(state)
size = len(json.dumps(left)) + sum(map(len, buffers))
print(json.dumps([len(w.flow.graph.stages), size, bundle, forward * 1000, called, made]))
"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        serve(Path(home), Path(home) / "log.txt") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.ARGUMENTS))
        rows = [_opened(Lab(browser.new_page(), Path(home), server)) for _ in range(3)]
        browser.close()
    found = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    for name, figure in found.items():
        print(f"  {name:<56}{figure:>12,.0f}")
    print(json.dumps({name: round(figure, 1) for name, figure in found.items()}))


def _opened(lab: Lab) -> dict[str, float]:
    lab.open(SETUP, CALL)
    lab.run(SETUP)
    lab.page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 1 }")
    lab.page.evaluate("() => void jupyterapp.commands.execute('notebook:run-cell')")
    painted = lab.page.evaluate(PAINTED)
    time.sleep(1)
    stages, state, bundle, forward, called, made = json.loads(lab.run(STATE))
    lab.stage("convs.4").click()
    lab.inspector.locator(".nf-i-plate [data-exact]").first.wait_for()
    time.sleep(1)
    clicks = sorted(lab.page.evaluate(SHARP, item) for item in range(1, 16))
    lab.shut_down()
    lab.page.close()
    return {
        "forward, ms": forward,
        "call, ms": 1000 * (made - called),
        "call to first paint, ms": painted - 1000 * called,
        "first paint beyond 2.2 forwards, ms": painted - 1000 * called - 2.2 * forward,
        "stages": stages,
        "state without the front end, bytes": state,
        "front end, bytes": bundle,
        "click to exact values, median ms": statistics.median(clicks),
        "click to exact values, 95th percentile ms": clicks[math.ceil(0.95 * len(clicks)) - 1],
    }


if __name__ == "__main__":
    main()
