"""Per-channel measures in one read of the values, piece by piece."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from .values import real
from .views import pieces

Doubles = npt.NDArray[np.float64]


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

    @property
    def finite(self) -> bool:
        """Whether there is nothing but finite values."""
        return not self.nan.any() and not self.inf.any()


class Scan(NamedTuple):
    """What one read gives. `structure: [channel]`, empty where it was not asked for."""

    moments: Moments
    structure: Doubles


def scan(channels: Tensor, *, limit: int, grid: tuple[int, int] | None = None) -> Scan:
    """Measure `[channel, ...]`. With `grid`, also the variance of each map after pooling to that many cells.

    A second read, in float64 and with a mask, follows only where the first shows values that are not finite, or
    that float32 cannot add up.
    """
    quick = _scan(channels, limit, grid, careful=False)
    packed = np.concatenate([*quick.moments, quick.structure])
    return quick if np.isfinite(packed).all() else _scan(channels, limit, grid, careful=True)


def total(moments: Moments) -> Moments:
    """All channels as one: each field `[1]`."""
    number = moments.number.sum()
    mean = (moments.mean * moments.number).sum() / max(number, 1)
    squares = (moments.squares + moments.number * (moments.mean - mean) ** 2).sum()
    sums = (field.sum() for field in (moments.zeros, moments.negatives, moments.nan, moments.inf))
    fields = (number, moments.low.min(), moments.high.max(), mean, squares, *sums)
    return Moments(*(np.asarray([field]) for field in fields))


def pool(maps: Tensor, rows: int, columns: int, *, limit: int) -> Tensor:
    """Area means of `[map, row, column]`, as float32 or float64 `[map, rows, columns]`; no copy beyond `limit`."""
    if maps.shape[1:] == (rows, columns):
        return real(maps)
    if maps.numel() <= limit:
        # As a batch of one: channels-last memory then has a kernel of its own.
        return functional.adaptive_avg_pool2d(real(maps).unsqueeze(0), (rows, columns))[0]
    if len(maps) > 1:
        return torch.cat([pool(one, rows, columns, limit=limit) for one in maps.split(1)])
    height = maps.shape[1]
    edges = [(i * height // rows, -(-(i + 1) * height // rows)) for i in range(rows)]
    return torch.cat([_mean_of_rows(maps[:, top:bottom], columns, limit) for top, bottom in edges], dim=1)


def _mean_of_rows(band: Tensor, columns: int, limit: int) -> Tensor:
    """`[1, row, column]` -> `[1, 1, columns]`."""
    step = max(1, limit // band.shape[2])
    sums = [real(part).sum(1, keepdim=True) for part in band.split(step, dim=1)]
    return functional.adaptive_avg_pool2d(torch.stack(sums).sum(0) / band.shape[1], (1, columns))


def _scan(channels: Tensor, limit: int, grid: tuple[int, int] | None, *, careful: bool) -> Scan:
    parts: list[tuple[int, Tensor]] = []
    structure: list[Tensor] = []
    whole = math.prod(channels.shape[1:]) <= limit
    for start, piece in pieces(channels, limit):
        values = real(piece, double=careful).contiguous()
        finite = values.isfinite() if careful else None
        parts.append((start, _moments(values) if finite is None else _careful_moments(values, finite)))
        if grid is not None and whole:
            structure.append(_structure(values if finite is None else values.where(finite, 0), grid, limit))
    if grid is not None and not whole:
        structure = [_structure(one, grid, limit) for one in channels.split(1)]
    return _collect(parts, len(channels), structure)


def _structure(maps: Tensor, grid: tuple[int, int], limit: int) -> Tensor:
    """Variance of each pooled map: `[map]`. A cell that is not finite counts as 0."""
    pooled = pool(maps, *grid, limit=limit).flatten(1)
    if maps.numel() > limit:
        pooled = pooled.nan_to_num(0, 0, 0)
    # Two plain passes: `torch.var` walks a row one value at a time.
    return (pooled - pooled.mean(1, keepdim=True)).square_().mean(1)


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


def _collect(parts: list[tuple[int, Tensor]], channels: int, structure: list[Tensor]) -> Scan:
    """Bring all small results over in one transfer, and join the parts of channels that were cut."""
    small = [part.flatten() for _, part in parts] + structure
    packed = torch.cat([part.to(small[0]) for part in small]).cpu().numpy().astype(np.float64)
    fields = len(parts[0][1])
    joined = np.zeros((fields, channels))
    joined[1], joined[2] = np.inf, -np.inf
    taken = 0
    for start, part in parts:
        size = part.shape[1]
        block = packed[taken : taken + fields * size].reshape(fields, size)
        joined[:, start : start + size] = _joined(Moments(*joined[:, start : start + size]), Moments(*block))
        taken += fields * size
    return Scan(Moments(*joined), packed[taken:])


def _joined(a: Moments, b: Moments) -> Doubles:
    """The moments of both together, after Chan, Golub and LeVeque's update of the variance."""
    number = a.number + b.number
    share = b.number / np.maximum(number, 1)
    gap = b.mean - a.mean
    with np.errstate(over="ignore", invalid="ignore"):  # not finite: the caller reads again, carefully
        squares = a.squares + b.squares + gap**2 * a.number * share
        mean = a.mean + gap * share
    sums = (getattr(a, name) + getattr(b, name) for name in ("zeros", "negatives", "nan", "inf"))
    return np.stack([number, np.minimum(a.low, b.low), np.maximum(a.high, b.high), mean, squares, *sums])
