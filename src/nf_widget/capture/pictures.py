"""Small pictures of large activations: bounded in size, whatever the activation's."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..records import FeatureMaps, Floats, Plane, Scalar, TokenStrip, VectorStrip, VolumeSlices
from .channels import Indices, gather
from .moments import Moments, pool
from .values import real
from .views import View

# Bytes on the wire, at one byte a value: a dozen stages stay under 200 KB.
_BYTES = 16_000
_MOST_MAPS, _FEWEST_MAPS = 16, 9
# A map up to here keeps its resolution; a larger one is pooled to the size at which it is drawn.
_WHOLE, _POOLED = 48, 40
_TOKENS, _FEATURES = 64, 96
_VECTOR = 2048
_PLANE = 64
# An edge of a very long map is not pooled below this.
_THIN = 8


def feature_maps(maps: Tensor, channels: Sequence[int] | Indices, *, limit: int, size: int = _BYTES) -> FeatureMaps:
    """The first of `channels` of `[channel, row, column]`: 9 to 16 maps, fewer where they are large."""
    shape = (maps.shape[1], maps.shape[2])
    rows, columns = fit(shape, _WHOLE) if max(shape) <= _WHOLE else fit(shape, _POOLED)
    count = min(max(size // (rows * columns), _FEWEST_MAPS), _MOST_MAPS)
    chosen = np.asarray(channels[:count], np.int64)
    pooled = (rows, columns) != shape
    if pooled and labels(maps):
        values = torch.cat([sampled(maps[channel : channel + 1], rows, columns) for channel in chosen.tolist()])
    else:
        values = gather(maps, chosen, rows, columns, limit=limit)
    return FeatureMaps(tuple(chosen.tolist()), floats(values), shape, pooled)


def vector_strip(values: Tensor, *, limit: int) -> VectorStrip:
    """`[n]`. A long vector keeps, of each run of values, the one that is farthest from zero."""
    size = values.numel()
    if size <= _VECTOR:
        return VectorStrip(floats(real(values)), size, pooled=False)
    run = -(-size // _VECTOR)
    whole = size // run * run
    strips = list(values[:whole].reshape(-1, run).split(max(1, limit // run)))
    if whole < size:
        strips.append(values[whole:].reshape(1, -1))
    return VectorStrip(floats(torch.cat([_farthest(strip) for strip in strips])), size, pooled=True)


def token_strip(view: View, order: Indices, *, limit: int) -> TokenStrip:
    """`[token, feature]`, pooled by area, and, where the tokens are patches, maps of the best features over them."""
    values, axes = view.values, view.axes
    size = (values.shape[0], values.shape[1])
    rows, columns = min(size[0], _TOKENS), min(size[1], _FEATURES)
    strip = pool(values.unsqueeze(0), rows, columns, limit=limit)[0]
    maps = None
    if axes.grid is not None:
        maps = feature_maps(view.patches, order, limit=limit, size=_BYTES - rows * columns)
    return TokenStrip(floats(strip), size, (rows, columns) != size, axes.grid, axes.special, maps)


def volume_slices(
    volume: Tensor, channel: int, moments: Moments, *, limit: int, at: Sequence[int] | None = None
) -> VolumeSlices:
    """Three planes of one channel of `[channel, depth, row, column]`, through `at` (depth, row, column), or through
    what is farthest from its mean."""
    values = volume[channel]
    shape = (values.shape[0], values.shape[1], values.shape[2])
    if at is not None and all(place < size for place, size in zip(at, shape, strict=True)):
        position = tuple(at)
    else:
        above = moments.high[channel] - moments.mean[channel] >= moments.mean[channel] - moments.low[channel]
        peak = np.unravel_index(_farthest_position(values, largest=bool(above), limit=limit), shape)
        position = tuple(map(int, peak))
    planes = []
    for axis, index in enumerate(position):
        plane = values.select(axis, index)
        rows, columns = fit((plane.shape[0], plane.shape[1]), _PLANE)
        planes.append(Plane(axis, index, floats(pool(plane.unsqueeze(0), rows, columns, limit=limit)[0])))
    return VolumeSlices(channel, tuple(planes), shape, max(shape) > _PLANE)


def scalar(values: Tensor) -> Scalar:
    """One number; its text is exact for integers and has 6 significant digits otherwise."""
    number = float(real(values))
    exact = not values.is_floating_point() and not values.is_complex()
    text = str(values.item()) if exact else f"{number:.6g}"
    return Scalar(number, text)


def fit(shape: tuple[int, int], edge: int) -> tuple[int, int]:
    """(rows, columns) of the same aspect with no edge beyond `edge`."""
    scale = min(1.0, edge / max(shape))
    rows, columns = (max(min(length, _THIN), round(length * scale)) for length in shape)
    return rows, columns


def labels(values: Tensor) -> bool:
    """Integers other than bool may be class indices, of which a mean says nothing."""
    return not values.is_floating_point() and not values.is_complex() and values.dtype != torch.bool


def sampled(maps: Tensor, rows: int, columns: int) -> Tensor:
    """The middle value of each cell: `[map, rows, columns]`."""
    for axis, cells in ((1, rows), (2, columns)):
        places = (2 * torch.arange(cells, device=maps.device) + 1) * maps.shape[axis] // (2 * cells)
        maps = maps.index_select(axis, places)
    return maps


def floats(values: Tensor) -> Floats:
    """Brought over as float32; a copy even on a CPU, since the forward may go on to overwrite the tensor."""
    array: Floats = real(values).to("cpu", torch.float32, copy=True).contiguous().numpy()
    return array


def _farthest(runs: Tensor) -> Tensor:
    """Of each row, the value farthest from zero; NaN wins."""
    runs = real(runs)
    low, high = runs.amin(1), runs.amax(1)
    return torch.where(-low > high, low, high)


def _farthest_position(values: Tensor, *, largest: bool, limit: int) -> int:
    """Place in `values.flatten()`, `values: [depth, row, column]`, of the first largest or smallest value."""
    plane = values[0].numel()
    best, place, seen = -math.inf, 0, 0
    for part in values.split(max(1, limit // plane)):
        numbers = real(part).flatten() if largest else -real(part).flatten()
        # NumPy's is ten times as fast as torch's on a CPU.
        index = int(numbers.numpy().argmax() if numbers.device.type == "cpu" else numbers.argmax())
        if float(numbers[index]) > best:
            best, place = float(numbers[index]), seen + index
        seen += part.numel()
    return place
