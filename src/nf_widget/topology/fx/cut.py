"""Which calls `torch.fx` looks into."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import nn

from nf_widget.functions import DIVIDES, MAY_COPY, OVERWRITE, PARTS, PERMUTES, RESHAPES, SHOWS
from nf_widget.records import CallId, Op, OpId, Selection, Trace
from nf_widget.running import named_modules

_VIEWS = SHOWS | RESHAPES | PERMUTES | PARTS | DIVIDES | MAY_COPY | {"getitem"}
# Writes that do not read what they write to: the target is not among their parents.
_BLIND = OVERWRITE | {"setitem"}
_TORCH = ("torch.nn", "torch.ao.nn")


@dataclass(frozen=True, slots=True)
class Cut:
    """`leaves` are not looked into; `opened` are stages that are. `visible[path]` are the calls outside leaves."""

    leaves: frozenset[CallId]
    opened: frozenset[CallId]
    visible: Mapping[str, tuple[CallId, ...]]

    @classmethod
    def of(cls, model: nn.Module, trace: Trace, selection: Selection) -> Cut:
        """Stages are leaves, except those that values enter or leave on other ways than by arguments and result. So
        are torch's own modules with no stage inside."""
        modules = dict(named_modules(model))
        opened = frozenset(
            stage for stage in _with_side_ways(trace, selection) if _may_share(modules[trace.calls[stage].path])
        )
        above = {ancestor for stage in selection.stages for ancestor in _ancestors(trace, stage)}
        leaves: set[CallId] = set()
        hidden: set[CallId] = set()
        visible: dict[str, list[CallId]] = defaultdict(list)
        for call in trace.calls:
            if call.parent in leaves or call.parent in hidden:
                hidden.add(call.id)
                continue
            visible[call.path].append(call.id)
            stage = call.id in selection.stages
            if (stage and call.id not in opened) or (
                not stage and call.id not in above and is_torchs(modules[call.path])
            ):
                leaves.add(call.id)
        return cls(frozenset(leaves), opened, {path: tuple(calls) for path, calls in visible.items()})

    def order(self) -> tuple[CallId, ...]:
        """The visible calls as they ran."""
        return tuple(sorted(call for calls in self.visible.values() for call in calls))


def is_torchs(module: nn.Module) -> bool:
    """Whether `torch.fx` would not look into this module: torch's own, or compiled."""
    own = type(module).__module__.startswith(_TORCH) and not isinstance(module, nn.Sequential)
    return own or isinstance(module, torch.jit.ScriptModule)


def _may_share(module: nn.Module) -> bool:
    """Whether a stage can be looked into, and there is reason to: torch's own layers make tensors of their own."""
    layer = is_torchs(module) and next(module.parameters(), None) is not None
    return not layer and not isinstance(module, torch.jit.ScriptModule)


def _with_side_ways(trace: Trace, selection: Selection) -> frozenset[CallId]:
    """Stages that read what they were not given (attributes, closures), that others read what they did not give out
    of, and that may share memory with an argument that is written to, by themselves or later."""
    given: dict[CallId, set[OpId]] = {}
    gave: dict[CallId, set[OpId]] = {}
    for stage in selection.stages:
        call = trace.calls[stage]
        given[stage] = {op for leaf in call.inputs for op in leaf.ops}
        gave[stage] = {op for leaf in call.outputs for op in leaf.ops}
    owner = [None if op.call is None else selection.owner.get(op.call) for op in trace.ops]
    found: set[CallId] = set()
    for read, reader in _reads(trace, selection, owner):
        source = owner[read]
        if source == reader:
            continue
        if source is not None and read not in gave[source]:
            found.add(source)
        if reader is not None and read not in given[reader]:
            found.add(reader)
    family = _families(trace.ops)
    writes = [op for op in trace.ops if op.kind == "write"]
    for stage in selection.stages:
        near = {family[op] for op in given[stage] | gave[stage]}
        shows = any(trace.ops[op].name in _VIEWS for op in gave[stage])
        for op in writes:
            own = owner[op.id] == stage and op.parents and given[stage].issuperset(op.parents)
            later = shows and op.id > max(gave[stage]) and (family[op.id] in near or op.name in _BLIND)
            if own or later:
                found.add(stage)
    return frozenset(found)


def _families(ops: tuple[Op, ...]) -> list[OpId]:
    """For each op the first of those whose results may share memory with its own: views, and what is written to."""
    family = [op.id for op in ops]

    def first(op: OpId) -> OpId:
        while family[op] != op:
            family[op] = op = family[family[op]]
        return op

    for op in ops:
        if op.kind in ("write", "identity") or op.name in _VIEWS:
            for parent in op.parents:
                one, other = sorted((first(op.id), first(parent)))
                family[other] = one
    return [first(op.id) for op in ops]


def _reads(trace: Trace, selection: Selection, owner: list[CallId | None]) -> Iterator[tuple[OpId, CallId | None]]:
    """(op, the stage that reads its result, None between stages)."""
    for op in trace.ops:
        for parent in op.parents:
            yield parent, owner[op.id]
    for stage in selection.stages:
        for leaf in trace.calls[stage].inputs:
            for read in leaf.ops:
                yield read, stage
    for leaf in trace.outputs:
        for read in leaf.ops:
            yield read, None


def _ancestors(trace: Trace, call: CallId) -> list[CallId]:
    found = []
    parent = trace.calls[call].parent
    while parent is not None:
        found.append(parent)
        parent = trace.calls[parent].parent
    return found
