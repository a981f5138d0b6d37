"""Figures of one tool on one model, in a process of its own: `python -m benchmarks.suite.measure TOOL MODEL`."""

from __future__ import annotations

import ctypes
import gc
import json
import math
import re
import statistics
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from nf_widget import trace

from .models import Case, build
from .tools import TOOLS, Job

# Seconds of processor time for the rounds of one figure, and how many there are at least and at most.
BUDGET, FEWEST, MOST = 1.5, 5, 25
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True)
class Times:
    """Medians over `rounds` in which a forward and the job took turns. Milliseconds of processor and of wall time;
    `ratio` and `wall_ratio` are job / forward, the median of each round's own."""

    forward_ms: float
    job_ms: float
    ratio: float
    wall_forward_ms: float
    wall_job_ms: float
    wall_ratio: float
    rounds: int


@dataclass(slots=True)
class Row:
    """`times` by figure; `errors` by the figure that failed. Bytes at the height of a job above what was there before,
    less those of a plain forward (`extra_bytes`, None where the system does not tell); `shown_bytes` is the size of
    the activations that we show of this model."""

    tool: str
    model: str
    times: dict[str, Times] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    extra_bytes: int | None = None
    shown_bytes: int | None = None


def measure(tool: str, model: str) -> Row:
    row = Row(tool, model)
    case = build(model)

    def forward() -> None:
        case.model(*case.args)

    forward()
    try:
        jobs = TOOLS[tool].jobs(case)
    except Exception as error:  # noqa: BLE001 - a failure of any kind is a row
        row.errors["trace"] = _words(error)
        return row
    for figure, job in jobs.items():
        try:
            job(), job()
            if figure == "trace":
                row.extra_bytes = _extra_bytes(forward, job)
            row.times[figure] = _times(forward, job)
        except Exception as error:  # noqa: BLE001 - as above
            row.errors[figure] = _words(error)
    if tool == "nf_widget":
        row.shown_bytes = _shown_bytes(case)
    return row


def _times(forward: Job, job: Job) -> Times:
    start = time.process_time()
    forward(), job()
    rounds = min(max(math.ceil(BUDGET / (time.process_time() - start)), FEWEST), MOST)
    pairs = [(_seconds(forward), _seconds(job)) for _ in range(rounds)]
    cpu = [(plain[0] * 1e3, own[0] * 1e3) for plain, own in pairs]
    wall = [(plain[1] * 1e3, own[1] * 1e3) for plain, own in pairs]
    return Times(*_medians(cpu), *_medians(wall), rounds)


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float, float]:
    plain, own = zip(*pairs, strict=True)
    return (
        round(statistics.median(plain), 3),
        round(statistics.median(own), 3),
        round(statistics.median(b / a for a, b in pairs), 3),
    )


def _seconds(job: Job) -> tuple[float, float]:
    """(processor, wall) time of one run, without the time that dropping its result takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    kept = job()
    took = time.process_time() - cpu, time.perf_counter() - wall
    del kept
    return took


def _extra_bytes(forward: Job, job: Job) -> int | None:
    if not _CLEAR.exists():
        return None
    # The allocator leaves now more, now less behind.
    heights = [(_height(forward), _height(job)) for _ in range(3)]
    plain, own = (statistics.median(each) for each in zip(*heights, strict=True))
    return max(0, int(own - plain))


def _height(job: Job) -> int:
    """Bytes at the process's high-water mark during a run, above what was resident before."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    _CLEAR.write_text("5")
    before = _resident("VmRSS")
    kept = job()
    height = _resident("VmHWM") - before
    del kept
    return height


def _resident(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", _STATUS.read_text())
    return int(found[1]) * 1024 if found else 0


def _shown_bytes(case: Case) -> int:
    specs = [leaf.spec for stage in trace(case.model, case.args).graph.stages for leaf in stage.leaves]
    return sum(math.prod(spec.shape) * getattr(torch, spec.dtype).itemsize for spec in specs)


def _words(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:160]}"


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with torch.no_grad():
        print(json.dumps(asdict(measure(sys.argv[1], sys.argv[2]))))


if __name__ == "__main__":
    main()
