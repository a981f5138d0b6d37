"""The ops of a symbolic forward as they are written down, and what the real one had at the same place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any

import torch
from torch import Tensor

from nf_widget.records import CallId, Evidence, Op, OpId, OpKind, TensorSpec, Trace
from nf_widget.running import PassMode

from .aliases import Value


@dataclass(slots=True)
class Ledger:
    """The ops so far."""

    ops: list[Op] = field(default_factory=list)

    def op(
        self,
        name: str,
        call: CallId | None,
        parents: tuple[OpId, ...],
        *,
        kind: OpKind = "call",
        outputs: tuple[TensorSpec, ...] = (),
        evidence: Evidence = "traced",
    ) -> OpId:
        made = Op(OpId(len(self.ops)), name, kind, call, parents, outputs, evidence=evidence)
        self.ops.append(made)
        return made.id


class Heard:
    """The ops of the real forward in each call, in order. They tell shapes, whether a function that may give its
    operand itself did so (then there was no such op at this place), and whether the symbolic forward went another way.
    """

    def __init__(self, trace: Trace) -> None:
        untraced = any(note.kind == "untraced" for note in trace.notes)
        self._known = bool(trace.ops) and not untraced
        self._ops: dict[CallId | None, list[Op]] = defaultdict(list)
        self._place: dict[CallId | None, int] = defaultdict(int)
        self._live = _live(trace.ops)
        self._first_write = min((op.id for op in trace.ops if op.kind == "write"), default=len(trace.ops))
        self._passed_over: list[Op] = []
        self._unheard: list[tuple[str, CallId | None]] = []
        for op in trace.ops:
            if op.kind != "identity":
                self._ops[op.call].append(op)

    def silent(self, name: str, call: CallId | None) -> bool:
        """Whether the next op of `call` is another one. Ops on constants are passed over: symbols leave them out."""
        if not self._known:
            return False
        following = self._ops[call][self._place[call] :]
        return next((op.name for op in following if op.id in self._live or op.name == name), None) != name

    def next(self, name: str, call: CallId | None) -> Op | None:
        """The next op of this name in `call`, which is passed by with all before it."""
        ops, start = self._ops[call], self._place[call]
        for place in range(start, len(ops)):
            if ops[place].name == name:
                self._passed_over += ops[start:place]
                self._place[call] = place + 1
                return ops[place]
        self._unheard.append((name, call))
        return None

    def pieces(self, first: Op | None, name: str, call: CallId | None, count: int | None) -> int | None:
        """How many pieces of a division have an op of their own; None where all have `first`. At most `count`."""
        if first is None or first.id < self._first_write or len(first.outputs) != 1:
            return None
        following = self._ops[call][self._place[call] :]
        run = 1 + sum(1 for _ in takewhile(lambda op: op.name == name, following))
        return run if count is None else min(run, count)

    def other_way(self, calls: Collection[CallId]) -> tuple[str, CallId | None] | None:
        """An op that one forward had in one of these `calls`, and the other had not: its name, its call.

        Where code cannot be seen into, no more can be told.
        """
        if not self._known:
            return None
        opaque = {op.call for ops in self._ops.values() for op in ops if op.kind == "opaque"}
        left = [op for call, ops in self._ops.items() for op in ops[self._place[call] :]]
        missing = [(op.name, op.call) for op in (*self._passed_over, *left) if op.id in self._live]
        found = (entry for entry in (*missing, *self._unheard) if entry[1] in calls and entry[1] not in opaque)
        return next(found, None)


def _live(ops: tuple[Op, ...]) -> frozenset[OpId]:
    """The ops that an input flows into."""
    live: set[OpId] = set()
    for op in ops:
        if op.kind == "input" or not live.isdisjoint(op.parents):
            live.add(op.id)
    return frozenset(live)


def sources(read: Iterable[Value]) -> tuple[OpId, ...]:
    """Ops that these values come from, oldest first."""
    return tuple(sorted({op for value in read for op in value.sources()}))


class _Overheard(PassMode):
    """Notes which function an operator turns into, and does not run it."""

    def __init__(self) -> None:
        super().__init__()
        self.name = ""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.name = func.__name__
        return next(arg for arg in args if isinstance(arg, Tensor))


@cache
def operator_name(target: Callable[..., Any], tensors: tuple[bool, ...]) -> str:
    """The function that a Python operator calls. `tensors[i]`: whether its operand `i` is a tensor, else a number.

    `truediv` is `div`, `1 - x` is `__rsub__`; which it is depends on the version of torch, so torch is asked.
    """
    operands = [torch.ones(1, dtype=torch.int64, device="cpu") if tensor else 2 for tensor in tensors]
    with _Overheard() as overheard:
        target(*operands)
    return overheard.name or str(getattr(target, "__name__", "")).strip("_")
