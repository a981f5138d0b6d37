"""From the suite's JSON to tables: `benchmarks/results.md`, and the short one in the README."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from .tools import TOOLS

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
# Milliseconds of a forward: what a person hardly waits for, and what is long beside our calls.
_MICRO, _LONG = 10.0, 30.0
_PARTS = ("dispatch", "lent", "metadata", "graph", "capture", "trace")
_HEADS = {"graph": "graph", "trace": "with activations"}


def write(results: dict[str, Any], root: Path) -> None:
    """Write `benchmarks/results.md`, and the README's section where it has one."""
    (root / "benchmarks" / "results.md").write_text(report(results), encoding="utf-8")
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8")
    if BEGIN in text:
        before, rest = text.split(BEGIN)
        readme.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def report(results: dict[str, Any]) -> str:
    """The whole report as Markdown."""
    machine, versions = results["machine"], results["versions"]
    tools = "\n".join(f"- **{name}**: {tool.settings}." for name, tool in TOOLS.items())
    failed = [
        f"| {row['model']} | {row['tool']} | {figure} | {_escaped(why)} |"
        for row in results["rows"]
        for figure, why in row["errors"].items()
    ]
    failures = "\n".join(["| model | tool | figure | error |", "|---|---|---|---|", *failed]) if failed else "None."
    return f"""# How long looking takes

Made by `make bench`; the numbers are in `results.json`. Ratios to a plain forward of the same model in the same
process, in eval mode and under `no_grad`: medians over rounds in which a forward and the tool take turns, after a
warm-up. Processor time of one thread, so that other programs on the machine count less; wall times are in the JSON.
One process for each tool and model. Memory is that process's own high-water mark, less that of a plain forward.

{machine["processor"]}, {machine["cores"]} cores, {machine["system"]}, Python {machine["python"]}.
{machine["threads"]} thread; load average at the end {machine["load"]}: what else runs takes caches, and slows small
steps most.
{", ".join(f"{name} {number}" for name, number in versions.items())}.
{results.get("note", "")}

{tools}

{table(results)}

## What `nf_widget` does, in parts

*Dispatch*: a forward with hooks on all modules and a function mode that do nothing: what torch takes to call them, with
which every recorded forward begins. *Lent*: a forward before which the model's state is looked through, and after which
it is put back. *Metadata*: the recorded forward. *Graph*: with the choice of stages and the edges between them.
*Capture*: the pass for one more frame, all summaries made anew. *Trace*: `trace(model, x)` whole. *Memory*: extra bytes
at the height of `trace`, over the bytes of the activations that are shown (small ones: noise of the allocator).

{_parts(results)}

## Failures

{failures}
"""


def table(results: dict[str, Any]) -> str:
    """The table of the README, as Markdown."""
    columns = {
        "graph": ["nf_widget", "torchview", "torchvista", "torchlens"],
        "trace": ["nf_widget", "torchlens"],
    }
    heads = [f"{_HEADS[figure]}: {tool}" for figure, tools in columns.items() for tool in tools]
    lines = [f"| model | forward | {' | '.join(heads)} |", f"|---|---:|{'---:|' * len(heads)}"]
    for model, found in _by_model(results).items():
        cells = [cell for figure, tools in columns.items() for cell in _cells(found, figure, tools)]
        lines.append(f"| {model} | {_milliseconds(_forward(found))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(found: dict[str, dict[str, Any]], figure: str, tools: list[str]) -> list[str]:
    rows = {tool: found[tool] for tool in tools if tool in found}
    ratios = {tool: row["times"][figure]["ratio"] for tool, row in rows.items() if figure in row["times"]}
    best = min(ratios.values(), default=0)
    return [_cell(ratios.get(tool), best=best) if tool in rows else "not run" for tool in tools]


def _cell(ratio: float | None, *, best: float) -> str:
    if ratio is None:
        return "fails"
    text = f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}"
    return f"**{text}**" if ratio == best else text


def _parts(results: dict[str, Any]) -> str:
    lines = [f"| model | forward | {' | '.join(_PARTS)} | memory |", f"|---|{'---:|' * (len(_PARTS) + 2)}"]
    ours = {row["model"]: row for row in results["rows"] if row["tool"] == "nf_widget"}
    for model, row in ours.items():
        ratios = [_ratio(row, figure) for figure in _PARTS]
        extra, shown = row["extra_bytes"], row["shown_bytes"]
        memory = f"{extra / 2**20:.1f} of {shown / 2**20:.1f} MiB" if extra is not None and shown else ""
        lines.append(f"| {model} | {_milliseconds(_forward({'': row}))} | {' | '.join(ratios)} | {memory} |")
    for name, low, high in (("forwards over 30 ms", _LONG, 1e9), ("forwards under 10 ms", 0, _MICRO)):
        some = [row for row in ours.values() if low <= (_forward({"": row}) or -1) <= high]
        medians = [_median(some, figure) for figure in _PARTS]
        lines.append(f"| *median, {name}* | | {' | '.join(medians)} | |")
    return "\n".join(lines)


def _median(rows: list[dict[str, Any]], figure: str) -> str:
    ratios = [row["times"][figure]["ratio"] for row in rows if figure in row["times"]]
    return f"{statistics.median(ratios):.2f}" if ratios else ""


def _ratio(row: dict[str, Any], figure: str) -> str:
    if figure not in row["times"]:
        return "fails" if row["errors"] else "not run"
    return f"{row['times'][figure]['ratio']:.2f}"


def _forward(rows: dict[str, dict[str, Any]]) -> float | None:
    """Milliseconds of a plain forward, the median over the tools' processes."""
    times = [times["forward_ms"] for row in rows.values() for times in row["times"].values()]
    return statistics.median(times) if times else None


def _milliseconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _by_model(results: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in results["rows"]:
        found.setdefault(row["model"], {})[row["tool"]] = row
    return found


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
