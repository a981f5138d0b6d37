"""Time to reduce an activation, beside that of a convolution which makes one of the same size.

`python benchmarks/reducers.py [threads]` prints a table and JSON. Runs take turns, so that a busy machine slows
both sides alike; the least of each is shown.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from nf_widget.capture.reducers import reduce
from nf_widget.records import Axes

ROUNDS = 30
IMAGE = Axes(("batch", "channel", "height", "width"), "image", "")
CASES: dict[str, tuple[Axes, tuple[int, ...]]] = {
    "image 32x112x112": (IMAGE, (1, 32, 112, 112)),
    "image 24x56x56": (IMAGE, (1, 24, 56, 56)),
    "image 80x14x14": (IMAGE, (1, 80, 14, 14)),
    "image 1280x7x7": (IMAGE, (1, 1280, 7, 7)),
    "image 64x224x224": (IMAGE, (1, 64, 224, 224)),
    "patches 197x768": (Axes(("batch", "token", "feature"), "tokens", "", 1, (14, 14)), (1, 197, 768)),
    "vector 1000": (Axes(("batch", "feature"), "vector", ""), (1, 1000)),
    "volume 8x64x64x64": (Axes(("batch", "channel", "depth", "height", "width"), "volume", ""), (1, 8, 64, 64, 64)),
}


def producer(values: Tensor) -> Callable[[], Tensor]:
    """The 3×3(×3) convolution, or the linear layer, with as many inputs as outputs."""
    generator = torch.Generator().manual_seed(1)
    size, rank = values.shape[1], values.ndim - 2
    if rank == 2:
        weight = torch.randn(size, size, 3, 3, generator=generator)
        return lambda: functional.conv2d(values, weight, padding=1)
    if rank == 3:
        weight = torch.randn(size, size, 3, 3, 3, generator=generator)
        return lambda: functional.conv3d(values, weight, padding=1)
    weight = torch.randn(values.shape[-1], values.shape[-1], generator=generator)
    return lambda: functional.linear(values, weight)


def least(runs: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Milliseconds."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    return best


def measure(axes: Axes, shape: tuple[int, ...]) -> dict[str, float]:
    values = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    half = values.bfloat16()
    runs: dict[str, Callable[[], object]] = {
        "layer": producer(values),
        "reduce": lambda: reduce(values, axes, leaf=""),
        "reduce bfloat16": lambda: reduce(half, axes, leaf=""),
    }
    if len(shape) == 4:
        last = values.to(memory_format=torch.channels_last)
        runs["reduce channels last"] = lambda: reduce(last, axes, leaf="")
    return least(runs)


@torch.no_grad()
def main() -> None:
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else torch.get_num_threads())
    found = {name: measure(axes, shape) for name, (axes, shape) in CASES.items()}
    columns = ("layer", "reduce", "reduce bfloat16", "reduce channels last")
    print(f"{'':<20}" + "".join(f"{column:>22}" for column in columns) + f"{'reduce : layer':>16}")
    for name, times in found.items():
        cells = "".join(f"{times[c]:>19.2f} ms" if c in times else " " * 22 for c in columns)
        print(f"{name:<20}{cells}{times['reduce'] / times['layer']:>16.2f}")
    print(json.dumps({"threads": torch.get_num_threads(), "torch": torch.__version__, "milliseconds": found}))


if __name__ == "__main__":
    main()
