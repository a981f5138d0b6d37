"""Per-channel measures in one read of the values, piece by piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from .scratch import Scratch
from .values import real
from .views import pieces

Doubles = npt.NDArray[np.float64]

# Sums of squares below this have lost digits in float32.
_TINY = 1e-34
# Pooled maps of this many values together are kept for the comparison of channels; more are made again for a few.
_KEPT = 1 << 16
# Values that a CPU adds up at a time.
_LANES = 8
# From windows of this width on, whole rows are added up first.
_WIDE = 4


class Moments(NamedTuple):
    """Number, extremes, mean and sum of squared deviations of the finite values, each `[channel]`.

    Without a finite value the extremes are +Inf and -Inf. The counts are of all channels together; `nan` and `inf`
    count what is not finite.
    """

    number: Doubles
    low: Doubles
    high: Doubles
    mean: Doubles
    squares: Doubles
    zeros: float = 0.0
    negatives: float = 0.0
    nan: float = 0.0
    inf: float = 0.0

    @property
    def variance(self) -> Doubles:
        return self.squares / np.maximum(self.number, 1)


class Total(NamedTuple):
    """The moments of all channels as one."""

    number: float
    low: float
    high: float
    mean: float
    squares: float


class Scan(NamedTuple):
    """What one read gives. `structure: [channel]`, empty where it was not asked for.

    `pooled: [channel, rows, columns]` is what it was measured from, where that is small enough to keep.
    """

    moments: Moments
    structure: Doubles
    pooled: Tensor | None = None


def scan(channels: Tensor, *, limit: int, grid: tuple[int, int] | None = None) -> Scan:
    """Measure `[channel, ...]`. With `grid`, also the variance of each map after pooling to that many cells.

    A second read, in float64 and with a mask, follows only where the first shows values that are not finite, or
    whose squares float32 cannot add up.
    """
    quick = _scan(channels, limit, grid, careful=False)
    low, high, squares = quick.moments.low, quick.moments.high, quick.moments.squares
    # NaN and Inf anywhere make the sum of all so.
    finite = math.isfinite(float(squares.sum()) + float(quick.structure.sum()) + quick.moments.zeros)
    if finite and (squares.min() >= _TINY or not ((squares < _TINY) & (high > low)).any()):
        return quick
    return _scan(channels, limit, grid, careful=True)


def total(moments: Moments) -> Total:
    if len(moments.number) == 1:
        return Total(*(float(field[0]) for field in moments[:5]))
    number = float(moments.number.sum())
    # Sums of products: `@` starts NumPy's own threads beside those that run the forward.
    mean = float((moments.mean * moments.number).sum()) / max(number, 1)
    gaps = moments.mean - mean
    squares = float((moments.squares + gaps * gaps * moments.number).sum())
    return Total(number, float(moments.low.min()), float(moments.high.max()), mean, squares)


def joined(a: Moments, b: Moments) -> Moments:
    """The moments of both together, after Chan, Golub and LeVeque's update of the variance."""
    number = a.number + b.number
    share = b.number / np.maximum(number, 1)
    gap = b.mean - a.mean
    squares = a.squares + b.squares + gap**2 * a.number * share
    mean = a.mean + gap * share
    counts = (one + other for one, other in zip(a[5:], b[5:], strict=True))
    return Moments(number, np.minimum(a.low, b.low), np.maximum(a.high, b.high), mean, squares, *counts)


def spread_of(maps: Tensor, grid: tuple[int, int], limit: int) -> Doubles:
    """The structure of `[channel, row, column]`, all of it finite, alone."""
    return _variance(pool(maps, *grid, limit=limit)).cpu().numpy().astype(np.float64)


def pool(maps: Tensor, rows: int, columns: int, *, limit: int) -> Tensor:
    """Area means of `[map, row, column]`, as float32 or float64 `[map, rows, columns]`; no copy beyond `limit`."""
    height, width = maps.shape[1:]
    if (height, width) == (rows, columns):
        return real(maps)
    in_place = _pooled_in_place(maps)
    if maps.numel() <= limit or in_place:
        values = maps if in_place else real(maps)
        if height % rows == width % columns == 0 and height >= _WIDE * rows and values.is_contiguous():
            bands = values.view(len(maps), rows, height // rows, width).sum(2)
            return bands.view(len(maps), rows, columns, -1).sum(3).mul_(rows * columns / (height * width))
        return functional.adaptive_avg_pool2d(_batched(values, rows * columns, limit), (rows, columns))[0]
    edges = [(i * height // rows, -(-(i + 1) * height // rows)) for i in range(rows)]
    bands = torch.stack([_row_mean(maps[:, top:bottom], limit) for top, bottom in edges], dim=1)
    return functional.adaptive_avg_pool2d(bands, (rows, columns))


def together(tensors: Sequence[Tensor]) -> Tensor:
    """One after the other; those that had to leave their device for float64 lead."""
    if len(tensors) == 1:
        return tensors[0]
    first = tensors[0].device
    return torch.cat([tensor if tensor.device == first else tensor.to(first) for tensor in tensors])


def _batched(maps: Tensor, cells: int, limit: int) -> Tensor:
    """As a batch of one. A CPU averages small windows one value at a time, or those of many maps at once where the
    maps come last in memory."""
    batch = _batch_of_one(maps)
    small = maps[0].numel() < _WIDE**2 * cells and len(maps) >= _LANES and maps.numel() <= limit
    return batch.contiguous(memory_format=torch.channels_last) if small and maps.device.type == "cpu" else batch


def _pooled_in_place(maps: Tensor) -> bool:
    """Whether torch pools them without a copy of its own."""
    plain = maps.is_contiguous() or _batch_of_one(maps).is_contiguous(memory_format=torch.channels_last)
    return plain and maps.dtype in {torch.float32, torch.float64}


def _batch_of_one(maps: Tensor) -> Tensor:
    """With the stride that a batch would have: `unsqueeze` sets one that hides channels-last memory from torch."""
    return maps.as_strided((1, *maps.shape), (maps.numel(), *maps.stride()))


def _row_mean(band: Tensor, limit: int) -> Tensor:
    """`[map, row, column]` -> `[map, column]`."""
    maps, height, width = band.shape
    rows = max(1, limit // (maps * width))
    run = max(1, limit // (rows * width))
    total: Tensor | int = 0
    for some in band.split(rows, dim=1):
        total = total + torch.cat([real(part).sum(1) for part in some.split(run)])
    return torch.as_tensor(total) / height


def _scan(channels: Tensor, limit: int, grid: tuple[int, int] | None, *, careful: bool) -> Scan:
    # Maps of the grid's own size are not pooled: their structure is their variance.
    pooled_to = None if channels.shape[1:] == grid else grid
    keep = pooled_to is not None and len(channels) * math.prod(pooled_to) <= _KEPT
    tally, scratch = _Tally(limit), Scratch()
    structure: list[Tensor] = []
    pooled: list[Tensor] = []
    for start, piece in pieces(channels, limit):
        values = _readable(scratch.real(piece, double=careful))
        finite = values.isfinite() if careful else None
        tally.add(start, values, _moments(values, scratch) if finite is None else _careful_moments(values, finite))
        if pooled_to is not None and piece.shape[1:] == channels.shape[1:]:
            maps = pool(values if finite is None else values.where(finite, 0), *pooled_to, limit=limit)
            structure.append(_variance(maps))
            pooled += [maps] if keep else []
    if pooled_to is not None and not structure:
        rows = pooled_to[0]
        for run in channels.split(max(1, min(_KEPT // math.prod(pooled_to), limit // (rows * channels.shape[2])))):
            maps = pool(run, *pooled_to, limit=limit).nan_to_num(0, 0, 0)
            structure.append(_variance(maps))
            pooled += [maps] if keep else []
    scores = tally.bring(structure)
    moments = tally.moments()
    scores = moments.variance if grid is not None and pooled_to is None else scores
    return Scan(moments, scores, together(pooled) if pooled else None)


def _readable(values: Tensor) -> Tensor:
    """Torch adds up a few channels that come last in memory one value at a time; a copy is faster."""
    return values.contiguous() if values.stride(0) == 1 and 1 < len(values) < _LANES else values


def _variance(maps: Tensor) -> Tensor:
    """Of each map: `[map]`. Two plain passes: `torch.var` walks a row one value at a time."""
    return (maps - maps.mean((1, 2), keepdim=True)).square_().mean((1, 2))


def _moments(values: Tensor, scratch: Scratch) -> list[Tensor]:
    """Of `[channel, ...]`, all of it finite: extremes, mean, squares; sum of signs, number of values that are not 0."""
    axes = tuple(range(1, values.ndim))
    mean = values.mean(axes, keepdim=True)
    squares = torch.sub(values, mean, out=scratch.like(values, "work")).square_().sum(axes)
    sign = torch.sign(values, out=scratch.like(values, "work"))
    # Two sums of signs take a quarter of the time of two comparisons and counts.
    balance = sign.sum().view(1)
    return [values.amin(axes), values.amax(axes), mean.view(-1), squares, balance, sign.abs_().sum().view(1)]


def _careful_moments(values: Tensor, finite: Tensor) -> list[Tensor]:
    """The same of what is finite; then numbers of NaN and of infinite values, and of finite ones: `[channel]`."""
    axes = tuple(range(1, values.ndim))
    filled = values.where(finite, 0)
    count = finite.sum(axes, keepdim=True).to(values.dtype)
    mean = filled.sum(axes, keepdim=True) / count.clamp(min=1)
    squares = (filled - mean).where(finite, 0).square().sum(axes)
    low, high = values.where(finite, math.inf).amin(axes), values.where(finite, -math.inf).amax(axes)
    sign = filled.sign()
    counts = (sign.sum(), sign.abs().sum(), values.isnan().sum(), values.isinf().sum())
    return [
        low,
        high,
        mean.flatten(),
        squares,
        *(number.to(values.dtype).view(1) for number in counts),
        count.flatten(),
    ]


class _Tally:
    """Small results, on their device until they are brought over together; those of the same channels are joined."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: list[Tensor] = []
        self._places: list[tuple[int, int, int, int]] = []
        self._size = 0
        self._merged: dict[int, Moments] = {}

    def add(self, start: int, values: Tensor, measured: list[Tensor]) -> None:
        length = sum(map(Tensor.numel, measured))
        self._places.append((start, len(values), values.numel() // len(values), length))
        self._waiting += measured
        self._size += length
        if self._size > self._limit:
            self.bring()

    def bring(self, more: Sequence[Tensor] = ()) -> Doubles:
        """One transfer. Returns `more`, which came along."""
        waiting = [*self._waiting, *more]
        if not waiting:
            return np.empty(0)
        packed = together(waiting).cpu().numpy().astype(np.float64)
        taken = 0
        for start, channels, size, length in self._places:
            block = _unpacked(packed[taken : taken + length], channels, size)
            self._merged[start] = joined(self._merged[start], block) if start in self._merged else block
            taken += length
        self._waiting, self._places, self._size = [], [], 0
        rest: Doubles = packed[taken:]
        return rest

    def moments(self) -> Moments:
        blocks = list(self._merged.values())
        if len(blocks) == 1:
            return blocks[0]
        columns = list(zip(*blocks, strict=True))
        number, low, high, mean, squares = map(np.concatenate, columns[:5])
        return Moments(number, low, high, mean, squares, *map(sum, columns[5:]))


def _unpacked(packed: Doubles, channels: int, size: int) -> Moments:
    """What `_moments` or `_careful_moments` gave, of so many channels and values in each."""
    low, high, mean, squares = packed[: 4 * channels].reshape(4, channels)
    balance, nonzero, *careful = packed[4 * channels :].tolist()
    nan, inf = careful[:2] or (0.0, 0.0)
    number = np.asarray(careful[2:]) if careful else np.full(channels, float(size))
    zeros = float(number.sum()) - nonzero
    return Moments(number, low, high, mean, squares, zeros, (nonzero - balance) / 2, nan, inf)
