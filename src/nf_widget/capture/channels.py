"""Which channels a reader should see first, and which say nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..records import Floats, Ranking, Statistics
from .moments import Doubles, Moments, Scan, pool, together
from .values import real
from .views import View, pieces

# Coarser than texture and noise: what is left of a map at this size is structure.
GRID = 14
# Channels are told apart, so many at a time, until so many distinct ones are found; the others follow by score.
_AT_ONCE = 256
_DISTINCT = 24
_ALIKE = 0.8
_WEAK = 0.12
# A channel is dead when its values differ by no more than this share of the stage's largest magnitude.
_FLAT = 1e-6
# So many of the last bits of a score in float64 do not count for the order; those left and an index fill an integer.
_DROPPED, _PLACES = 37, 36
# Where sigmoid, tanh and ReLU6 level off, and how near to it counts.
_BOUNDS = (1.0, -1.0, 6.0)
_NEAR = 1e-3

Indices = npt.NDArray[np.int64]
Rows = npt.NDArray[Any]


def grid_of(maps: Tensor) -> tuple[int, int]:
    """The size at which the structure of `[channel, row, column]` is measured."""
    return min(GRID, maps.shape[1]), min(GRID, maps.shape[2])


def by_structure(maps: Tensor, found: Scan, stats: Statistics, *, limit: int, chosen: bool) -> Ranking:
    """Variance after pooling; a channel like one already taken, or a weak one, goes behind.

    Mean square would pick flat channels late in a net, and plain variance noise early. With the picture's channels
    `chosen` already, alike ones are not told apart.
    """

    def profiles(channels: Indices) -> Tensor:
        if found.pooled is not None:
            return found.pooled.index_select(0, torch.from_numpy(channels).to(maps.device))
        return gather(maps, channels, *grid_of(maps), limit=limit)

    order = _descending(found.structure) if chosen else _distinct_first(found.structure, profiles)
    silent = _silent(maps, found.moments, stats, limit)
    return Ranking("structure", order.astype(np.int32), _single(found.structure), *silent)


def by_spread(view: View, patches: Moments, found: Moments, stats: Statistics, *, limit: int, chosen: bool) -> Ranking:
    """Standard deviation over the patches: transformers carry a few features that are huge and constant.

    `found` are the moments of all tokens, `patches` those of the tokens after the special ones.
    """
    features = view.channels
    scores = np.sqrt(patches.variance)

    def profiles(channels: Indices) -> Tensor:
        return gather(view.patches, channels, *grid_of(view.patches), limit=limit)

    told_apart = view.axes.grid is not None and not chosen
    order = _distinct_first(scores, profiles) if told_apart else _descending(scores)
    silent = _silent(features, found, stats, limit)
    return Ranking("spread", order.astype(np.int32), _single(scores), *silent)


def by_variance(channels: Tensor, found: Scan, stats: Statistics, *, limit: int) -> Ranking:
    scores = found.moments.variance
    silent = _silent(channels, found.moments, stats, limit)
    return Ranking("variance", _descending(scores).astype(np.int32), _single(scores), *silent)


def gather(maps: Tensor, channels: Indices, rows: int, columns: int, *, limit: int) -> Tensor:
    """Some maps, pooled to `[channel, rows, columns]`."""
    step = max(1, limit // maps[0].numel())
    runs = [torch.from_numpy(channels[i : i + step]).to(maps.device) for i in range(0, len(channels), step)]
    # A single map is taken as a view: it may be larger than the limit.
    chosen = (maps.narrow(0, int(run), 1) if len(run) == 1 else maps.index_select(0, run) for run in runs)
    return together([pool(some, rows, columns, limit=limit) for some in chosen])


def _distinct_first(scores: Doubles, profiles: Callable[[Indices], Tensor]) -> Indices:
    order = _descending(scores)
    strong = order[scores[order] >= _WEAK * scores[order[0]]]
    # 0 in front, 1 behind them, 2 at the end; within each, by score.
    place = np.full(len(scores), 2)
    place[strong] = 1
    taken: list[Rows] = []
    for start in range(0, len(strong) if len(strong) > 1 else 0, _AT_ONCE):
        channels = strong[start : start + _AT_ONCE]
        place[channels] = _places(_unit(profiles(channels).flatten(1).cpu().numpy()), taken)
        if len(taken) == _DISTINCT:
            break
    return order[np.argsort(place[order], kind="stable")]


def _places(units: Rows, taken: list[Rows]) -> Indices:
    """Of each row of `[channel, cell]`: 0 where it differs from all taken before it, and is taken; 2 where not."""
    places: Indices = np.ones(len(units), np.int64)
    for other in taken:
        places[np.abs(units @ other) > _ALIKE] = 2
    for row, unit in enumerate(units):
        if len(taken) == _DISTINCT:
            break
        if places[row] == 1:
            places[(np.abs(units @ unit) > _ALIKE) & (places == 1)] = 2
            places[row] = 0
            taken.append(unit)
    return places


def _unit(profiles: Rows) -> Rows:
    """Rows without their mean and of length 1, so that their product is a correlation; 0 where a row is constant."""
    finite = profiles if np.isfinite(profiles).all() else np.nan_to_num(profiles, nan=0.0, posinf=0.0, neginf=0.0)
    centred = finite - finite.mean(1, keepdims=True)
    largest = np.abs(centred).max(1, keepdims=True)
    unit = centred / np.where(largest > 0, largest, 1)
    rows: Rows = unit / np.maximum(np.sqrt(np.square(unit).sum(1, keepdims=True)), 1)
    return rows


def _descending(scores: Doubles) -> Indices:
    """By score, at least 0; those that differ by no more than sums in another order would, by index."""
    # The patterns of such numbers rise as they do. Rounded, and with the index behind it, each is another integer:
    # sorting these takes a fraction of the time that a stable sort of the numbers does.
    patterns = (np.fmax(scores, 0.0) + 0.0).view(np.int64)
    patterns = (patterns + (1 << (_DROPPED - 1))) >> _DROPPED
    keys: Indices = np.arange(len(scores)) - (patterns << _PLACES)
    keys.sort()
    return keys & ((1 << _PLACES) - 1)


def _silent(channels: Tensor, moments: Moments, stats: Statistics, limit: int) -> tuple[int, int]:
    """Numbers of (dead, saturated) channels: the same value everywhere; at least half of the values at a bound."""
    cells = math.prod(channels.shape[1:])
    if cells <= 1:
        return 0, 0
    largest = max(abs(stats.minimum), abs(stats.maximum))
    dead = (moments.number > 0) & (moments.high - moments.low <= _FLAT * largest)
    at_bound = _at_bound(channels, stats, limit)
    if at_bound is None:
        return int(np.count_nonzero(dead)), 0
    saturated = (moments.number > 0) & (at_bound * 2 >= cells)
    return int(np.count_nonzero(dead & ~saturated)), int(np.count_nonzero(saturated))


def _at_bound(channels: Tensor, stats: Statistics, limit: int) -> Indices | None:
    """How many values of each channel lie where a bounded activation levels off; None without such a bound."""
    ends = [bound for bound in _BOUNDS if _is_near(stats.maximum if bound > 0 else stats.minimum, bound)]
    if not ends or not channels.is_floating_point():
        return None
    numbers: Indices = np.zeros(len(channels), np.int64)
    for bound in ends:
        for start, piece in pieces(channels, limit):
            near = (real(piece) / bound >= 1 - _NEAR).flatten(1).sum(1).cpu().numpy()
            numbers[start : start + len(near)] += near
    return numbers


def _is_near(end: float, bound: float) -> bool:
    return abs(end - bound) <= _NEAR * abs(bound)


def _single(scores: Doubles) -> Floats:
    return scores.astype(np.float32)
