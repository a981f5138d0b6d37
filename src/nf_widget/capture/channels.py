"""Which channels a reader should see first, and which say nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nf_widget.records import Floats, Ranking, Statistics

from .moments import Doubles, Moments, Scan, pool, scan
from .values import real
from .views import View, pieces

# Coarser than texture and noise: what is left of a map at this size is structure.
GRID = 14
# So many of the best channels are told apart, until so many distinct ones are found; the others follow by score.
_CANDIDATES = 256
_DISTINCT = 32
_ALIKE = 0.8
_WEAK = 0.12
# A channel is dead when its values differ by no more than this share of the stage's largest magnitude.
_FLAT = 1e-6
# Where sigmoid, tanh and ReLU6 level off, and how near to it counts.
_BOUNDS = (1.0, -1.0, 6.0)
_NEAR = 1e-3

Indices = npt.NDArray[np.int64]


def grid_of(maps: Tensor) -> tuple[int, int]:
    """The size at which the structure of `[channel, row, column]` is measured."""
    return min(GRID, maps.shape[1]), min(GRID, maps.shape[2])


def by_structure(maps: Tensor, found: Scan, stats: Statistics, *, limit: int) -> Ranking:
    """Variance after pooling; a channel like one already taken, or a weak one, goes behind.

    Mean square would pick flat channels late in a net, and plain variance noise early.
    """

    def profiles(channels: Indices) -> Tensor:
        return gather(maps, channels, *grid_of(maps), limit=limit)

    order = _distinct_first(found.structure, profiles)
    silent = _silent(maps, found.moments, stats, limit)
    return Ranking("structure", order.astype(np.int32), _single(found.structure), *silent)


def by_spread(view: View, found: Scan, stats: Statistics, *, limit: int) -> Ranking:
    """Standard deviation over the patches: transformers carry a few features that are huge and constant."""
    features, special = view.channels, view.axes.special
    patches = features[:, special:] if special < features.shape[1] else features
    moments = scan(patches, limit=limit).moments if special else found.moments
    scores = np.sqrt(moments.variance)

    def profiles(channels: Indices) -> Tensor:
        return real(patches.index_select(0, torch.from_numpy(channels).to(patches.device)))

    order = _distinct_first(scores, profiles) if view.axes.grid else _descending(scores)
    silent = _silent(features, found.moments, stats, limit)
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
    return torch.cat([pool(some, rows, columns, limit=limit) for some in chosen])


def _distinct_first(scores: Doubles, profiles: Callable[[Indices], Tensor]) -> Indices:
    order = _descending(scores)
    strong = order[scores[order] >= _WEAK * scores[order[0]]]
    best = strong[:_CANDIDATES]
    taken, alike = _distinct(profiles(best).flatten(1).cpu().numpy()) if len(best) > 1 else ([0], [])
    behind = np.ones(len(scores), bool)
    behind[strong] = False
    behind[best[alike]] = True
    first = best[taken]
    rest = order[~np.isin(order, first)]
    return np.concatenate([first, rest[~behind[rest]], rest[behind[rest]]])


def _distinct(profiles: npt.NDArray[np.floating]) -> tuple[list[int], list[int]]:
    """(taken, alike): rows of `[channel, cell]` that differ from all taken before them, and rows that do not."""
    centred = np.nan_to_num(profiles, nan=0.0, posinf=0.0, neginf=0.0)
    centred = centred - centred.mean(1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = centred / np.where(length > 0, length, 1)
    alike = np.zeros(len(unit), bool)
    taken: list[int] = []
    for row in range(len(unit)):
        if alike[row]:
            continue
        alike |= np.abs(unit @ unit[row]) > _ALIKE
        taken.append(row)
        if len(taken) == _DISTINCT:
            break
    alike[taken] = False
    return taken, np.flatnonzero(alike).tolist()


def _descending(scores: Doubles) -> Indices:
    return np.argsort(-scores, kind="stable")


def _silent(channels: Tensor, moments: Moments, stats: Statistics, limit: int) -> tuple[int, int]:
    """Numbers of (dead, saturated) channels: the same value everywhere; at least half of the values at a bound."""
    cells = math.prod(channels.shape[1:])
    with np.errstate(invalid="ignore"):  # Inf - Inf where a channel has no finite value
        spread = moments.high - moments.low
    largest = max(abs(stats.minimum), abs(stats.maximum))
    dead = (moments.number > 0) & (spread <= _FLAT * largest) & (cells > 1)
    saturated = _at_bound(channels, stats, limit) * 2 >= cells
    return int(dead.sum()), int((saturated & ~dead).sum())


def _at_bound(channels: Tensor, stats: Statistics, limit: int) -> Indices:
    """How many values of each channel lie where a bounded activation levels off; 0 without such a bound."""
    numbers: Indices = np.zeros(len(channels), np.int64)
    for bound in _BOUNDS:
        end = stats.maximum if bound > 0 else stats.minimum
        if not channels.is_floating_point() or not abs(end - bound) <= _NEAR * abs(bound):
            continue
        for start, piece in pieces(channels, limit):
            near = (real(piece) / bound >= 1 - _NEAR).flatten(1).sum(1).cpu().numpy()
            numbers[start : start + len(near)] += near
    return numbers


def _single(scores: Doubles) -> Floats:
    with np.errstate(over="ignore"):
        return scores.astype(np.float32)
