"""What activations become: axes, numbers, pictures, tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from .structure import StageId, TensorSpec

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

AxisName = Literal[
    "batch", "channel", "depth", "height", "width", "token", "feature", "time", "head", "query", "key", "other"
]
AxesKind = Literal["scalar", "vector", "tokens", "sequence", "image", "volume", "attention", "generic"]


@dataclass(frozen=True, slots=True)
class Axes:
    """What each dimension of a leaf means; `names` has one entry per dimension.

    `special` counts leading tokens that are no patches, `grid` is (rows, columns) of the others, or None; patches of a
    volume or a video have a `block` (depth, rows, columns) instead.
    """

    names: tuple[AxisName, ...]
    kind: AxesKind
    reason: str
    special: int = 0
    grid: tuple[int, int] | None = None
    block: tuple[int, int, int] | None = None


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
    """An image input as a person knows it: `values: [height, width, 3]`, 0 to 255.

    `slopes` and `offsets`, one a channel, made brightness (0 to 1) of the tensor's values.
    """

    values: npt.NDArray[np.uint8]
    size: tuple[int, int]
    pooled: bool
    kind: Literal["photo"] = "photo"
    slopes: tuple[float, ...] = ()
    offsets: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorStrip:
    """`values: [length]`, pooled from `size`."""

    values: Floats
    size: int
    pooled: bool
    kind: Literal["vector"] = "vector"


@dataclass(frozen=True, slots=True)
class TokenStrip:
    """`values: [token, feature]`, pooled from `size`.

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
    """Best classes of a classifier's output, best first. `scale` says what `value` is: `"softmax"`, `"probability"`."""

    entries: tuple[ClassEntry, ...]
    count: int
    scale: str
    kind: Literal["classes"] = "classes"


@dataclass(frozen=True, slots=True)
class Mask:
    """The class at each place: `values: [row, column]` are places in `entries`, 255 for none, sampled from `size`.

    The value of an entry is its share of all places. `count` is how many classes there could be, `how` the classes were
    found, `background` the class that gets no colour, or -1. Of a volume, it is the slice at `depth`. `over` is the
    path of the input that it lies over, or "".
    """

    values: npt.NDArray[np.uint8]
    entries: tuple[ClassEntry, ...]
    size: tuple[int, int]
    pooled: bool
    count: int
    how: str
    background: int = -1
    depth: int | None = None
    over: str = ""
    kind: Literal["mask"] = "mask"


@dataclass(frozen=True, slots=True)
class Box:
    """Sides as parts of the image's width and height."""

    left: float
    top: float
    right: float
    bottom: float
    name: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Boxes:
    """The best-scored of `count` boxes in an image of `size` (height, width), the input at path `over`."""

    entries: tuple[Box, ...]
    count: int
    size: tuple[int, int]
    over: str = ""
    kind: Literal["boxes"] = "boxes"


@dataclass(frozen=True, slots=True)
class Nothing:
    """No picture, and why: empty, meta, not run."""

    reason: str
    kind: Literal["nothing"] = "nothing"


Picture = FeatureMaps | Photo | VectorStrip | TokenStrip | VolumeSlices | Scalar | Classes | Mask | Boxes | Nothing


@dataclass(frozen=True, slots=True)
class Summary:
    """The reduced activation of one leaf of one stage. Sizes do not grow with the activation.

    `scale` is the range of the colours where an earlier frame set it, so that what moves is the network. With
    `reference`, the picture is the difference to that frame; statistics stay those of the values. `meaning` says in
    words what an output means.
    """

    leaf: str
    spec: TensorSpec
    axes: Axes
    picture: Picture
    statistics: Statistics | None
    histogram: Histogram | None
    ranking: Ranking | None
    scale: tuple[float, float] | None = None
    reference: int | None = None
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What a tile shows: a 2-D (or 1-D) slice of one leaf of one stage.

    `channel` picks a channel, feature, head or component; None asks for the whole plane (tokens x features,
    or a vector). `slice` is (axis, index) into a volume. `region` is (top, left, bottom, right) in elements,
    bottom and right exclusive. `size` asks for at most (rows, columns), pooled by area; None is exact. `reference` asks
    for the difference to that frame.
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
    reference: int | None = None


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
