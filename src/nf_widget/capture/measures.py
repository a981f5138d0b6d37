"""What is measured of a view before a picture is made of it: alone, or, where views are small, many together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from ..records import Histogram, Statistics
from .channels import grid_of
from .distribution import FINE, Counts, statistics
from .moments import Doubles, Moments, Scan, joined, scan, spread_of
from .values import real
from .views import View

Rows = npt.NDArray[Any]


class Measured(NamedTuple):
    """`scan` is of what channels are ranked by: of tokens without the special ones. `moments` are of all values."""

    scan: Scan
    moments: Moments
    statistics: Statistics
    histogram: Histogram | None


def measured(view: View, limit: int) -> Measured:
    """No extra memory beyond `limit` elements, but for small results."""
    first, *rest = (scan(block, limit=limit, grid=_grid(view)) for block in _blocks(view))
    moments = joined(rest[0].moments, first.moments) if rest else first.moments
    return Measured(first, moments, *statistics(view.everything, moments, limit=limit))


def measured_together(views: Sequence[View], limit: int) -> list[Measured]:
    """The same for views in a CPU's memory that are so small that the calls take longer than the arithmetic: all of
    them are copied, in float64, and each step is one call for all."""
    blocks = [[_rows(block) for block in _blocks(view)] for view in views]
    # A sum that is not finite has NaN or Inf in it, or numbers that squares would not hold.
    tame = [all(math.isfinite(block.sum()) for block in rows) for rows in blocks]
    some = [rows for rows, each in zip(blocks, tame, strict=True) if each]
    found = iter(_together(some, [view for view, each in zip(views, tame, strict=True) if each], limit) if some else [])
    return [next(found) if each else measured(view, limit) for view, each in zip(views, tame, strict=True)]


def _together(blocks: Sequence[Sequence[Rows]], views: Sequence[View], limit: int) -> Iterator[Measured]:
    values = np.concatenate([block.ravel() for rows in blocks for block in rows], dtype=np.float64)
    sizes = [sum(block.size for block in rows) for rows in blocks]
    moments = _moments(values, [block.shape for rows in blocks for block in rows])
    ends = itertools.accumulate(sizes)
    for view, rows, size, end, counts in zip(views, blocks, sizes, ends, _counts(values, sizes), strict=True):
        first, *rest = (next(moments) for _ in rows)
        part = values[end - size : end]
        nonzero, negatives = np.count_nonzero(part), np.count_nonzero(part < 0)
        fields = (joined(rest[0], first) if rest else first)[:5]
        whole = Moments(*fields, zeros=float(size - nonzero), negatives=float(negatives))
        stats = statistics(view.everything, whole, limit=limit, counts=counts)
        yield Measured(Scan(first, _structure(view, first, limit)), whole, *stats)


def _moments(values: Doubles, shapes: Sequence[tuple[int, ...]]) -> Iterator[Moments]:
    """Of blocks of `[channel, value]` that lie one after the other in `values`."""
    channels, sizes = zip(*shapes, strict=True)
    lengths = np.repeat(sizes, channels)
    starts = lengths.cumsum() - lengths
    mean = np.add.reduceat(values, starts) / lengths
    gaps = values - np.repeat(mean, lengths)
    squares = np.add.reduceat(gaps * gaps, starts)
    number = lengths.astype(np.float64)
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    for end, count in zip(itertools.accumulate(channels), channels, strict=True):
        at = slice(end - count, end)
        yield Moments(number[at], low[at], high[at], mean[at], squares[at])


def _counts(values: Doubles, sizes: Sequence[int]) -> Counts:
    """`[view, FINE + 2]`: numbers of values in equal bins over the range of each view."""
    starts = [end - size for end, size in zip(itertools.accumulate(sizes), sizes, strict=True)]
    low = np.minimum.reduceat(values, starts)
    span = np.maximum.reduceat(values, starts) - low
    several = span > 0
    scale = np.where(several, FINE / np.where(several, span, 1), 0)
    # Where all values are the same they lie in the middle.
    first = np.arange(len(sizes)) * (FINE + 2) + np.where(several, 1, 1 + FINE // 2)
    places = ((values - np.repeat(low, sizes)) * np.repeat(scale, sizes)).astype(np.int64) + np.repeat(first, sizes)
    counts: Counts = np.bincount(places, minlength=len(sizes) * (FINE + 2)).reshape(len(sizes), -1)
    return counts


def _blocks(view: View) -> list[Tensor]:
    """`[channel, ...]`: what channels are ranked by, then the rest."""
    has_special = view.axes.special and (view.form == "tokens" or view.tokens is not None)
    if not has_special:
        return [view.channels]
    special = view.everything[:, : view.axes.special]
    return [view.channels if view.form == "volume" else view.channels[:, view.axes.special :], special]


def _grid(view: View) -> tuple[int, int] | None:
    return grid_of(view.values) if view.form == "maps" and view.axes.kind == "image" else None


def _rows(block: Tensor) -> Rows:
    """`[channel, value]`"""
    rows: Rows = real(block).reshape(len(block), -1).numpy()
    return rows


def _structure(view: View, moments: Moments, limit: int) -> Doubles:
    grid = _grid(view)
    if grid is None:
        return np.empty(0)
    return moments.variance if grid == view.values.shape[1:] else spread_of(view.values, grid, limit)
