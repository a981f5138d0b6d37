"""How time grows with ops, modules, stages and tensor size: `python -m benchmarks.suite.curves`.

Writes `benchmarks/curves.json` and `benchmarks/curves.svg`. Processor time of one thread; the least of a few runs.
"""

from __future__ import annotations

import gc
import itertools
import json
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nf_widget import trace
from nf_widget.capture.reducers import reduce
from nf_widget.inputs import normalise
from nf_widget.records import Axes
from nf_widget.session.cuts import first_cut
from nf_widget.session.flow import Flow
from nf_widget.session.options import Options
from nf_widget.session.recording import record_model

from .nets import chain

FOLDER = Path(__file__).resolve().parents[1]
OPS = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 200_000)
MODULES = (30, 100, 300, 1_000, 3_000, 10_000)
STAGES = (1, 4, 16, 64, 256)
SIDES = (8, 16, 32, 64, 128, 256, 512)
_IMAGE = Axes(("batch", "channel", "height", "width"), "image", "")
Curve = dict[str, list[float]]


class Ops(nn.Module):
    """`x: [n]`. So many ops, and no module."""

    def __init__(self, ops: int) -> None:
        super().__init__()
        self.ops = ops

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.ops):
            x = x * 0.5
        return x


def least(job: Callable[[], object], runs: int = 3) -> float:
    """Milliseconds."""
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        kept = job()
        times.append((time.process_time() - start) * 1e3)
        del kept
    return round(min(times), 3)


def by_ops() -> Curve:
    found: Curve = {"size": list(OPS), "forward": [], "trace": []}
    for size in OPS:
        model, x = Ops(size), torch.ones(8)
        found["forward"].append(least(partial(model, x)))
        found["trace"].append(least(partial(trace, model, x)))
    return found


def by_modules() -> Curve:
    found: Curve = {"size": list(MODULES), "forward": [], "metadata pass": [], "cut": [], "trace": []}
    options = Options.of({})
    for size in MODULES:
        model, x = chain(size, 16).eval(), torch.ones(2, 16)
        inputs = normalise(model, x, None)
        recorded = record_model(model, inputs, options)
        found["forward"].append(least(partial(model, x)))
        found["metadata pass"].append(least(partial(record_model, model, inputs, options)))
        found["cut"].append(least(partial(first_cut, model, inputs, recorded, options)))
        found["trace"].append(least(partial(trace, model, x)))
    return found


def by_stages() -> Curve:
    """The capture pass for one more frame of a chain of 512 modules."""
    found: Curve = {"size": list(STAGES), "forward": [], "capture pass": []}
    model, x = chain(512).eval(), torch.ones(8, 64)
    for size in STAGES:
        layers = [str(number * 512 // size) for number in range(size)]
        flow = trace(model, frames=lambda _: x, frame_count=100, layers=layers)
        found["forward"].append(least(partial(model, x)))
        found["capture pass"].append(least(partial(_next_frame, flow, itertools.count(1)), 5))
    return found


def _next_frame(flow: Flow, frames: Iterator[int]) -> None:
    flow.overview(next(frames))


def by_size() -> Curve:
    """Reducing one image of 64 channels, beside the 3 × 3 convolution that makes it."""
    found: Curve = {"size": [64 * side * side for side in SIDES], "convolution": [], "reducing": []}
    conv = nn.Conv2d(64, 64, 3, padding=1)
    for side in SIDES:
        x = torch.rand(1, 64, side, side)
        found["convolution"].append(least(partial(conv, x), 5))
        found["reducing"].append(least(partial(reduce, x, _IMAGE, leaf=""), 5))
    return found


def bytes_per_op(ops: int = 20_000) -> float:
    """Of what is kept of a forward: records of ops and all that they hold."""
    model, x = Ops(ops), torch.ones(8)
    trace(model, x)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    flow = trace(model, x)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return round(size / len(flow.trace.ops), 1)


def draw(curves: dict[str, Curve], path: Path) -> None:
    """Four panels, both axes logarithmic."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "curves"
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for (title, curve), axes in zip(curves.items(), panels.flat, strict=True):
        for name, values in curve.items():
            if name != "size":
                axes.loglog(curve["size"], values, marker="o", markersize=3, label=name)
        axes.set(xlabel=title, ylabel="ms")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with torch.no_grad():
        curves = {"ops": by_ops(), "modules": by_modules(), "stages": by_stages(), "values of a tensor": by_size()}
        found: dict[str, Any] = {"bytes_per_op": bytes_per_op(), "milliseconds": curves}
    (FOLDER / "curves.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(curves, FOLDER / "curves.svg")
    for title, curve in curves.items():
        print(title)
        print(_lines(curve))
    print(f"bytes for an op: {found['bytes_per_op']}")


def _lines(curve: Curve) -> str:
    rows: list[Sequence[object]] = [list(curve), *zip(*curve.values(), strict=True)]
    return "\n".join("".join(f"{cell!s:>16}" for cell in row) for row in rows)


if __name__ == "__main__":
    main()
