"""Pictures as messages: a part of the wire schema."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..records import (
    Boxes,
    ClassEntry,
    Classes,
    FeatureMaps,
    Floats,
    Mask,
    Nothing,
    Photo,
    Picture,
    Scalar,
    TokenStrip,
    VectorStrip,
    VolumeSlices,
)

Message = dict[str, Any]

# Codes 0 to 254 are values, 255 is "not finite".
_STEPS, _NOT_FINITE = 254, 255


def picture_message(picture: Picture, scale: tuple[float, float]) -> Message:
    match picture:
        case FeatureMaps():
            rest = {**_maps(picture, scale), "size": list(picture.size), "pooled": picture.pooled}
        case Photo():
            rows, columns, _ = picture.values.shape
            size = {"rows": rows, "columns": columns, "size": list(picture.size), "pooled": picture.pooled}
            rest = {**size, "codes": picture.values.tobytes()}
        case VectorStrip():
            size = {"length": len(picture.values), "size": picture.size, "pooled": picture.pooled}
            rest = {**size, **_codes(picture.values, scale)}
        case TokenStrip():
            rest = _tokens(picture, scale)
        case VolumeSlices():
            rest = _volume(picture, scale)
        case Scalar():
            rest = {"value": number(picture.value), "text": picture.text}
        case Classes():
            rest = {"entries": _classes(picture.entries), "count": picture.count, "scale": picture.scale}
        case Mask():
            rest = _mask(picture)
        case Boxes():
            rest = {
                "entries": [
                    {"sides": [b.left, b.top, b.right, b.bottom], "name": b.name, "score": number(b.score)}
                    for b in picture.entries
                ],
                "count": picture.count,
                "size": list(picture.size),
                "over": picture.over,
            }
        case Nothing():
            rest = {"reason": picture.reason}
    return {"kind": picture.kind, **rest}


def _classes(entries: Iterable[ClassEntry]) -> list[Message]:
    return [{"index": e.index, "name": e.name, "value": number(e.value)} for e in entries]


def _mask(mask: Mask) -> Message:
    rows, columns = mask.values.shape
    return {
        "rows": rows,
        "columns": columns,
        "size": list(mask.size),
        "pooled": mask.pooled,
        "codes": mask.values.tobytes(),
        "entries": _classes(mask.entries),
        "count": mask.count,
        "how": mask.how,
        "background": mask.background,
        "depth": mask.depth,
        "over": mask.over,
    }


def _maps(maps: FeatureMaps, scale: tuple[float, float]) -> Message:
    _, rows, columns = maps.values.shape
    return {"channels": list(maps.channels), "rows": rows, "columns": columns, **_codes(maps.values, scale)}


def _tokens(strip: TokenStrip, scale: tuple[float, float]) -> Message:
    rows, columns = strip.values.shape
    return {
        "rows": rows,
        "columns": columns,
        "size": list(strip.size),
        "pooled": strip.pooled,
        "grid": None if strip.grid is None else list(strip.grid),
        "special": strip.special,
        "labels": list(strip.labels),
        "maps": None if strip.maps is None else _maps(strip.maps, scale),
        **_codes(strip.values, scale),
    }


def _volume(volume: VolumeSlices, scale: tuple[float, float]) -> Message:
    planes = [
        {"axis": plane.axis, "index": plane.index, "rows": plane.values.shape[0], "columns": plane.values.shape[1]}
        for plane in volume.planes
    ]
    values = np.concatenate([plane.values.ravel() for plane in volume.planes])
    size = {"size": list(volume.size), "pooled": volume.pooled}
    return {"channel": volume.channel, **size, "planes": planes, **_codes(values, scale)}


def _codes(values: Floats, scale: tuple[float, float]) -> Message:
    low, high = scale
    finite = np.isfinite(values)
    numbers = np.clip(np.where(finite, values, 0.0).astype(np.float64), low, high)
    steps = np.rint((numbers - low) / (high - low) * _STEPS)
    codes: npt.NDArray[np.uint8] = np.where(finite, steps, _NOT_FINITE).astype(np.uint8)
    return {"low": low, "high": high, "codes": codes.tobytes()}


def number(value: float | None) -> float | None:
    """None for what JSON has not."""
    return None if value is None or not math.isfinite(value) else float(value)
