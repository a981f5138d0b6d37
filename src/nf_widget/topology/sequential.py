"""Stages chained in execution order: what is left when dataflow cannot be had."""

from __future__ import annotations

from torch import nn

from ..records import Edge, Selection, Stage, Trace
from .stages import stage_boxes
from .strategy import Setting


def sequential_edges(
    _model: nn.Module, trace: Trace, selection: Selection, _setting: Setting | None = None
) -> tuple[Edge, ...]:
    """Each call from the one before it, the first from the first input, each output from the last call."""
    return chained(stage_boxes(trace, selection))


def chained(boxes: tuple[Stage, ...]) -> tuple[Edge, ...]:
    """The same of boxes that are made already."""
    edges: list[Edge] = []
    last = next((box for box in boxes if box.kind == "input"), None)
    for box in boxes:
        if box.kind == "input" or box.status == "not-run":
            continue
        if last is not None:
            edges.append(Edge(last.id, box.id, "main", (), last.spec, "inferred"))
        if box.kind == "call":
            last = box
    return tuple(edges)
