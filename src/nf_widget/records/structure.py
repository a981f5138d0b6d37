"""What a forward is made of: calls, ops, stages, edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NewType

CallId = NewType("CallId", int)
"""Index of a module call in `Trace.calls`; calls are numbered in the order in which they start."""
OpId = NewType("OpId", int)
"""Index of an op in `Trace.ops`; a parent's id is smaller than its child's."""
StageId = NewType("StageId", str)

Evidence = Literal["traced", "inferred"]
EdgeKind = Literal["main", "skip", "merge"]
StageKind = Literal["input", "call", "representation", "output"]
TopologyName = Literal["runtime", "fx", "sequential"]
OpKind = Literal["input", "call", "identity", "write", "opaque", "constant"]


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape, dtype (`"float32"`) and device (`"cpu"`, `"cuda:0"`) of a tensor, without its values."""

    shape: tuple[int, ...]
    dtype: str
    device: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor in a (possibly nested) argument or result.

    `path` joins argument name, keys and indices with dots (`"hidden.0"`); it is `""` for a bare tensor.
    `ops` are the ops that its value came from, usually one.
    """

    path: str
    spec: TensorSpec
    ops: tuple[OpId, ...]


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One execution of a module. `index` counts the calls of the same module, from 0."""

    id: CallId
    path: str
    index: int
    type_name: str
    parent: CallId | None
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    parameter_count: int
    finished: bool = True
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Op:
    """One tensor-producing operation. `call` is the innermost module call that it ran in.

    `detail` names the arguments that a reader wants to see (`"dim=1"`). `evidence` is `inferred` when the
    parents had to be assumed.
    """

    id: OpId
    name: str
    kind: OpKind
    call: CallId | None
    parents: tuple[OpId, ...]
    outputs: tuple[TensorSpec, ...]
    detail: str = ""
    evidence: Evidence = "traced"


@dataclass(frozen=True, slots=True)
class Note:
    """Something the reader should know; `kind` is a stable word, `text` a sentence."""

    kind: str
    text: str
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Where a forward stopped: the op or call that raised, and the operands that it got."""

    error_type: str
    message: str
    call: CallId | None
    op_name: str
    operands: tuple[Leaf, ...]
    location: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """The record of one metadata pass. It knows nothing about stages.

    `calls[0]` is the root's call. `inputs` are the leaves of the model's arguments (paths start with the
    argument's name), `outputs` the leaves of its result. `aliases` maps every other name of a shared module
    to its first one; `uncalled` lists the modules (first names) that never ran.
    """

    model_name: str
    calls: tuple[ModuleCall, ...]
    ops: tuple[Op, ...]
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    notes: tuple[Note, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    uncalled: tuple[str, ...] = ()
    parameter_count: int = 0
    failure: Failure | None = None

    @property
    def batch(self) -> int | None:
        """Size of the batch axis, by the first input. 0 where there is none: a lone vector is one sample. None where
        nobody knows, after a lone number."""
        first, *others = (leaf.spec.shape for leaf in self.inputs)
        if len(first) == 1 and not any(len(shape) > 1 and shape[0] == first[0] for shape in others):
            return 0
        return first[0] if first else None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which calls are stages (an antichain, in call order), and which are groups drawn around them.

    `owner[call]` is the stage call that the call lies in (itself for a stage); calls outside every stage are
    missing. `labels` gives the text of a stage where it is not its id; it may name calls that are not shown.
    `expandable` holds the stages that have something inside to show.
    """

    stages: tuple[CallId, ...]
    groups: tuple[CallId, ...]
    owner: Mapping[CallId, CallId]
    labels: Mapping[CallId, str] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[Note, ...] = ()
    expandable: frozenset[CallId] = frozenset()


@dataclass(frozen=True, slots=True)
class Stage:
    """One box of the picture. `leaves` are the tensors that it gives out.

    A representation is no module call but the vector that the call `reads` is given.
    """

    id: StageId
    kind: StageKind
    path: str
    label: str
    type_name: str
    call: CallId | None
    leaves: tuple[Leaf, ...]
    parameter_count: int
    order: int
    group: str = ""
    detail: str = ""
    expandable: bool = False
    status: Literal["ok", "raised", "not-run"] = "ok"
    reads: CallId | None = None

    @property
    def spec(self) -> TensorSpec | None:
        """The first leaf's spec."""
        return self.leaves[0].spec if self.leaves else None


@dataclass(frozen=True, slots=True)
class Edge:
    """A value flows from `source` to `target` without passing through a third stage."""

    source: StageId
    target: StageId
    kind: EdgeKind
    via: tuple[str, ...]
    spec: TensorSpec | None
    evidence: Evidence = "traced"
    ops: tuple[OpId, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """A call that is shown as its children."""

    id: StageId
    label: str
    type_name: str
    parent: str = ""
    call: CallId | None = None


@dataclass(frozen=True, slots=True)
class StageGraph:
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...]
    topology: TopologyName
    notes: tuple[Note, ...] = ()

    def stage(self, name: str) -> Stage:
        """The stage with this id. Raises `KeyError`."""
        for stage in self.stages:
            if stage.id == name:
                return stage
        raise KeyError(name)
