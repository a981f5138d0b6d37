"""The values of a sample, with their dimensions in the one order that pictures are made in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from ..records import Axes, AxesKind, AxisName
from .values import Sample

# Elements of a piece that a CPU reads several times in little more time than once, since it stays in its caches.
_IN_CACHE = 1 << 18
# A band of fewer rows than this gives about as many results, for its channels, as it has values.
_FEWEST_ROWS = 32

Form = Literal["scalar", "vector", "tokens", "maps", "volume"]


@dataclass(frozen=True, slots=True)
class View:
    """The values of a sample, without a copy wherever strides allow that. Their dimensions by form:

    scalar `[]`, vector `[n]`, tokens `[token, feature]`, maps `[channel, row, column]`,
    volume `[channel, depth, row, column]`. `tokens: [token, feature]` are those whose patches a volume is made of,
    with the special ones before them.
    """

    form: Form
    values: Tensor
    axes: Axes
    tokens: Tensor | None = None

    @property
    def channels(self) -> Tensor:
        """The same with what is ranked in front: channels, or the features of tokens; else one channel."""
        if self.form == "tokens":
            return self.values.T
        return self.values if self.form in {"maps", "volume"} else self.values.reshape(1, -1)

    @property
    def everything(self) -> Tensor:
        """`channels` with the special tokens: what numbers are about."""
        return self.channels if self.tokens is None else self.tokens.T

    @property
    def patches(self) -> Tensor:
        """`[feature, row, column]`: the features of tokens over their patch grid, or one below the other."""
        tokens = self.values[self.axes.special :]
        rows, columns = self.axes.grid or (len(tokens), 1)
        return tokens.view(rows, columns, tokens.shape[1]).permute(2, 0, 1)


def arrange(sample: Sample) -> View:
    """The form that the sample's axes ask for, or, where the axes do not allow it, one by its shape alone."""
    values, names = sample.values, sample.names
    form, tensor = _ARRANGE[sample.axes.kind](values, names) or _by_shape(values)
    axes = sample.axes
    block = _in_block(tensor, axes) if form == "tokens" else None
    if block is not None:
        return View("volume", block, axes, tensor)
    if form == "tokens" and axes.grid is not None and axes.special + math.prod(axes.grid) != len(tensor):
        axes = replace(axes, grid=None)
    if form == "tokens" and axes.special >= len(tensor):
        axes = replace(axes, special=0)
    return View(form, tensor, axes)


def pieces(channels: Tensor, limit: int) -> Iterator[tuple[int, Tensor]]:
    """(first channel, piece) until all is seen; no piece has more than `limit` elements.

    Cut along the dimension that is slowest in memory, so that each is read in one go: into runs of whole channels,
    or, where channels come last in memory, into bands of all channels; where these are many, as in a vocabulary, into
    runs of channels nevertheless. Pieces that share a channel share all of theirs.
    """
    if channels.device.type == "cpu":
        limit = min(limit, _IN_CACHE)
    if channels.numel() <= limit or max(channels.shape) == 1:
        yield 0, channels
        return
    axis = next(axis for axis in _memory_order(channels) if channels.shape[axis] > 1)
    inner = channels.numel() // channels.shape[axis]
    if axis and inner == len(channels) and limit // inner < _FEWEST_ROWS < channels.shape[axis] <= limit:
        axis, inner = 0, channels.shape[axis]
    step = max(1, limit // inner)
    for start in range(0, channels.shape[axis], step):
        part = channels.narrow(axis, start, min(step, channels.shape[axis] - start))
        for first, piece in pieces(part, limit):
            yield (start + first if axis == 0 else first), piece


def flat(values: Tensor) -> Tensor:
    """`[n]`, in the order in which the values lie in memory, so that a transposed tensor is not copied."""
    return (values if values.is_contiguous() else values.permute(_memory_order(values))).reshape(-1)


def _memory_order(values: Tensor) -> list[int]:
    """Dimensions, slowest first."""
    strides = values.stride()
    return sorted(range(values.ndim), key=lambda axis: (-strides[axis], axis))


def _ordered(values: Tensor, names: tuple[AxisName, ...], tail: tuple[AxisName, ...]) -> Tensor | None:
    """The dimensions of `tail` last and in that order, all others folded into one in front; None if one is missing."""
    if any(names.count(name) != 1 for name in tail):
        return None
    last = [names.index(name) for name in tail]
    first = [axis for axis in range(len(names)) if axis not in last]
    ordered = values.permute(*first, *last)
    return ordered.reshape(-1, *ordered.shape[len(first) :])


def _maps(*tail: AxisName) -> Callable[[Tensor, tuple[AxisName, ...]], tuple[Form, Tensor] | None]:
    def arrange_maps(values: Tensor, names: tuple[AxisName, ...]) -> tuple[Form, Tensor] | None:
        ordered = _ordered(values, names, tail)
        return None if ordered is None else ("maps", ordered)

    return arrange_maps


def _volume(values: Tensor, names: tuple[AxisName, ...]) -> tuple[Form, Tensor] | None:
    # A video is a volume over time.
    ordered = _ordered(values, names, ("depth" if "depth" in names else "time", "height", "width"))
    return None if ordered is None else ("volume", ordered)


def _tokens(values: Tensor, names: tuple[AxisName, ...]) -> tuple[Form, Tensor] | None:
    """Rows are tokens or moments in time, columns what each of them consists of."""
    if values.numel() == max(values.shape):  # one token, or a waveform
        return "vector", values.reshape(-1)
    ordered = _ordered(values, names, ("feature" if "feature" in names else "channel",))
    return None if ordered is None else ("tokens", ordered)


def _in_block(tokens: Tensor, axes: Axes) -> Tensor | None:
    """`[feature, depth, row, column]` of patches of a volume; None where they are none."""
    if axes.block is None or axes.special + math.prod(axes.block) != len(tokens):
        return None
    return tokens[axes.special :].view(*axes.block, tokens.shape[1]).permute(3, 0, 1, 2)


def _vector(values: Tensor, _: tuple[AxisName, ...]) -> tuple[Form, Tensor]:
    return "vector", values.reshape(-1)


def _by_shape(values: Tensor, _: tuple[AxisName, ...] = ()) -> tuple[Form, Tensor]:
    if values.numel() == 1:
        return "scalar", values.reshape(())
    if values.ndim < 2 or values.numel() == max(values.shape):
        return "vector", values.reshape(-1)
    return "maps", values.reshape(-1, *values.shape[-2:])


_ARRANGE: dict[AxesKind, Callable[[Tensor, tuple[AxisName, ...]], tuple[Form, Tensor] | None]] = {
    "scalar": _by_shape,
    "vector": _vector,
    "tokens": _tokens,
    "sequence": _tokens,
    "image": _maps("height", "width"),
    "attention": _maps("query", "key"),
    "volume": _volume,
    "generic": _by_shape,
}
