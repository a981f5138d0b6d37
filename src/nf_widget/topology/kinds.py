"""Which edge into a stage is the main one, which skip, which merge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from ..records import Edge, EdgeKind, StageId


def with_kinds(order: Sequence[StageId], edges: Sequence[Edge]) -> tuple[Edge, ...]:
    """Edges sorted by target, then source, each with its kind. `order` lists the stages as they ran.

    Main comes from the source with the most ancestors (ties: the one that ran last); another source is a skip when
    it is an ancestor of the main source, else a merge.
    """
    place = {name: index for index, name in enumerate(order)}
    incoming: dict[StageId, list[Edge]] = defaultdict(list)
    for edge in edges:
        incoming[edge.target].append(edge)
    ancestors: dict[StageId, int] = {}
    found: list[Edge] = []
    for name in order:
        # A source that started later has no ancestors yet: only threads can make it one.
        into = sorted(incoming[name], key=lambda edge: place[edge.source])
        mask = 0
        for edge in into:
            mask |= ancestors.get(edge.source, 0) | 1 << place[edge.source]
        ancestors[name] = mask
        if not into:
            continue
        main = max(into, key=lambda edge: (ancestors.get(edge.source, 0).bit_count(), place[edge.source]))
        found += [replace(edge, kind=_kind(edge, main, ancestors, place)) for edge in into]
    return tuple(found)


def _kind(edge: Edge, main: Edge, ancestors: dict[StageId, int], place: dict[StageId, int]) -> EdgeKind:
    if edge is main:
        return "main"
    return "skip" if ancestors.get(main.source, 0) >> place[edge.source] & 1 else "merge"
