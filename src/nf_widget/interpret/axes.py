"""What each dimension of a tensor means: inferred from what made it and its shape, or said by the user.

A reason starts with how sure it is: `known` (the module type allows nothing else), `likely`, or `guess`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..errors import AxesError
from ..records import Axes, AxesKind, AxisName, TensorSpec
from .patches import token_block, token_grid

# Conv2d, BatchNorm3d, LayerNorm2d, Conv2dNormActivation.
_RANK = re.compile(r"([123])d(?![a-z0-9])")
_CHANNEL_LAST = re.compile(r"swin(?!.*unet)|patchmerging|channels?_?last|nhwc|permute|mlp", re.IGNORECASE)
_LAST_AXIS = frozenset(
    {"Linear", "LayerNorm", "RMSNorm", "Embedding", "Bilinear", "MultiheadAttention", "LSTM", "GRU", "RNN"}
)
# Gives whatever rank it gets.
_ANY_RANK = re.compile("Norm1d|Dropout1d")
_VISION = re.compile("ViT|Vision|Swin|Patch|DeiT|BEiT|DINO|Dino")
_IMAGE_CHANNELS = (1, 3, 4)
_SMALLEST_IMAGE = 8
_LABELS = ("bool", "int", "uint")

_LETTERS: dict[str, AxisName] = {
    "b": "batch",
    "c": "channel",
    "d": "depth",
    "h": "height",
    "w": "width",
    "n": "token",
    "f": "feature",
    "t": "time",
    "a": "head",
    "q": "query",
    "k": "key",
    ".": "other",
}
_KINDS: tuple[tuple[frozenset[AxisName], AxesKind], ...] = (
    (frozenset({"query", "key"}), "attention"),
    (frozenset({"depth", "height", "width"}), "volume"),
    (frozenset({"time", "height", "width"}), "volume"),
    (frozenset({"height", "width"}), "image"),
    (frozenset({"token"}), "tokens"),
    (frozenset({"time"}), "sequence"),
)
_SPATIAL: dict[int, tuple[AxisName, ...]] = {
    1: ("time",),
    2: ("height", "width"),
    3: ("depth", "height", "width"),
}


@dataclass(frozen=True, slots=True)
class _Case:
    """What is known of a leaf; `rest` is its shape without the batch axis."""

    rest: tuple[int, ...]
    batch_axis: int | None
    dtype: str
    type_name: str
    detail: str
    image: tuple[int, int] | None
    volume: tuple[int, int, int] | None = None


@lru_cache(maxsize=4096)  # the same for every frame
def infer(
    spec: TensorSpec,
    *,
    type_name: str,
    batch: int | None,
    detail: str = "",
    image: tuple[int, int] | None = None,
    volume: tuple[int, int, int] | None = None,
) -> Axes:
    """Name every dimension of a leaf that a module of class `type_name` gave out. Never raises.

    `batch` is the batch size of the model's input, 0 when it has no batch axis, None when that is not known. `image` is
    (height, width) of the model's image input, `volume` (depth or time, height, width): tokens are laid out as a patch
    grid where these, or the class name, say that they are patches.
    """
    shape = tuple(spec.shape)
    batch_axis = _batch_axis(shape, batch, type_name)
    rest = tuple(size for axis, size in enumerate(shape) if axis != batch_axis)
    case = _Case(rest, batch_axis, spec.dtype, type_name, detail, image, volume)
    names, reason = _names(case)
    if batch_axis is not None:
        names = (*names[:batch_axis], "batch", *names[batch_axis:])
    kind = _kind(names, shape)
    if kind != "tokens" or "other" in names:
        return Axes(names, kind, reason)
    return _with_patches(Axes(names, kind, reason), case)


def parse(text: str, spec: TensorSpec, *, image: tuple[int, int] | None = None) -> Axes:
    """Axes that the user gives: one letter a dimension (`"bchw"`, `"bnf"`), or words (`"batch channel time"`).

    b batch, c channel, d depth, h height, w width, n token, f feature, t time, a attention head, q query, k key,
    `.` other. With `image`, (height, width) of the model's image input, tokens may be a patch grid.
    Raises `AxesError` when they do not fit the tensor.
    """
    words = text.lower().replace(",", " ").split()
    spelled = len(words) > 1 or "".join(words) in _LETTERS.values()
    names = tuple(_named(word, text) for word in (words if spelled else "".join(words)))
    shape = tuple(spec.shape)
    if len(names) != len(shape):
        found = f"{len(shape)}: {_product(shape)}" if shape else "none"
        raise AxesError(f"axes {text!r} name {len(names)} dimensions, but the tensor has {found}.")
    twice = sorted({name for name in names if name != "other" and names.count(name) > 1})
    if twice:
        raise AxesError(f"axes {text!r} name {' and '.join(twice)} twice: use '.' for dimensions without a name.")
    for name, needs in (("height", "width"), ("width", "height"), ("query", "key"), ("key", "query")):
        if name in names and needs not in names:
            raise AxesError(f"axes {text!r} have {name} without {needs}: name both, or neither.")
    kind = _kind(names, shape)
    patches = kind == "tokens" and image is not None and "other" not in names
    special, grid = token_grid(shape[names.index("token")], image, sure=True) if patches else (0, None)
    return Axes(names, kind, "said by the user", special, grid)


def _batch_axis(shape: tuple[int, ...], batch: int | None, type_name: str) -> int | None:
    if not shape:
        return None
    rank = _rank(type_name)
    if (
        rank is not None
        and len(shape) in {rank + 1, rank + 2}
        and not (_ANY_RANK.search(type_name) and len(shape) == 2)
    ):
        return 0 if len(shape) == rank + 2 else None
    if batch is None:
        return 0 if len(shape) in {2, 4, 5} or (len(shape) == 3 and not _like_image(shape)) else None
    if len(shape) == 3 and shape[1] == batch != shape[0]:  # recurrent nets and transformers, unless told otherwise
        return 1
    return 0 if shape[0] == batch and not _unbatched_image(shape, type_name) else None


def _unbatched_image(shape: tuple[int, ...], type_name: str) -> bool:
    """An input `[3, height, width]`, whose first dimension was taken for the batch size."""
    return (
        _is_given(type_name)
        and len(shape) == 3
        and shape[0] == 3
        and _like_image(shape)
        and max(shape[1:]) <= 2 * min(shape[1:])
    )


def _is_given(type_name: str) -> bool:
    """Whether it is an argument of the model: classes are capitalised, and arguments are not."""
    return not type_name[:1].isupper()


def _names(case: _Case) -> tuple[tuple[AxisName, ...], str]:
    """Names of `case.rest`, and why."""
    for rule in (_few, _by_rank, _attention, _windows, _channel_last, _label_map):
        found = rule(case)
        if found is not None:
            return found
    return _by_shape(case)


def _few(case: _Case) -> tuple[tuple[AxisName, ...], str] | None:
    if not case.rest:
        return (), "known: one number"
    if len(case.rest) == 1:
        token = _is_label(case.dtype) and case.batch_axis is not None and case.rest[0] > 1
        return ("token" if token else "feature",), "likely: a token sequence" if token else "known: one dimension"
    return None


def _by_rank(case: _Case) -> tuple[tuple[AxisName, ...], str] | None:
    rank = _rank(case.type_name)
    if rank is None or len(case.rest) != rank + 1:
        return None
    return ("channel", *_SPATIAL[rank]), f"known: {case.type_name} gives channels, then {' × '.join(_SPATIAL[rank])}"


def _attention(case: _Case) -> tuple[tuple[AxisName, ...], str] | None:
    square = len(case.rest) in {2, 3} and case.rest[-1] == case.rest[-2]
    last = case.type_name == "Softmax" and len(case.rest) == 3 and re.search(r"-1|dim=3", case.detail)
    if not square or not (last or case.type_name == "MultiheadAttention"):
        return None
    roles: tuple[AxisName, ...] = ("head", "query", "key")
    return roles[-len(case.rest) :], f"likely: square weights of {case.type_name}"


def _windows(case: _Case) -> tuple[tuple[AxisName, ...], str] | None:
    """`[window, token, feature]`: the batch was cut up into windows, or into sequences."""
    if case.batch_axis is not None or len(case.rest) != 3 or case.type_name not in _LAST_AXIS:
        return None
    return (
        "other",
        "token",
        "feature",
    ), f"likely: {case.type_name} mixes the last dimension, and no other is the batch"


def _channel_last(case: _Case) -> tuple[tuple[AxisName, ...], str] | None:
    rest = case.rest
    if len(rest) not in {3, 4}:
        return None
    spatial = _SPATIAL[len(rest) - 1]
    last, first = _aspect(rest[:-1], case.image), _aspect(rest[1:], case.image)
    named = _CHANNEL_LAST.search(case.type_name) and (last or not first)
    if case.type_name in _LAST_AXIS or named:
        return (*spatial, "channel"), f"likely: {case.type_name} mixes the last dimension"
    if len(rest) != 3:
        return None
    if rest[2] in _IMAGE_CHANNELS and rest[0] not in _IMAGE_CHANNELS and min(rest[:2]) >= _SMALLEST_IMAGE:
        return (*spatial, "channel"), f"likely: the last dimension, {rest[2]}, is that of an image's channels"
    if last and not first:
        sure = "likely" if case.image else "guess"
        return (*spatial, "channel"), f"{sure}: the first two dimensions have the aspect of an image, the last two not"
    return None


def _label_map(case: _Case) -> tuple[tuple[AxisName, ...], str] | None:
    """`[height, width]` of class indices, or of one value a pixel."""
    if len(case.rest) != 2:
        return None
    if case.image is not None and tuple(case.rest) == tuple(case.image):
        return ("height", "width"), "likely: a map of the input's size"
    if _is_label(case.dtype) and min(case.rest) >= _SMALLEST_IMAGE:
        return ("height", "width"), "likely: a map of class indices"
    return None


def _by_shape(case: _Case) -> tuple[tuple[AxisName, ...], str]:
    made = case.type_name or "it"
    if len(case.rest) == 2:
        return ("token", "feature"), f"likely: two dimensions for each sample from {made}"
    if len(case.rest) == 3:
        sure = "likely" if _aspect(case.rest[1:], case.image) else "guess"
        return ("channel", "height", "width"), f"{sure}: three dimensions for each sample from {made}"
    if len(case.rest) == 4 and case.rest[1] == 3 != case.rest[0] and _is_given(case.type_name):
        return ("time", "channel", "height", "width"), "likely: frames, of which each has three colours"
    if len(case.rest) == 4:
        return ("channel", "depth", "height", "width"), f"likely: four dimensions for each sample from {made}"
    other: AxisName = "other"
    return (other,) * len(case.rest), f"guess: {len(case.rest)} dimensions have no usual meaning"


def _kind(names: Sequence[AxisName], shape: Sequence[int]) -> AxesKind:
    inside = [(name, size) for name, size in zip(names, shape, strict=True) if name != "batch"]
    if not inside:
        return "scalar"
    long = {name for name, size in inside if size != 1}
    if long <= {"channel", "feature"} or (len(inside) == 1 and inside[0][0] == "token"):
        return "vector"
    for needed, kind in _KINDS:
        if needed <= set(names):
            return kind
    return "generic"


def _aspect(size: Sequence[int], image: tuple[int, int] | None) -> bool:
    """Whether the size has the image's aspect, to within a row or column; without an image, whether all is equal."""
    if min(size) < 2:
        return False
    if len(size) != 2 or image is None:
        return len(set(size)) == 1
    height, width = size
    tall, wide = image
    return abs(height * wide - width * tall) <= max(tall, wide)


def _like_image(shape: Sequence[int]) -> bool:
    return shape[0] in _IMAGE_CHANNELS and min(shape[1:]) >= _SMALLEST_IMAGE


def _rank(type_name: str) -> int | None:
    found = _RANK.search(type_name)
    return int(found[1]) if found else None


def _is_label(dtype: str) -> bool:
    return dtype.startswith(_LABELS)


def _with_patches(axes: Axes, case: _Case) -> Axes:
    tokens = case.rest[axes.names.index("token") - (case.batch_axis == 0)]
    sure = _VISION.search(case.type_name) is not None
    if case.volume is not None:
        special, block = token_block(tokens, case.volume)
        return replace(axes, special=special, block=block)
    if case.image is None and not sure:
        return axes
    special, grid = token_grid(tokens, case.image, sure=sure)
    return replace(axes, special=special, grid=grid)


def _named(word: str, text: str) -> AxisName:
    if word in _LETTERS:
        return _LETTERS[word]
    for name in _LETTERS.values():
        if name == word:
            return name
    known = ", ".join(f"{letter} {name}" for letter, name in _LETTERS.items())
    raise AxesError(f"axes {text!r}: there is no axis {word!r}. Known: {known}.")


def _product(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))
