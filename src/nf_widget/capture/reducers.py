"""Activation -> Summary, inside the hook, on the activation's own device, in bounded memory.

An activation is read about three times: for its moments, for its histogram, and where a few channels are made
into a picture. Only those small results leave the device, in as many transfers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..records import Axes, Histogram, Ints, Nothing, Picture, Ranking, Statistics, Summary
from . import channels as rank
from . import pictures
from .distribution import statistics
from .measures import Measured, measured, measured_together
from .moments import scan
from .sparse import stored_picture
from .values import Sample, pick, plainly, spec_of
from .views import Form, View, arrange

Reduced: TypeAlias = tuple[Picture, Statistics, Histogram | None, Ranking | None]
Shown: TypeAlias = tuple[Picture, Ranking | None]
Pinned: TypeAlias = Sequence[int] | None

# Bytes that one element of a piece takes while it is measured, at worst: float64, a mask, and their products.
_COST = 64
# What pins a volume: a channel and three places in it.
_PLACES = 4
# Numbers of values are added up in float32, which counts to 2**24.
_LARGEST_PIECE = 1 << 22
_BUDGET = 64 << 20
# Up to so many elements calls take longer than arithmetic.
SMALL = 1 << 14
_FLOATS = frozenset((torch.float32, torch.float16, torch.bfloat16))


@dataclass(frozen=True, slots=True)
class Reduction:
    """What `reduce` is called with."""

    tensor: Tensor
    axes: Axes
    leaf: str
    sample: int = 0
    pinned: Pinned = None


def reduce(
    tensor: Tensor,
    axes: Axes,
    *,
    leaf: str,
    sample: int = 0,
    budget: int = _BUDGET,
    pinned: Pinned = None,
) -> Summary:
    """One sample of `tensor` as pictures and numbers whose size does not grow with it.

    `axes` names the dimensions of `tensor`. `budget` bounds the extra memory, in bytes. `pinned` are the channels to
    show, instead of those that rank highest, so that a picture keeps them from frame to frame; of a volume, one channel
    and the depth, row and column that it is cut at. The tensor is read only; any dtype and layout gives a summary, if
    need be one that says why there is no picture.
    """
    with plainly():
        spec = spec_of(tensor)
        try:
            found = pick(tensor, axes, sample)
            if isinstance(found, Nothing):
                return Summary(leaf, spec, axes, found, None, None, None)
            reduced = _reduce(found, max(1, min(budget // _COST, _LARGEST_PIECE)), pinned)
        except (RuntimeError, TypeError, NotImplementedError, AttributeError) as error:
            # Subclasses may refuse any operation, and must not take the user's forward down.
            words = str(error).splitlines() or [""]
            reason = f"{type(tensor).__name__} of {spec.dtype} cannot be read: {words[0]}"
            return Summary(leaf, spec, axes, Nothing(reason), None, None, None)
        return Summary(leaf, found.spec, found.axes, *reduced)


def is_small(tensor: Tensor) -> bool:
    """Whether `reduce_together` is for it: an ordinary tensor of few floats in the CPU's memory."""
    plain = type(tensor) is Tensor and tensor.layout == torch.strided and tensor.dtype in _FLOATS
    return plain and tensor.device.type == "cpu" and 0 < tensor.numel() <= SMALL


def reduce_together(reductions: Sequence[Reduction]) -> list[Summary]:
    """`reduce` of each, all of which are small, in less time."""
    with plainly():
        picked = [pick(each.tensor, each.axes, each.sample) for each in reductions]
        views = [arrange(found) for found in picked if isinstance(found, Sample)]
        limit = _BUDGET // _COST
        ready = zip(views, measured_together(views, limit), strict=True)
        summaries = []
        for each, found in zip(reductions, picked, strict=True):
            if isinstance(found, Nothing):
                summaries.append(Summary(each.leaf, spec_of(each.tensor), each.axes, found, None, None, None))
            else:
                reduced = _reduced(*next(ready), limit, each.pinned)
                summaries.append(Summary(each.leaf, found.spec, found.axes, *reduced))
        return summaries


def _reduce(sample: Sample, limit: int, pinned: Pinned) -> Reduced:
    if sample.values.layout != torch.strided:
        values = sample.values.values().reshape(1, -1)
        stats, histogram = statistics(values, scan(values, limit=limit).moments, limit=limit)
        return stored_picture(sample.values, limit=limit), stats, histogram, None
    view = arrange(sample)
    return _reduced(view, measured(view, limit), limit, pinned)


def _reduced(view: View, found: Measured, limit: int, pinned: Pinned) -> Reduced:
    picture, ranking = _SHOW[view.form](view, found, limit, pinned)
    return picture, found.statistics, None if view.form == "scalar" else found.histogram, ranking


def _maps(view: View, found: Measured, limit: int, pinned: Pinned) -> Shown:
    maps, chosen = view.values, pinned is not None
    ranking = None
    if view.axes.kind == "image":
        ranking = rank.by_structure(maps, found.scan, found.statistics, limit=limit, chosen=chosen)
    best = ranking.order if ranking else range(len(maps))
    return pictures.feature_maps(maps, _shown(best, pinned, len(maps)), limit=limit), ranking


def _tokens(view: View, found: Measured, limit: int, pinned: Pinned) -> Shown:
    patches, chosen = found.scan.moments, pinned is not None
    ranking = rank.by_spread(view, patches, found.moments, found.statistics, limit=limit, chosen=chosen)
    shown = _shown(ranking.order, pinned, len(view.channels))
    return pictures.token_strip(view, shown, limit=limit), ranking


def _volume(view: View, found: Measured, limit: int, pinned: Pinned) -> Shown:
    ranking = rank.by_variance(view.values, found.scan, found.statistics, limit=limit)
    channel = int(_shown(ranking.order, None if pinned is None else pinned[:1], len(view.values))[0])
    at = pinned[1:] if pinned is not None and len(pinned) == _PLACES else None
    return pictures.volume_slices(view.values, channel, found.moments, limit=limit, at=at), ranking


def _vector(view: View, _found: Measured, limit: int, _: Pinned) -> Shown:
    return pictures.vector_strip(view.values, limit=limit), None


def _scalar(view: View, _found: Measured, _limit: int, _: Pinned) -> Shown:
    return pictures.scalar(view.values), None


def _shown(best: Sequence[int] | Ints, pinned: Pinned, count: int) -> rank.Indices:
    chosen = [channel for channel in pinned or () if 0 <= channel < count]
    return np.asarray(chosen or best, np.int64)


_SHOW: dict[Form, Callable[[View, Measured, int, Pinned], Shown]] = {
    "scalar": _scalar,
    "vector": _vector,
    "tokens": _tokens,
    "maps": _maps,
    "volume": _volume,
}
