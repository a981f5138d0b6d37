"""(model, Trace, Selection) -> StageGraph. Strategies find the edges; the kinds and the boxes are made here."""

from __future__ import annotations

from typing import Literal

from torch import nn

from ..errors import TopologyError, TopologyWarning, warn
from ..records import Edge, Note, Selection, Stage, StageGraph, TopologyName, Trace
from .fx import symbolic_edges
from .kinds import with_kinds
from .runtime import runtime_edges
from .sequential import chained, sequential_edges
from .stages import group_boxes, stage_boxes
from .strategy import Setting, Strategy

TopologyOption = Literal["auto", "runtime", "fx", "sequential"]

STRATEGIES: dict[TopologyName, Strategy] = {
    "runtime": runtime_edges,
    "fx": symbolic_edges,
    "sequential": sequential_edges,
}


def build(
    model: nn.Module,
    trace: Trace,
    selection: Selection,
    *,
    topology: TopologyOption = "auto",
    setting: Setting | None = None,
) -> StageGraph:
    """The stage graph of this cut. Where the strategy cannot work, it is sequential, with a warning and a note.

    `setting` is needed by strategies that run the model again (`"fx"`).
    """
    wanted: TopologyName = "runtime" if topology == "auto" else topology
    notes = [*trace.notes, *selection.notes]
    try:
        edges, used = STRATEGIES[wanted](model, trace, selection, setting), wanted
    except TopologyError as error:
        text = f"{error} The stages are chained in execution order instead."
        warn(text, TopologyWarning)
        notes.append(Note("topology", text))
        edges, used = sequential_edges(model, trace, selection), "sequential"
    stages = stage_boxes(trace, selection)
    dead_ends = _dead_ends(edges, stages)
    edges, orphans = _connected(edges, stages)
    return StageGraph(
        stages=stages,
        edges=with_kinds(tuple(stage.id for stage in stages), edges),
        groups=group_boxes(trace, selection),
        topology=used,
        notes=(*notes, *orphans, *dead_ends),
    )


def _connected(edges: tuple[Edge, ...], stages: tuple[Stage, ...]) -> tuple[tuple[Edge, ...], list[Note]]:
    """Attach what nothing leads to, so that the picture is connected: to the stage that ran before it."""
    reached = {edge.target for edge in edges}
    before = {edge.target: edge.source for edge in chained(stages)}
    added: list[Edge] = []
    notes: list[Note] = []
    for stage in stages:
        if stage.kind == "input" or stage.id in reached or stage.id not in before:
            continue
        added.append(Edge(before[stage.id], stage.id, "main", (), None, "inferred"))
        if stage.kind == "call":
            text = f"{stage.id} reads nothing from another stage (parameters or constants alone); its place is assumed."
        else:
            text = f"No stage was seen to feed {stage.id}; its place is assumed."
        notes.append(Note("source", text, stage.id))
    return (*edges, *added), notes


def _dead_ends(edges: tuple[Edge, ...], stages: tuple[Stage, ...]) -> list[Note]:
    feeding = {edge.source for edge in edges}
    return [
        Note("dead-end", f"Nothing reads {stage.id}: it feeds no other stage and no output.", stage.id)
        for stage in stages
        if stage.kind != "output" and stage.id not in feeding and stage.status == "ok"
    ]


__all__ = ["STRATEGIES", "Setting", "Strategy", "TopologyOption", "build"]
