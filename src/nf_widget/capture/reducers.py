"""Activation -> Summary, inside the hook, on the activation's own device, in bounded memory.

An activation is read about three times: for its moments, for its histogram, and where a few channels are made
into a picture. Only those small results leave the device, in as many transfers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from ..records import Axes, Histogram, Ints, Nothing, Picture, Ranking, Statistics, Summary
from . import channels as rank
from . import pictures
from .distribution import statistics
from .moments import joined, scan
from .sparse import stored_picture
from .values import Sample, pick, plainly, spec_of
from .views import Form, View, arrange

Reduced: TypeAlias = tuple[Picture, Statistics, Histogram | None, Ranking | None]
Pinned: TypeAlias = Sequence[int] | None

# Bytes that one element of a piece takes while it is measured, at worst: float64, a mask, and their products.
_COST = 64
# Numbers of values are added up in float32, which counts to 2**24.
_LARGEST_PIECE = 1 << 22


def reduce(
    tensor: Tensor,
    axes: Axes,
    *,
    leaf: str,
    sample: int = 0,
    budget: int = 64 << 20,
    pinned: Pinned = None,
) -> Summary:
    """One sample of `tensor` as pictures and numbers whose size does not grow with it.

    `axes` names the dimensions of `tensor`. `budget` bounds the extra memory, in bytes. `pinned` are the channels to
    show, instead of those that rank highest, so that a picture keeps them from frame to frame. The tensor is
    read only; any dtype and layout gives a summary, if need be one that says why there is no picture.
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


def _reduce(sample: Sample, limit: int, pinned: Pinned) -> Reduced:
    if sample.values.layout != torch.strided:
        values = sample.values.values().reshape(1, -1)
        stats, histogram = statistics(values, scan(values, limit=limit).moments, limit=limit)
        return stored_picture(sample.values, limit=limit), stats, histogram, None
    view = arrange(sample)
    return _REDUCERS[view.form](view, limit, pinned)


def _maps(view: View, limit: int, pinned: Pinned) -> Reduced:
    maps = view.values
    ranked = view.axes.kind == "image"
    found = scan(maps, limit=limit, grid=rank.grid_of(maps) if ranked else None)
    stats, histogram = statistics(maps, found.moments, limit=limit)
    chosen = pinned is not None
    ranking = rank.by_structure(maps, found, stats, limit=limit, chosen=chosen) if ranked else None
    best = ranking.order if ranking else range(len(maps))
    return pictures.feature_maps(maps, _shown(best, pinned, len(maps)), limit=limit), stats, histogram, ranking


def _tokens(view: View, limit: int, pinned: Pinned) -> Reduced:
    features, special = view.channels, view.axes.special
    patches = scan(features[:, special:], limit=limit).moments
    found = joined(scan(features[:, :special], limit=limit).moments, patches) if special else patches
    stats, histogram = statistics(features, found, limit=limit)
    ranking = rank.by_spread(view, patches, found, stats, limit=limit, chosen=pinned is not None)
    shown = _shown(ranking.order, pinned, len(features))
    return pictures.token_strip(view, shown, limit=limit), stats, histogram, ranking


def _volume(view: View, limit: int, pinned: Pinned) -> Reduced:
    found = scan(view.values, limit=limit)
    stats, histogram = statistics(view.values, found.moments, limit=limit)
    ranking = rank.by_variance(view.values, found, stats, limit=limit)
    channel = int(_shown(ranking.order, pinned, len(view.values))[0])
    picture = pictures.volume_slices(view.values, channel, found.moments, limit=limit)
    return picture, stats, histogram, ranking


def _vector(view: View, limit: int, _: Pinned) -> Reduced:
    channels = view.channels
    stats, histogram = statistics(channels, scan(channels, limit=limit).moments, limit=limit)
    return pictures.vector_strip(view.values, limit=limit), stats, histogram, None


def _scalar(view: View, limit: int, _: Pinned) -> Reduced:
    channels = view.channels
    stats, _histogram = statistics(channels, scan(channels, limit=limit).moments, limit=limit)
    return pictures.scalar(view.values), stats, None, None


def _shown(best: Sequence[int] | Ints, pinned: Pinned, count: int) -> rank.Indices:
    chosen = [channel for channel in pinned or () if 0 <= channel < count]
    return np.asarray(chosen or best, np.int64)


_REDUCERS: dict[Form, Callable[[View, int, Pinned], Reduced]] = {
    "scalar": _scalar,
    "vector": _vector,
    "tokens": _tokens,
    "maps": _maps,
    "volume": _volume,
}
