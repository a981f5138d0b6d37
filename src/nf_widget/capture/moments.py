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

from .values import real
from .views import pieces

Doubles = npt.NDArray[np.float64]

# Sums of squares below this have lost digits in float32.
_TINY = 1e-34
# Pooled maps of this many values together are kept for the comparison of channels; more are made again for a few.
_KEPT = 1 << 16


class Moments(NamedTuple):
    """Each `[channel]`: number, extremes, mean and sum of squared deviations of the finite values; then how many are.

    Without a finite value the extremes are +Inf and -Inf. `nan` and `inf` count what is not finite.
    """

    number: Doubles
    low: Doubles
    high: Doubles
    mean: Doubles
    squares: Doubles
    zeros: Doubles
    negatives: Doubles
    nan: Doubles
    inf: Doubles

    @property
    def variance(self) -> Doubles:
        return self.squares / np.maximum(self.number, 1)


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
    moments = quick.moments
    finite = np.isfinite(np.concatenate([*moments, quick.structure])).all()
    lost = (moments.squares < _TINY) & (moments.high > moments.low)
    return quick if finite and not lost.any() else _scan(channels, limit, grid, careful=True)


def total(moments: Moments) -> Moments:
    """All channels as one: each field `[1]`."""
    number = moments.number.sum()
    mean = (moments.mean * (moments.number / max(number, 1))).sum()
    squares = (moments.squares + moments.number * (moments.mean - mean) ** 2).sum()
    sums = (field.sum() for field in (moments.zeros, moments.negatives, moments.nan, moments.inf))
    fields = (number, moments.low.min(), moments.high.max(), mean, squares, *sums)
    return Moments(*(np.asarray([field]) for field in fields))


def joined(a: Moments, b: Moments) -> Moments:
    """The moments of both together, after Chan, Golub and LeVeque's update of the variance."""
    number = a.number + b.number
    share = b.number / np.maximum(number, 1)
    gap = b.mean - a.mean
    squares = a.squares + b.squares + gap**2 * a.number * share
    mean = a.mean + gap * share
    sums = (getattr(a, name) + getattr(b, name) for name in ("zeros", "negatives", "nan", "inf"))
    return Moments(number, np.minimum(a.low, b.low), np.maximum(a.high, b.high), mean, squares, *sums)


def pool(maps: Tensor, rows: int, columns: int, *, limit: int) -> Tensor:
    """Area means of `[map, row, column]`, as float32 or float64 `[map, rows, columns]`; no copy beyond `limit`."""
    if maps.shape[1:] == (rows, columns):
        return real(maps)
    in_place = _pooled_in_place(maps)
    if maps.numel() <= limit or in_place:
        batch = _batch_of_one(maps) if in_place else real(maps).unsqueeze(0)
        return functional.adaptive_avg_pool2d(batch, (rows, columns))[0]
    height = maps.shape[1]
    edges = [(i * height // rows, -(-(i + 1) * height // rows)) for i in range(rows)]
    bands = torch.stack([_row_mean(maps[:, top:bottom], limit) for top, bottom in edges], dim=1)
    return functional.adaptive_avg_pool2d(bands, (rows, columns))


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
    parts: list[tuple[int, Tensor]] = []
    merged: dict[int, Moments] = {}
    pooled: list[Tensor] = []
    structure: list[Tensor] = []
    keep = grid is not None and len(channels) * math.prod(grid) <= _KEPT
    for start, piece in pieces(channels, limit):
        values = real(piece, double=careful).contiguous()
        finite = values.isfinite() if careful else None
        parts.append((start, _moments(values) if finite is None else _careful_moments(values, finite)))
        if sum(part.numel() for _, part in parts) > limit:
            _bring(parts, merged)
            parts = []
        if grid is not None and piece.shape[1:] == channels.shape[1:]:
            maps = pool(values if finite is None else values.where(finite, 0), *grid, limit=limit)
            structure.append(_variance(maps))
            pooled += [maps] if keep else []
    if grid is not None and not structure:
        for run in channels.split(max(1, min(_KEPT // math.prod(grid), limit // (grid[0] * channels.shape[2])))):
            maps = pool(run, *grid, limit=limit).nan_to_num(0, 0, 0)
            structure.append(_variance(maps))
            pooled += [maps] if keep else []
    scores = _bring(parts, merged, structure)
    moments = Moments(*np.concatenate(list(merged.values()), axis=1))
    return Scan(moments, scores, torch.cat(pooled) if pooled else None)


def _variance(maps: Tensor) -> Tensor:
    """Of each map: `[map]`. Two plain passes: `torch.var` walks a row one value at a time."""
    rows = maps.flatten(1)
    return (rows - rows.mean(1, keepdim=True)).square_().mean(1)


def _moments(values: Tensor) -> Tensor:
    """`[9, channel]` of `[channel, ...]`, all of it finite."""
    axes = tuple(range(1, values.ndim))
    size = math.prod(values.shape[1:])
    mean = values.mean(axes, keepdim=True)
    squares = torch.linalg.vector_norm(values - mean, dim=axes).square()
    zeros, negatives = _signs(values, axes, size)
    none = torch.zeros_like(zeros)
    fields = (none + size, values.amin(axes), values.amax(axes), mean.flatten(), squares, zeros, negatives, none, none)
    return torch.stack(fields)


def _careful_moments(values: Tensor, finite: Tensor) -> Tensor:
    axes = tuple(range(1, values.ndim))
    filled = values.where(finite, 0)
    count = finite.sum(axes, keepdim=True).to(values.dtype)
    mean = filled.sum(axes, keepdim=True) / count.clamp(min=1)
    squares = (filled - mean).where(finite, 0).square().sum(axes)
    zeros, negatives = _signs(filled, axes, math.prod(values.shape[1:]))
    count = count.flatten()
    zeros = zeros - (values[0].numel() - count)
    low, high = values.where(finite, math.inf).amin(axes), values.where(finite, -math.inf).amax(axes)
    nan, inf = values.isnan().sum(axes), values.isinf().sum(axes)
    return torch.stack([count, low, high, mean.flatten(), squares, zeros, negatives, nan, inf])


def _signs(values: Tensor, axes: tuple[int, ...], size: int) -> tuple[Tensor, Tensor]:
    """Numbers of zeros and of negatives: two sums of signs, a quarter of the time of two comparisons and counts."""
    sign = values.sign()
    balance, nonzero = sign.sum(axes), sign.abs_().sum(axes)
    return size - nonzero, (nonzero - balance) / 2


def _bring(parts: list[tuple[int, Tensor]], merged: dict[int, Moments], more: Sequence[Tensor] = ()) -> Doubles:
    """Bring small results over in one transfer; add `parts` to those of the same channels, and return `more`."""
    small = [part.flatten() for _, part in parts] + list(more)
    if not small:
        return np.empty(0)
    packed = torch.cat([part.to(small[0]) for part in small]).cpu().numpy().astype(np.float64)
    taken = 0
    for start, part in parts:
        block = Moments(*packed[taken : taken + part.numel()].reshape(part.shape))
        merged[start] = joined(merged[start], block) if start in merged else block
        taken += part.numel()
    rest: Doubles = packed[taken:]
    return rest
