"""The ops of a symbolic forward as they are written down, and what the real one had at the same place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from nf_widget.records import CallId, Evidence, Op, OpId, OpKind, TensorSpec, Trace

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
    """The ops of the real forward in each call, in order. They tell shapes, and whether a function that may give its
    operand itself did so: then there was no such op at this place."""

    def __init__(self, trace: Trace) -> None:
        untraced = any(note.kind == "untraced" for note in trace.notes)
        self._known = bool(trace.ops) and not untraced
        self._ops: dict[CallId | None, list[Op]] = defaultdict(list)
        self._place: dict[CallId | None, int] = defaultdict(int)
        for op in trace.ops:
            if op.kind != "identity":
                self._ops[op.call].append(op)

    def silent(self, name: str, call: CallId | None) -> bool:
        """Whether the next op of `call` is another one. Ops on constants are passed over: symbols leave them out."""
        if not self._known:
            return False
        following = self._ops[call][self._place[call] :]
        return next((op.name for op in following if op.parents or op.name == name), None) != name

    def next(self, name: str, call: CallId | None) -> Op | None:
        """The next op of this name in `call`, which is passed by with all before it."""
        ops = self._ops[call]
        for place in range(self._place[call], len(ops)):
            if ops[place].name == name:
                self._place[call] = place + 1
                return ops[place]
        return None


def sources(read: Iterable[Value]) -> tuple[OpId, ...]:
    """Ops that these values come from, oldest first."""
    return tuple(sorted({op for value in read for op in value.sources()}))


class _Overheard(TorchFunctionMode):
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
