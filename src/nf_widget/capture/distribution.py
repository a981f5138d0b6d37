"""Histogram and robust range of all values, and the statistics of a leaf."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..records import Histogram, Statistics
from .moments import Moments, total
from .scratch import Scratch
from .values import real
from .views import flat, pieces

BINS = 64
# Counted, then added up to `BINS`: percentiles need more than 64 steps, and 2,050 codes still fit 16 bits.
FINE = 2048
# A robust range that lies in fewer fine bins than this is counted again, in bins of its own.
_COARSE = 32
_SAMPLE = 4096
_LOW, _HIGH = 0.01, 0.99
_MOST = np.iinfo(np.int32).max

Counts = npt.NDArray[np.int64]


def statistics(
    channels: Tensor, moments: Moments, *, limit: int, counts: Counts | None = None
) -> tuple[Statistics, Histogram | None]:
    """Of `[channel, ...]` with its measured moments, and `counts: [FINE + 2]` where values are counted already.

    No histogram where no value is finite.
    """
    whole = total(moments)
    count, nan, inf = int(whole.number), int(moments.nan), int(moments.inf)
    size = count + nan + inf
    shares = (moments.zeros / size, moments.negatives / size, nan, inf)
    if not count:
        return Statistics(size, *(math.nan,) * 4, *shares, math.nan, math.nan), None
    values = _Values(channels, limit, count, whole.low, whole.high)
    counts = _counts(values, whole.low, whole.high) if counts is None else counts
    robust = _robust(values, counts, moments.negatives, moments.zeros)
    std = math.sqrt(whole.squares / count)
    stats = Statistics(size, whole.low, whole.high, whole.mean, std, *shares, *robust)
    return stats, _histogram(whole.low, whole.high, counts)


@dataclass(frozen=True, slots=True)
class _Values:
    channels: Tensor
    limit: int
    finite: int
    low: float
    high: float


def _counts(values: _Values, low: float, high: float) -> Counts:
    """`[FINE + 2]`: numbers of finite values below `low`, in `FINE` equal bins over [low, high], and above."""
    # Outside these spans float32 would overflow, or its steps would be too few.
    double = not 1e-30 < high - low < 1e38
    shrink = 1.0 if math.isfinite(high - low) else 0.25
    all_inside = low <= values.low and values.high <= high
    low, high = low * shrink, high * shrink
    counts = np.zeros(FINE + 2, np.int64)
    if high - low < 1e-290:
        counts[1 + FINE // 2] = values.finite
        return counts
    counted: list[Tensor] = []
    scratch = Scratch()
    for piece in _runs(values):
        numbers = scratch.real(piece, double=double)
        if values.finite < values.channels.numel():
            numbers = numbers[numbers.isfinite()]
        if shrink != 1:
            numbers = numbers * shrink
        places = torch.sub(numbers, low, out=scratch.like(numbers, "work")).mul_(FINE / (high - low))
        if not all_inside:
            places = places.add_(1).clamp_(0, FINE + 1)
        # Three times as fast as `torch.histc`, and the same every time on a GPU.
        counted.append(torch.bincount(scratch.short(places), minlength=FINE + 2 - all_inside))
        if len(counted) > 1:
            counted = [counted[0].add_(counted[1])]
    # Where all lie inside, the first bin comes first, and the greatest value, which ends the last, behind it.
    counts[int(all_inside) :] = counted[0].cpu().numpy()
    return counts


def _runs(values: _Values) -> Iterator[Tensor]:
    """All values, `[n]` at a time: which channel they belong to does not matter, and so memory is read as it lies."""
    channels = values.channels
    reach = 1 + sum((size - 1) * stride for size, stride in zip(channels.shape, channels.stride(), strict=True))
    dense = reach == channels.numel()
    for _, piece in pieces(flat(channels).unsqueeze(0) if dense else channels, values.limit):
        yield flat(piece)


def _histogram(low: float, high: float, counts: Counts) -> Histogram:
    if high == low:  # a width is needed to draw it, and this one is never lost in rounding
        reach = 0.5 * max(1.0, abs(low))
        low, high = low - reach, high + reach
    folded = counts[1:-1].reshape(BINS, -1).sum(1)
    folded[-1] += counts[-1]
    return Histogram(low, high, np.minimum(folded, _MOST).astype(np.int32))


def _robust(values: _Values, counts: Counts, negatives: float, zeros: float) -> tuple[float, float]:
    low, high, below = values.low, values.high, counts.cumsum()
    if low == high:
        return low, high
    ends = _quantile(below, low, high, _LOW), _quantile(below, low, high, _HIGH)
    if ends[1] - ends[0] < (high - low) * _COARSE / FINE:
        ends = _refined(values, ends)
    robust = []
    for share, end in zip((_LOW, _HIGH), ends, strict=True):
        # Zeros are often a large part of all (ReLU), and then the percentile is exactly zero.
        zero = negatives < share * values.finite <= negatives + zeros
        robust.append(0.0 if zero else min(max(end, low), high))
    return robust[0], robust[1]


def _refined(values: _Values, ends: tuple[float, float]) -> tuple[float, float]:
    """Count again over the range of a sample's percentiles; where that misses an end, the first count stands."""
    sample = np.sort(_every(values))
    first, last = sample[len(sample) // 400], sample[-1 - len(sample) // 400]
    reach = 0.25 * (last - first)
    low, high = max(values.low, float(first - reach)), min(values.high, float(last + reach))
    if not low < high:
        return low, high
    counts = _counts(values, low, high)
    below = counts.cumsum()
    found = []
    for share, end in zip((_LOW, _HIGH), ends, strict=True):
        inside = below[0] < share * below[-1] <= below[-2]
        found.append(_quantile(below, low, high, share) if inside else end)
    return found[0], found[1]


def _every(values: _Values) -> npt.NDArray[np.float64]:
    """About 4,096 finite values at equal distances in memory."""
    step = max(1, values.channels.numel() // _SAMPLE) | 1
    found = [real(run[::step], double=True) for run in _runs(values)]
    sample: npt.NDArray[np.float64] = torch.cat(found).cpu().numpy()
    finite = sample[np.isfinite(sample)]
    return finite if len(finite) else np.asarray([values.low, values.high])


def _quantile(below: Counts, low: float, high: float, share: float) -> float:
    """Where `share` of all values lies below, as if values lay evenly in their bin. `below: [FINE + 2]`, summed up."""
    target = share * int(below[-1])
    place = min(max(int(below.searchsorted(target)), 1), FINE)
    before, after = int(below[place - 1]), int(below[place])
    inside = (target - before) / max(after - before, 1)
    # Weighted ends instead of a width: the difference of the largest floats is no float.
    part = float(place - 1 + min(max(inside, 0.0), 1.0)) / FINE
    return low * (1 - part) + high * part
