"""The slider dragged by the mouse over a slow model, and what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from playwright.sync_api import Locator, expect

from browser.lab import Lab

FORWARD = 0.3
FRAMES = 200
DRAG = 5.0
# One entry a forward: when, of which frame, and how many pieces of work waited then.
CELL = f"""
import time, torch
from torch import nn
from nf_widget import FlowWidget

ran, shown, asked = [], [], []

class Slow(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))

    def forward(self, x):
        queued = w._main.queued if "w" in globals() else 0
        ran.append((time.time(), round(x.max().item()), queued))
        time.sleep({FORWARD})
        return self.head(self.stem(x))

w = FlowWidget(Slow(), frames=lambda i: torch.linspace(0, i, 256).reshape(1, 1, 16, 16), frame_count={FRAMES})
w.observe(lambda change: shown.append((time.time(), change.new["frame"])), "overview")
w.observe(lambda change: asked.append(change.new), "frame")
w
"""


@dataclass(frozen=True, slots=True)
class Drag:
    """Of a drag from the first frame to `chosen`: `forwards` and frames `shown` before the mouse was released after
    `seconds`; `late` forwards and `wait` seconds from there to the pictures of `chosen`; `asked`, the frames that the
    kernel was asked for; `queue`, the most pieces of work that waited at a forward; `after`, frames run later."""

    chosen: int
    seconds: float
    forwards: int
    shown: int
    asked: int
    late: int
    wait: float
    queue: int
    after: frozenset[int]


def slider(lab: Lab) -> Locator:
    return lab.page.locator(".nf-slider input[type=range]")


def settled(lab: Lab, frame: int, count: int) -> None:
    """The slider is at `frame`, and the pictures are its own."""
    expect(lab.page.locator(".nf-s-place")).to_have_text(f"frame {frame + 1} of {count}")
    expect(lab.page.locator(".nf-s-marker:not([data-waiting])")).to_have_count(1, timeout=60_000)
    expect(lab.page.locator(".nf-widget")).to_have_attribute("data-state", "idle", timeout=60_000)
    assert lab.value("[w.frame, w.overview['frame']]") == [frame, frame]


def drag(lab: Lab) -> Drag:
    """`CELL` has run. Drags for `DRAG` seconds over nine tenths of the slider."""
    box = slider(lab).bounding_box()
    assert box is not None
    mouse, middle = lab.page.mouse, box["y"] + box["height"] / 2
    lab.run("ran.clear(), shown.clear(), asked.clear()")
    mouse.move(box["x"] + 4, middle)
    mouse.down()
    start = time.time()
    while (part := (time.time() - start) / DRAG) < 1:
        mouse.move(box["x"] + 4 + (0.9 * box["width"] - 4) * part, middle)
    release = time.time()
    mouse.up()
    chosen = int(slider(lab).input_value())
    settled(lab, chosen, FRAMES)
    # Neighbours are prefetched for a while.
    lab.page.wait_for_timeout(1500)
    ran, shown, asked = lab.value("[ran, shown, asked]")
    arrived = next(when for when, frame in shown if frame == chosen)
    return Drag(
        chosen=chosen,
        seconds=release - start,
        forwards=sum(start <= when <= release for when, _, _ in ran),
        shown=sum(when <= release for when, _ in shown),
        asked=len(asked),
        late=sum(release < when <= arrived for when, _, _ in ran),
        wait=max(0.0, arrived - release),
        queue=max(queued for _, _, queued in ran),
        after=frozenset(frame for when, frame, _ in ran if when > arrived),
    )
