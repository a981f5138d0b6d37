"""Differences to a reference frame, of pictures and of tiles, subtracted before anything is quantised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..colours import colour_range
from ..records import (
    FeatureMaps,
    Floats,
    Nothing,
    Picture,
    Request,
    Scalar,
    StageId,
    Summary,
    Tile,
    TokenStrip,
    VectorStrip,
    VolumeSlices,
)
from ..session.flow import Flow

# What has a difference element by element.
_NUMBERS = (FeatureMaps, VectorStrip, TokenStrip, VolumeSlices, Scalar)
Summaries = Mapping[StageId, Sequence[Summary]]


def subtracted(shown: Summaries, reference: Summaries, frame: int) -> dict[StageId, tuple[Summary, ...]]:
    """`shown` with the differences to the summaries of frame `frame` for pictures.

    Colours are symmetric about zero, and as strong for a difference as for a value of that size. Photos, classes
    and the like stay as they are, and so do statistics. Leaves of other shapes, which have no difference, say so.
    """
    before = {(name, summary.leaf): summary for name, leaves in reference.items() for summary in leaves}
    return {
        name: tuple(_difference(summary, before.get((name, summary.leaf)), frame) for summary in leaves)
        for name, leaves in shown.items()
    }


def cached_tiles(flow: Flow, requests: Sequence[Request]) -> tuple[list[Tile], list[Request]]:
    """As `Flow.cached_tiles`, also of requests with a reference."""
    found, _ = flow.cached_tiles(_parts(requests))
    by_key = {tile.key: tile for tile in found}
    missing = [request for request in requests if any(part.key not in by_key for part in _parts([request]))]
    return [_made(request, by_key) for request in requests if request not in missing], missing


def tiles(flow: Flow, requests: Sequence[Request]) -> list[Tile]:
    """As `Flow.tiles`, also of requests with a reference."""
    by_key = {tile.key: tile for tile in flow.tiles(_parts(requests))}
    return [_made(request, by_key) for request in requests]


def _parts(requests: Sequence[Request]) -> list[Request]:
    """The requests without a reference that these are made of, each once."""
    return list(dict.fromkeys(part for request in requests for part in _pair(request)))


def _pair(request: Request) -> tuple[Request, ...]:
    if request.reference is None:
        return (request,)
    plain = replace(request, key="", reference=None)
    frames = (replace(plain, frame=frame) for frame in (request.frame, request.reference))
    # Named by what they show: all differences to one reference share its tile.
    return tuple(replace(each, key=repr(each)) for each in frames)


def _made(request: Request, by_key: Mapping[str, Tile]) -> Tile:
    first, *rest = (by_key[part.key] for part in _pair(request))
    return _minus(request.key, first, rest[0]) if rest else first


def _minus(key: str, tile: Tile, reference: Tile) -> Tile:
    why = tile.error or reference.error
    if not why and tile.data.shape != reference.data.shape:
        why = "No difference: this stage has another shape in the reference frame."
    if why:
        nan = float("nan")
        return Tile(key, np.zeros((0, 0), np.float32), nan, nan, nan, exact=False, error=why)
    # Integers become float64, which holds the difference of any two that a tile can hold.
    dtype: Any = np.float32 if tile.data.dtype.itemsize < 8 and tile.data.dtype.kind == "f" else np.float64
    with np.errstate(all="ignore"):
        data: npt.NDArray[Any] = np.subtract(tile.data, reference.data, dtype=dtype)
    finite = data[np.isfinite(data)]
    low, high, mean = (finite.min(), finite.max(), finite.mean(dtype=np.float64)) if finite.size else (np.nan,) * 3
    return Tile(key, data, float(low), float(high), float(mean), exact=tile.exact and reference.exact)


def _difference(summary: Summary, reference: Summary | None, frame: int) -> Summary:
    if not isinstance(summary.picture, _NUMBERS):
        return summary
    if reference is None:
        return replace(summary, picture=Nothing(f"not there in frame {frame + 1}"))
    picture = _picture(summary.picture, reference.picture) if summary.spec.shape == reference.spec.shape else None
    if picture is None:
        here, there = ("×".join(map(str, each.spec.shape)) or "scalar" for each in (summary, reference))
        why = "cannot be compared" if here == there else f"{here} here, {there}"
        return replace(summary, picture=Nothing(f"{why} in frame {frame + 1}"))
    limit = max(map(abs, summary.scale or colour_range(summary.statistics)))
    return replace(summary, picture=picture, scale=(-limit, limit), reference=frame)


def _picture(shown: Picture, before: Picture) -> Picture | None:
    """None where the two do not show the same elements."""
    match shown, before:
        case FeatureMaps(), FeatureMaps():
            return _maps(shown, before)
        case VectorStrip(), VectorStrip() if shown.values.shape == before.values.shape:
            return replace(shown, values=_values(shown.values, before.values))
        case TokenStrip(), TokenStrip() if shown.values.shape == before.values.shape and shown.grid == before.grid:
            maps = None if shown.maps is None or before.maps is None else _maps(shown.maps, before.maps)
            same = (maps is None) == (shown.maps is None)
            return replace(shown, values=_values(shown.values, before.values), maps=maps) if same else None
        case VolumeSlices(), VolumeSlices() if _cuts(shown) == _cuts(before):
            pairs = zip(shown.planes, before.planes, strict=True)
            return replace(shown, planes=tuple(replace(a, values=_values(a.values, b.values)) for a, b in pairs))
        case Scalar(), Scalar():
            value = shown.value - before.value
            return Scalar(value, f"{value:+.4g}")
        case _:
            return None


def _maps(shown: FeatureMaps, before: FeatureMaps) -> FeatureMaps | None:
    if (shown.channels, shown.values.shape) != (before.channels, before.values.shape):
        return None
    return replace(shown, values=_values(shown.values, before.values))


def _cuts(volume: VolumeSlices) -> list[tuple[int, ...]]:
    return [(volume.channel, plane.axis, plane.index, *plane.values.shape) for plane in volume.planes]


def _values(shown: Floats, before: Floats) -> Floats:
    with np.errstate(all="ignore"):  # infinities of both have no difference
        return shown - before
