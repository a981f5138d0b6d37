"""The vector that a head reads, where it was taken out of a larger tensor: a stage that is no module call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..records import CallId, Edge, Leaf, OpId, Stage, StageGraph, StageId, Trace
from .kinds import with_kinds

_NAME: Final = "representation"
_VECTOR_DIMS = 2


def with_representations(graph: StageGraph, trace: Trace, *, room: int) -> StageGraph:
    """Before each head that reads a vector out of a spatial or token tensor (`x[:, 0]`, a mean), the vector itself.

    A head leads to outputs alone. What led to it leads to the vector. No more than `room` of them.
    """
    vectors = {head.id: _vector(head, graph, trace) for head in _heads(graph)}
    found = {head: leaf for head, leaf in vectors.items() if leaf is not None}
    if not found:
        return graph
    names = _names(found, graph)
    if len(set(names.values())) > room:
        return graph
    stages: list[Stage] = []
    shown: set[StageId] = set()
    for stage in graph.stages:
        name = names.get(stage.id)
        if name is not None and name not in shown:
            shown.add(name)
            stages.append(_representation(name, stage, found[stage.id]))
        stages.append(stage)
    into = {(edge.source, names.get(edge.target, edge.target)): edge for edge in reversed(graph.edges)}
    edges = [replace(edge, target=target) for (_, target), edge in reversed(into.items())]
    edges += [Edge(names[head], head, "main", (), vector.spec) for head, vector in found.items()]
    return replace(
        graph,
        stages=tuple(replace(stage, order=order) for order, stage in enumerate(stages)),
        edges=with_kinds([stage.id for stage in stages], edges),
    )


def _heads(graph: StageGraph) -> list[Stage]:
    outputs = {stage.id for stage in graph.stages if stage.kind == "output"}
    leading_on = {edge.source for edge in graph.edges if edge.target not in outputs}
    leading_out = {edge.source for edge in graph.edges} - leading_on
    return [
        stage
        for stage in graph.stages
        if stage.id in leading_out
        and stage.kind == "call"
        and stage.status == "ok"
        and not stage.type_name.endswith("ScriptModule")
    ]


def _vector(head: Stage, graph: StageGraph, trace: Trace) -> Leaf | None:
    """The only tensor that the head is given, if it is a vector for each sample and a part or a reduction of what leads
    there."""
    received = trace.calls[_call(head)].inputs
    if len(received) != 1 or len(received[0].spec.shape) != _VECTOR_DIMS:
        return None
    size = math.prod(received[0].spec.shape)
    into = [edge for edge in graph.edges if edge.target == head.id]
    taken = [
        edge.spec is not None and len(edge.spec.shape) > _VECTOR_DIMS and math.prod(edge.spec.shape) > size
        for edge in into
    ]
    traced = all(edge.evidence == "traced" and edge.via for edge in into)
    return received[0] if taken and all(taken) and traced and size > 0 else None


def _call(head: Stage) -> CallId:
    if head.call is None:
        raise ValueError(f"{head.id} is no module call")
    return head.call


def _names(vectors: Mapping[StageId, Leaf], graph: StageGraph) -> dict[StageId, StageId]:
    """By head. Heads that read the same vector share it."""
    first: dict[tuple[OpId, ...], StageId] = {}
    for head, vector in vectors.items():
        first.setdefault(vector.ops, head)
    plain = len(first) == 1 and all(stage.id != _NAME for stage in graph.stages)
    return {head: StageId(_NAME if plain else f"{_NAME}:{first[vector.ops]}") for head, vector in vectors.items()}


def _representation(name: StageId, head: Stage, vector: Leaf) -> Stage:
    leaf = replace(vector, path="")
    return Stage(name, _NAME, "", str(name), "vector", None, (leaf,), 0, head.order, group=head.group, reads=head.call)
