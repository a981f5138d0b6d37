"""The exact values that a tile asks for: one plane of one leaf, or a part of it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ..records import Axes, Nothing, Request, Tile
from .moments import pool
from .pictures import labels, sampled
from .values import pick, plainly, real
from .views import Form, View, arrange

# Elements at a time while a plane is pooled.
_LIMIT = 1 << 20
# From here on, several integers share a float64.
_EXACT = 1 << 53


# Raises `RefusedError`.
PlaneOf = Callable[[View, Request], Tensor]


class RefusedError(Exception):
    """There is no such plane; says why."""


def cut(tensor: Tensor, axes: Axes, request: Request, *, plane: PlaneOf | None = None) -> Tile:
    """The plane of `tensor` that `request` names: `[rows, columns]`, a vector as one row. Never raises for a request.

    `plane` makes another plane of the values than one of theirs.

    Values keep their type where the wire has it: float16, float32, float64, uint8, int32. bfloat16 and float8 come
    as float32, bool as uint8, small integers as int32, larger ones as float64 (not exact beyond 2**53), complex
    numbers as their magnitude (not exact). A request that cannot be met gets a tile without data, with the reason.
    """
    with plainly():
        try:
            found = pick(tensor, axes, request.sample)
            if isinstance(found, Nothing):
                raise RefusedError(f"There are no values to show: {found.reason}.")
            if found.values.layout != torch.strided:
                raise RefusedError("This tensor is sparse, and too large to be shown value by value.")
            view = arrange(found)
            found_plane = (plane or _PLANES[view.form])(view, request)
            return tile_of(request.key, *_bounded(_within(found_plane, request.region), request.size))
        except RefusedError as refusal:
            reason = str(refusal)
        except (RuntimeError, TypeError, NotImplementedError, AttributeError) as error:
            # Subclasses may refuse any operation.
            reason = f"{type(tensor).__name__} cannot be read: {(str(error).splitlines() or [''])[0]}"
        return Tile(request.key, np.zeros((0, 0), np.float32), math.nan, math.nan, math.nan, exact=False, error=reason)


def _whole(view: View, request: Request) -> Tensor:
    if request.channel not in {None, 0}:
        raise RefusedError(f"There is no channel {request.channel}: this is a {view.form}.")
    return view.values.reshape(1, -1)


def _of_maps(view: View, request: Request) -> Tensor:
    return view.values[chosen(request, len(view.values), "channel")]


def _of_tokens(view: View, request: Request) -> Tensor:
    """All of it, or one feature: over the patch grid where there is one, else as a row."""
    if request.channel is None:
        return view.values
    feature = chosen(request, view.values.shape[1], "feature")
    if view.axes.grid is not None:
        return view.patches[feature]
    return view.values[:, feature].unsqueeze(0)


def _of_volume(view: View, request: Request) -> Tensor:
    volume = view.values[chosen(request, len(view.values), "channel")]
    if request.slice is None:
        raise RefusedError("A volume is shown slice by slice, and the request names none.")
    axis, index = request.slice
    if not 0 <= axis < 3:
        raise RefusedError(f"There is no axis {axis}: a volume has 0 (depth), 1 (height) and 2 (width).")
    if not 0 <= index < volume.shape[axis]:
        raise RefusedError(f"There is no slice {index} along axis {axis}, which has {volume.shape[axis]}.")
    return volume.select(axis, index)


def chosen(request: Request, count: int, word: str) -> int:
    if request.channel is None and count > 1:
        raise RefusedError(f"The request names no {word}, and there are {count}.")
    channel = request.channel or 0
    if not 0 <= channel < count:
        raise RefusedError(f"There is no {word} {channel}: there are {count}.")
    return channel


def _within(plane: Tensor, region: tuple[int, int, int, int] | None) -> Tensor:
    if region is None:
        return plane
    top, left, bottom, right = bounds(region, plane.shape[0], plane.shape[1])
    return plane[top:bottom, left:right]


def bounds(region: tuple[int, int, int, int] | None, rows: int, columns: int) -> tuple[int, int, int, int]:
    """(top, left, bottom, right) of a part of a plane. Raises `RefusedError`."""
    top, left, bottom, right = region or (0, 0, rows, columns)
    if not (0 <= top < bottom <= rows and 0 <= left < right <= columns):
        raise RefusedError(f"Rows {top} to {bottom}, columns {left} to {right} do not lie within {rows} by {columns}.")
    return top, left, bottom, right


def _bounded(plane: Tensor, size: tuple[int, int] | None) -> tuple[Tensor, bool]:
    """(values of a type that the wire has, whether they are exact)."""
    if size is not None and (plane.shape[0] > size[0] or plane.shape[1] > size[1]):
        if min(size) < 1:
            raise RefusedError(f"A picture of {size[0]} by {size[1]} holds nothing.")
        rows, columns = min(plane.shape[0], size[0]), min(plane.shape[1], size[1])
        maps = plane.unsqueeze(0)
        small = sampled(maps, rows, columns) if labels(plane) else pool(maps, rows, columns, limit=_LIMIT)
        return _sendable(small[0])[0], False
    return _sendable(plane)


def _sendable(plane: Tensor) -> tuple[Tensor, bool]:
    if plane.dtype in _AS_IS:
        return plane, True
    if plane.dtype == torch.bool:
        return plane.to(torch.uint8), True
    if plane.is_complex():
        return real(plane), False
    if plane.is_floating_point():
        return plane.to(torch.float32), True
    if plane.dtype in _SMALL_INTEGERS:
        return plane.to(torch.int32), True
    wide = real(plane, double=True)
    return wide, bool((wide.abs() < _EXACT).all())


def tile_of(key: str, plane: Tensor, exact: bool) -> Tile:  # noqa: FBT001
    # A copy even where none is needed: the forward may go on to overwrite the tensor.
    data = plane.to("cpu", copy=True).contiguous().numpy()
    numbers = data.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return Tile(key, data, math.nan, math.nan, math.nan, exact)
    return Tile(key, data, float(finite.min()), float(finite.max()), float(finite.mean()), exact)


_AS_IS = frozenset({torch.float16, torch.float32, torch.float64, torch.int32, torch.uint8})
_SMALL_INTEGERS = frozenset({torch.int8, torch.int16, getattr(torch, "uint16", torch.int16)})
_PLANES: dict[Form, PlaneOf] = {
    "scalar": _whole,
    "vector": _whole,
    "tokens": _of_tokens,
    "maps": _of_maps,
    "volume": _of_volume,
}
