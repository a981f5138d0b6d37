"""A stage graph as text: what remains where no widget can be shown."""

from __future__ import annotations

from collections import defaultdict

from ..records import Edge, Stage, StageGraph, TensorSpec, Trace


def table(graph: StageGraph, trace: Trace) -> str:
    """One line per stage: name, type, shape, parameters, and what flows into it and how."""
    incoming: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        incoming[edge.target].append(edge)
    rows = [
        ("stage", "type", "shape", "parameters", "from"),
        *(_row(stage, incoming[stage.id]) for stage in graph.stages),
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "-" * max(len(line) for line in lines))
    counts = f"{len(graph.stages)} stages, {len(graph.edges)} edges ({graph.topology})"
    head = f"{trace.model_name}: {counts}, {trace.parameter_count:,} parameters"
    notes = [f"note: {note.text}" for note in graph.notes]
    if trace.failure is not None:
        notes.append(f"stopped: {trace.failure.error_type}: {trace.failure.message}")
    return "\n".join([head, "", *lines, *([""] if notes else []), *notes])


def _row(stage: Stage, incoming: list[Edge]) -> tuple[str, ...]:
    return (
        stage.id if stage.label in (stage.id, stage.path) else f"{stage.id} ({stage.label})",
        " ".join(part for part in (stage.type_name, stage.detail) if part),
        ", ".join(shape_text(leaf.spec) for leaf in stage.leaves[:3]) or "-",
        f"{stage.parameter_count:,}" if stage.kind == "call" else "",
        "; ".join(edge_text(edge) for edge in incoming),
    )


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
    return "  ".join([*padded, row[-1]]).rstrip()


def shape_text(spec: TensorSpec) -> str:
    """`1×3×224×224`, with the dtype where it is not float32."""
    shape = "×".join(map(str, spec.shape)) or "scalar"
    return shape if spec.dtype == "float32" else f"{shape} {spec.dtype}"


def edge_text(edge: Edge) -> str:
    """`enc1 (skip, cat)`."""
    marks = [mark for mark in (edge.kind if edge.kind != "main" else "", _via(edge), edge.evidence) if mark]
    if marks and marks[-1] == "traced":
        marks.pop()
    return f"{edge.source} ({', '.join(marks)})" if marks else edge.source


def _via(edge: Edge) -> str:
    names = list(dict.fromkeys(edge.via))
    return " ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"
