"""The book that the metadata pass writes: calls, ops, and where each tensor came from."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from ..nested import reachable
from ..records import CallId, Evidence, Leaf, ModuleCall, Op, OpId, OpKind, TensorSpec
from .storage import Provenance


@dataclass(slots=True)
class OpenCall:
    """A call under way. `first_op` is the id that the next op had when it started."""

    id: CallId
    path: str
    index: int
    type_name: str
    parent: CallId | None
    parameter_count: int
    detail: str
    first_op: int
    inputs: tuple[Leaf, ...] = ()
    outputs: tuple[Leaf, ...] = ()
    received: frozenset[int] = frozenset()
    finished: bool = False

    def closed(self) -> ModuleCall:
        return ModuleCall(
            id=self.id,
            path=self.path,
            index=self.index,
            type_name=self.type_name,
            parent=self.parent,
            inputs=self.inputs,
            outputs=self.outputs,
            parameter_count=self.parameter_count,
            finished=self.finished,
            detail=self.detail,
        )


@dataclass(slots=True)
class _Entry:
    name: str
    kind: OpKind
    call: CallId | None
    parents: tuple[OpId, ...]
    outputs: tuple[TensorSpec, ...]
    detail: str
    evidence: Evidence


@dataclass(slots=True)
class Book:
    calls: list[OpenCall] = field(default_factory=list)
    stack: list[OpenCall] = field(default_factory=list)
    provenance: Provenance = field(default_factory=Provenance)
    _entries: list[_Entry] = field(default_factory=list)
    _specs: dict[tuple[Any, ...], TensorSpec] = field(default_factory=dict)
    _exits: dict[CallId | None, list[OpId]] = field(default_factory=lambda: defaultdict(list))
    _suspects: list[tuple[weakref.ref[Tensor], OpId]] = field(default_factory=list)

    @property
    def next_op(self) -> int:
        return len(self._entries)

    def op(
        self,
        name: str,
        kind: OpKind,
        parents: tuple[OpId, ...],
        made: Sequence[Tensor],
        detail: str = "",
        evidence: Evidence = "traced",
    ) -> OpId:
        """Write one op down, as of the innermost open call. Returns its id."""
        call = self.stack[-1].id if self.stack else None
        self._entries.append(
            _Entry(name, kind, call, parents, tuple(self.spec(t) for t in made), detail, evidence)
        )
        return OpId(len(self._entries) - 1)

    def sources(self, tensors: Iterable[Tensor]) -> tuple[OpId, ...]:
        """Ops that the values of `tensors` come from, without repetition, oldest first."""
        found: list[OpId] = []
        for tensor in tensors:
            known = self.provenance.sources(tensor)
            found += self._appeared(tensor) if known is None else known
        return tuple(found) if len(found) < 2 else tuple(sorted(set(found)))

    def leaves(self, value: Any) -> tuple[Leaf, ...]:
        """Every tensor in `value`, also in the attributes of objects, with its spec and sources."""
        return tuple(Leaf(path, self.spec(t), self.sources((t,))) for path, t in reachable(value))

    def exit(self, operands: Iterable[Tensor]) -> None:
        """Values of `operands` became Python or NumPy values in the innermost call."""
        self._exits[self._here()] += self.sources(operands)

    def exits(self) -> tuple[OpId, ...]:
        """What left tensor-land in the innermost call so far."""
        return tuple(sorted(set(self._exits.get(self._here(), ()))))

    def spec(self, tensor: Tensor) -> TensorSpec:
        key = (tensor.shape, tensor.dtype, tensor.device) if not tensor.is_nested else ("nested", tensor.dtype)
        spec = self._specs.get(key)
        if spec is None:
            shape = tuple(int(n) for n in tensor.shape) if not tensor.is_nested else (int(tensor.size(0)),)
            spec = TensorSpec(shape, str(tensor.dtype).removeprefix("torch."), str(tensor.device))
            self._specs[key] = spec
        return spec

    def suspects(self) -> list[tuple[weakref.ref[Tensor], OpId]]:
        return self._suspects

    def settle(self) -> None:
        """Call when every tensor of the pass has been let go: a suspect that still lives was there before the pass."""
        for tensor, op in self._suspects:
            if tensor() is not None:
                entry = self._entries[op]
                entry.kind, entry.parents, entry.evidence, entry.name = "constant", (), "traced", "constant"
        self._suspects.clear()
        self.provenance.close()

    def ops(self) -> tuple[Op, ...]:
        return tuple(
            Op(OpId(i), e.name, e.kind, e.call, e.parents, e.outputs, e.detail, e.evidence)
            for i, e in enumerate(self._entries)
        )

    def _here(self) -> CallId | None:
        return self.stack[-1].id if self.stack else None

    def _appeared(self, tensor: Tensor) -> tuple[OpId, ...]:
        """A tensor that no op was seen to make: the innermost call made it, out of what it was given.

        Memory that torch does not own (NumPy's) came through Python, so only what left for Python counts.
        """
        parents = set(self.exits())
        if self.stack and not _is_foreign(tensor):
            parents.update(op for leaf in self.stack[-1].inputs for op in leaf.ops)
        op = self.op(
            "opaque" if not _is_foreign(tensor) else "from_numpy",
            "opaque",
            tuple(sorted(parents)),
            (tensor,),
            evidence="inferred",
        )
        self.provenance.tag(tensor, op)
        self._suspects.append((weakref.ref(tensor), op))
        return (op,)


def _is_foreign(tensor: Tensor) -> bool:
    try:
        return tensor.device.type == "cpu" and not tensor.untyped_storage().resizable()
    except (RuntimeError, NotImplementedError):
        return False
