"""The vocabulary: immutable records that one step hands to the next.

record -> select -> connect -> capture -> interpret -> show. No behaviour beyond trivial look-ups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NewType

import numpy as np
import numpy.typing as npt

CallId = NewType("CallId", int)
"""Index of a module call in `Trace.calls`; calls are numbered in the order in which they start."""
OpId = NewType("OpId", int)
"""Index of an op in `Trace.ops`; a parent's id is smaller than its child's."""
StageId = NewType("StageId", str)

Evidence = Literal["traced", "inferred"]
EdgeKind = Literal["main", "skip", "merge"]
StageKind = Literal["input", "call", "output"]
TopologyName = Literal["runtime", "fx", "sequential"]
OpKind = Literal["input", "call", "identity", "write", "opaque", "constant"]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]


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
    """One box of the picture. `leaves` are the tensors that it gives out."""

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


AxisName = Literal[
    "batch", "channel", "depth", "height", "width", "token", "feature", "time", "head", "query", "key", "other"
]
AxesKind = Literal["scalar", "vector", "tokens", "sequence", "image", "volume", "attention", "generic"]


@dataclass(frozen=True, slots=True)
class Axes:
    """What each dimension of a leaf means; `names` has one entry per dimension.

    `special` counts leading tokens that are no patches, `grid` is (rows, columns) of the others, or None.
    """

    names: tuple[AxisName, ...]
    kind: AxesKind
    reason: str
    special: int = 0
    grid: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of one leaf's shown sample. `zeros` and `negatives` are fractions of `count`; `nan` and `inf` are counts.

    `low`, `high`: robust range, 1st and 99th percentile read from the histogram. All floats are over the
    finite values, and NaN when there are none.
    """

    count: int
    minimum: float
    maximum: float
    mean: float
    std: float
    zeros: float
    negatives: float
    nan: int
    inf: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Histogram:
    """64 equal bins over [low, high], finite values only."""

    low: float
    high: float
    counts: Ints


@dataclass(frozen=True, slots=True)
class Ranking:
    """Channels (features of tokens) by `measure`, best first; `scores[i]` belongs to channel `i`."""

    measure: str
    order: Ints
    scores: Floats
    dead: int = 0
    saturated: int = 0


@dataclass(frozen=True, slots=True)
class FeatureMaps:
    """`values: [map, height, width]`, pooled from `size` where `pooled`; `channels[i]` names map `i`."""

    channels: tuple[int, ...]
    values: Floats
    size: tuple[int, int]
    pooled: bool
    kind: Literal["maps"] = "maps"


@dataclass(frozen=True, slots=True)
class Photo:
    """An image input as a person knows it: `values: [height, width, 3]`, 0 to 255."""

    values: npt.NDArray[np.uint8]
    size: tuple[int, int]
    pooled: bool
    kind: Literal["photo"] = "photo"


@dataclass(frozen=True, slots=True)
class VectorStrip:
    """`values: [length]`, pooled from `size`."""

    values: Floats
    size: int
    pooled: bool
    kind: Literal["vector"] = "vector"


@dataclass(frozen=True, slots=True)
class TokenStrip:
    """`values: [token, feature]`, pooled from `size`; `norms: [token]` of all tokens up to 4,096.

    With a grid, `maps` shows the best-ranked features over it.
    """

    values: Floats
    size: tuple[int, int]
    pooled: bool
    grid: tuple[int, int] | None
    special: int
    maps: FeatureMaps | None = None
    labels: tuple[str, ...] = ()
    kind: Literal["tokens"] = "tokens"


@dataclass(frozen=True, slots=True)
class Plane:
    """One slice of a volume: `values: [row, column]` at `index` along `axis` (0 depth, 1 height, 2 width)."""

    axis: int
    index: int
    values: Floats


@dataclass(frozen=True, slots=True)
class VolumeSlices:
    """Three orthogonal slices through the peak of one channel; `size` is (depth, height, width)."""

    channel: int
    planes: tuple[Plane, ...]
    size: tuple[int, int, int]
    pooled: bool
    kind: Literal["volume"] = "volume"


@dataclass(frozen=True, slots=True)
class Scalar:
    value: float
    text: str
    kind: Literal["scalar"] = "scalar"


@dataclass(frozen=True, slots=True)
class ClassEntry:
    index: int
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Classes:
    """Best classes of a classifier's output, best first. `scale` says what `value` is (`"softmax"`, `"probability"`)."""

    entries: tuple[ClassEntry, ...]
    count: int
    scale: str
    kind: Literal["classes"] = "classes"


@dataclass(frozen=True, slots=True)
class Nothing:
    """No picture, and why: empty, meta, not run."""

    reason: str
    kind: Literal["nothing"] = "nothing"


Picture = FeatureMaps | Photo | VectorStrip | TokenStrip | VolumeSlices | Scalar | Classes | Nothing


@dataclass(frozen=True, slots=True)
class Summary:
    """The reduced activation of one leaf of one stage. Sizes do not grow with the activation.

    `scale` is the range of the colours where an earlier frame set it, so that what moves is the network.
    """

    leaf: str
    spec: TensorSpec
    axes: Axes
    picture: Picture
    statistics: Statistics | None
    histogram: Histogram | None
    ranking: Ranking | None
    scale: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What a tile shows: a 2-D (or 1-D) slice of one leaf of one stage.

    `channel` picks a channel, feature, head or component; None asks for the whole plane (tokens x features,
    or a vector). `slice` is (axis, index) into a volume. `region` is (top, left, bottom, right) in elements,
    bottom and right exclusive. `size` asks for at most (rows, columns), pooled by area; None is exact.
    """

    key: str
    frame: int
    sample: int
    stage: StageId
    leaf: str
    channel: int | None = None
    slice: tuple[int, int] | None = None
    region: tuple[int, int, int, int] | None = None
    size: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Tile:
    """The answer to a `Request`, immutable under its key. `data: [rows, columns]`; `exact` unless pooled."""

    key: str
    data: npt.NDArray[np.generic]
    low: float
    high: float
    mean: float
    exact: bool
    error: str = ""
