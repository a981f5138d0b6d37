"""Facts about every call of a trace, found once and in one sweep."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..naming import call_ids
from ..records import CallId, Leaf, ModuleCall, Op, StageId, Trace
from .operations import mixes, resamples
from .shapes import Form, Forms, is_floating, main_leaf

# Known by class where the trace alone cannot tell: fused or compiled ones, and gates that halve their input.
_TRIVIAL_CLASS = re.compile(
    r"\w*(Norm|Norm\dd|BatchNorm\w*|ReLU\d?|RReLU|[CGS]ELU|ELU|SiLU|Swish|GLU|Mish|Sigmoid|Tanh|Softmax\w*|Softplus"
    r"|Softsign|Hardswish|Hardtanh|Threshold|Dropout\w*|DropPath|StochasticDepth|Identity|Flatten|Unflatten|Permute"
    r"|Rearrange|Pad\w*|\w*Shuffle|Observer|QuantStub|DeQuantStub)"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one call: `form` is what it gives out, None without a tensor; `entry` what it was given.

    `live`: what it gives out depends on an input. `mixing` counts the weighted ops and `size` the calls in all of it.
    `branches`: an op of its own brings several values together; `joins`: it concatenates what it was given with
    something.
    """

    form: Form | None
    entry: tuple[Form, ...]
    trivial: bool
    live: bool
    mixing: int
    size: int
    branches: bool
    joins: bool


class Anatomy:
    """`kids[c]`: the calls made by `c`; `inner[c]`: those of them that mean something; `facts[c]`; `ids[c]`.

    `blind`: the trace has calls without the ops in them.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.ids: Mapping[CallId, StageId] = call_ids(trace)
        self.kids: list[list[CallId]] = [[] for _ in trace.calls]
        for call in trace.calls:
            if call.parent is not None:
                self.kids[call.parent].append(call.id)
        # Where the forward ran without the dataflow tracer, ops tell nothing: one call follows another.
        self.blind = not any(op.kind in ("call", "write") for op in trace.ops)
        self.facts: list[Facts] = self._examine()
        self.inner: list[tuple[CallId, ...]] = [
            tuple(kid for kid in kids if self.eligible(kid) and not self.facts[kid].trivial) for kids in self.kids
        ]

    def eligible(self, call: CallId) -> bool:
        """It gives out a tensor; or the forward ended in it."""
        record = self.trace.calls[call]
        return bool(record.outputs) or (self.trace.failure is not None and not record.finished)

    def children(self, call: CallId) -> tuple[CallId, ...]:
        """Its meaningful calls; a single one with several inside gives way to them."""
        inner = self.inner[call]
        while len(inner) == 1 and self.inner[inner[0]]:
            inner = self.inner[inner[0]]
        return inner

    def owners(self, stages: Sequence[CallId]) -> dict[CallId, CallId]:
        """For every call in or under one of `stages`, the nearest of them."""
        chosen = set(stages)
        owner: dict[CallId, CallId] = {}
        for call in self.trace.calls:
            if call.id in chosen:
                owner[call.id] = call.id
            elif call.parent is not None and call.parent in owner:
                owner[call.id] = owner[call.parent]
        return owner

    def _examine(self) -> list[Facts]:
        ops, forms = self.trace.ops, Forms(self.trace)
        live = _depends_on_input(ops)
        own: dict[CallId | None, list[Op]] = defaultdict(list)
        for op in ops:
            own[op.call].append(op)
        facts: dict[CallId, Facts] = {}
        # Children have larger ids than their parent.
        for call in reversed(self.trace.calls):
            kids = [facts[kid] for kid in self.kids[call.id]]
            mine = own[call.id]
            result = main_leaf(call.outputs)
            depends = self.blind or not call.outputs or any(live[op] for leaf in call.outputs for op in leaf.ops)
            constant = call.parent is not None and call.parameter_count == 0 and not depends
            trivial = constant or self._is_trivial(call, kids, mine)
            given = {op for leaf in call.inputs for op in leaf.ops}
            facts[call.id] = Facts(
                form=forms.of(result) if result is not None else None,
                entry=tuple(forms.of(leaf) for leaf in call.inputs if is_floating(leaf)),
                trivial=trivial,
                live=depends,
                mixing=self._mixing(call, mine) * (not trivial) + sum(kid.mixing for kid in kids),
                size=1 + sum(kid.size for kid in kids),
                branches=any(sum(live[parent] for parent in op.parents) > 1 for op in mine),
                joins=any(op.name == "cat" and given.intersection(op.parents) for op in mine),
            )
        return [facts[call.id] for call in self.trace.calls]

    def _mixing(self, call: ModuleCall, mine: list[Op]) -> int:
        if self.blind:
            return int(call.parameter_count > 0 and not self.kids[call.id])
        return sum(mixes(op.name) for op in mine)

    def _is_trivial(self, call: ModuleCall, kids: list[Facts], mine: list[Op]) -> bool:
        """It makes no representation: it only activates, normalises, drops, or moves the axes."""
        if call.parent is None or not call.outputs or not all(kid.trivial for kid in kids):
            return False
        mixing = any(mixes(op.name) for op in mine)
        if _TRIVIAL_CLASS.fullmatch(call.type_name) and not mixing:
            return True
        entry, result = main_leaf(call.inputs), main_leaf(call.outputs)
        same_shape = entry is not None and result is not None and entry.spec.shape == result.spec.shape
        if not self._is_light(call, result):
            return False
        if same_shape:
            return not mixing or call.parameter_count == 0
        return not any(mixes(op.name) or resamples(op.name) or op.kind == "opaque" for op in mine)

    def _is_light(self, call: ModuleCall, result: Leaf | None) -> bool:
        """Apart from what its calls hold, it has at most a scale and a shift for each channel."""
        inside = {self.trace.calls[kid].path: self.trace.calls[kid].parameter_count for kid in self.kids[call.id]}
        widest = max(result.spec.shape, default=1) if result is not None else 1
        return call.parameter_count - sum(inside.values()) <= 2 * widest


def anatomy_of(trace: Trace) -> Anatomy:
    """Found once for the trace that was asked about last."""
    latest = _LATEST[-1] if _LATEST else None
    if latest is None or latest.trace is not trace:
        latest = Anatomy(trace)
        _LATEST.append(latest)
    return latest


_LATEST: deque[Anatomy] = deque(maxlen=1)


def _depends_on_input(ops: Sequence[Op]) -> list[bool]:
    live: list[bool] = []
    for op in ops:
        live.append(op.kind == "input" or any(live[parent] for parent in op.parents))
    return live
