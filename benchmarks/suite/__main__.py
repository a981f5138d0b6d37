"""Run the suite: `python -m benchmarks.suite [--tools ...] [--models ...]`.

One process for each tool and model, one thread in each. What is measured takes the place of what was in
`benchmarks/results.json`; the tables are made anew in `benchmarks/results.md` and in the README.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .models import MODELS
from .report import write
from .tools import TOOLS

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results.json"
_LIBRARIES = ("torch", "numpy", "transformers", "monai", "diffusers")
# One run of one tool on one model, at most.
_SECONDS = 600


def main() -> None:
    """Measure what was asked for, one process after the other, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", nargs="*", choices=TOOLS, default=list(TOOLS), metavar="TOOL")
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS), metavar="MODEL")
    asked = parser.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"rows": []}
    results |= {"machine": _machine(), "versions": _versions()}
    for tool in asked.tools:
        for model in asked.models:
            row = _row(tool, model)
            kept = [each for each in results["rows"] if (each["tool"], each["model"]) != (tool, model)]
            results["rows"] = sorted([*kept, row], key=_place)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            ratios = ", ".join(f"{figure} {times['ratio']:.2f}" for figure, times in row["times"].items())
            print(f"{tool:12}{model:30}{ratios or row['errors']}", flush=True)
    write(results, ROOT)


def _row(tool: str, model: str) -> dict[str, Any]:
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "benchmarks.suite.measure", tool, model]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return _failed(tool, model, f"not done after {_SECONDS} s")
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        words = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return _failed(tool, model, words[-1][:200])
    row: dict[str, Any] = json.loads(lines[-1])
    return row


def _failed(tool: str, model: str, why: str) -> dict[str, Any]:
    return {
        "tool": tool, "model": model, "times": {}, "errors": {"trace": why}, "extra_bytes": None, "shown_bytes": None,
    }  # fmt: skip


def _place(row: dict[str, Any]) -> tuple[int, int]:
    return list(MODELS).index(row["model"]), list(TOOLS).index(row["tool"])


def _machine() -> dict[str, Any]:
    names = [line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "threads": 1,
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _versions() -> dict[str, str]:
    found = {}
    for name in (*_LIBRARIES, *(package for tool in TOOLS.values() for package in tool.packages)):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


if __name__ == "__main__":
    main()
