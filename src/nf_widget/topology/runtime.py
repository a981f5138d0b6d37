"""Edges by runtime dataflow: walk back from what each stage receives until another stage is reached."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import nn

from ..errors import TopologyError
from ..records import Edge, Op, OpId, Selection, StageId, TensorSpec, Trace
from .stages import stage_boxes
from .strategy import Setting

_SILENT = frozenset(("identity", "constant", "input"))


def runtime_edges(
    _model: nn.Module, trace: Trace, selection: Selection, _setting: Setting | None = None
) -> tuple[Edge, ...]:
    """Raises `TopologyError` where the trace holds no ops, because the traced forward had to be given up."""
    if not trace.ops or any(note.kind == "untraced" for note in trace.notes):
        raise TopologyError("This model's forward could not be run with the dataflow tracer.")
    walk = _Walk.over(trace, selection)
    boxes = stage_boxes(trace, selection)
    received = _received(trace, walk.owner)
    edges: list[Edge] = []
    for box in boxes:
        if box.kind == "output":
            edges += walk.edges_into(box.id, [op for leaf in box.leaves for op in leaf.ops], ())
        elif box.call is not None:
            arguments = [op for leaf in trace.calls[box.call].inputs for op in leaf.ops]
            traced, assumed = received[box.id]
            edges += walk.edges_into(box.id, [*arguments, *traced], assumed)
        elif box.status == "raised" and trace.failure is not None:
            edges += walk.edges_into(box.id, [op for leaf in trace.failure.operands for op in leaf.ops], ())
    return tuple(edges)


def _received(trace: Trace, owner: list[StageId | None]) -> dict[StageId, tuple[list[OpId], list[OpId]]]:
    """For each stage the parents outside it of its ops: of ops that were seen, and of ops that are assumed."""
    found: dict[StageId, tuple[list[OpId], list[OpId]]] = defaultdict(lambda: ([], []))
    for op in trace.ops:
        stage = owner[op.id]
        if stage is None or op.kind == "input":
            continue
        outside = [parent for parent in op.parents if owner[parent] != stage]
        if outside:
            found[stage][op.evidence == "inferred"].extend(outside)
    return found


@dataclass(frozen=True, slots=True)
class _Walk:
    """`owner[op]` is the stage that an op belongs to, None between stages. For an op between stages, `reach[op]` is
    the bit set of the stages that flow into it through ops between stages; `seen[op]` the same without assumptions."""

    ops: tuple[Op, ...]
    owner: list[StageId | None]
    names: list[StageId]
    bit: dict[StageId, int]
    reach: list[int]
    seen: list[int]
    specs: dict[OpId, TensorSpec]

    @classmethod
    def over(cls, trace: Trace, selection: Selection) -> _Walk:
        boxes = stage_boxes(trace, selection)
        names = [box.id for box in boxes if box.kind != "output"]
        bit = {name: 1 << index for index, name in enumerate(names)}
        by_call = {box.call: box.id for box in boxes if box.call is not None}
        inputs = {leaf.ops[0]: box.id for box in boxes if box.kind == "input" for leaf in box.leaves}
        owner: list[StageId | None] = []
        reach: list[int] = []
        seen: list[int] = []
        for op in trace.ops:
            stage = inputs.get(op.id)
            if stage is None and op.call is not None and op.call in selection.owner:
                stage = by_call[selection.owner[op.call]]
            owner.append(stage)
            all_bits = seen_bits = 0
            if stage is None:
                for parent in op.parents:
                    source = owner[parent]
                    all_bits |= reach[parent] if source is None else bit[source]
                    seen_bits |= seen[parent] if source is None else bit[source]
            reach.append(all_bits)
            seen.append(seen_bits if op.evidence == "traced" else 0)
        specs = {op: leaf.spec for box in boxes if box.kind == "call" for leaf in box.leaves for op in leaf.ops}
        return cls(trace.ops, owner, names, bit, reach, seen, specs)

    def edges_into(self, target: StageId, entries: Iterable[OpId], assumed: Iterable[OpId]) -> list[Edge]:
        entries, assumed = list(entries), list(assumed)
        between, crossing = self._back(target, (*entries, *assumed))
        via = self._via(between, crossing)
        certain = 0
        for op in entries:
            source = self.owner[op]
            certain |= self.seen[op] if source is None else self.bit[source]
        return [
            self._edge(source, target, via[self.bit[source]], ops, certain)
            for source, ops in sorted(crossing.items(), key=lambda item: self.bit[item[0]])
        ]

    def _back(self, target: StageId, entries: tuple[OpId, ...]) -> tuple[list[OpId], dict[StageId, list[OpId]]]:
        """The ops between other stages and `target`, and for each of those stages the ops where its value leaves it."""
        crossing: dict[StageId, list[OpId]] = defaultdict(list)
        visited: set[OpId] = set()
        stack = list(entries)
        while stack:
            op = stack.pop()
            if op in visited:
                continue
            visited.add(op)
            source = self.owner[op]
            if source is not None:
                if source != target:
                    crossing[source].append(op)
            elif self.reach[op]:
                stack.extend(self.ops[op].parents)
        return sorted(op for op in visited if self.owner[op] is None), crossing

    def _via(self, between: list[OpId], crossing: Iterable[StageId]) -> dict[int, list[OpId]]:
        """By the bit of each source: the ops between it and the target, in order. Takes as long as the result is."""
        found: dict[int, list[OpId]] = {self.bit[source]: [] for source in crossing}
        mask = sum(found)
        for op in between:
            bits = 0 if self.ops[op].name in _SILENT else self.reach[op] & mask
            while bits:
                lowest = bits & -bits
                found[lowest].append(op)
                bits ^= lowest
        return found

    def _edge(
        self, source: StageId, target: StageId, via: Sequence[OpId], crossing: Sequence[OpId], certain: int
    ) -> Edge:
        last = max(crossing)
        outputs = self.ops[last].outputs
        return Edge(
            source=source,
            target=target,
            kind="main",
            via=tuple([self.ops[op].name for op in via]),
            spec=self.specs.get(last) or (outputs[0] if outputs else None),
            evidence="traced" if certain & self.bit[source] else "inferred",
            ops=tuple(via),
        )
