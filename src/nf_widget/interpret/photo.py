"""A picture that a model is given, or makes, as a person knows it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from ..records import Axes, Photo
from .samples import of_sample, readable

Doubles = npt.NDArray[np.float64]

_EDGE = 128
_IMAGENET = np.asarray([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
# Interpolation goes a little beyond the range of an image.
_SLACK = 0.02
_MOSTLY = 0.8
# Numbers up to 255 mean brightness only where some are far above 1.
_BYTES_FROM = 32.0


def photo(tensor: Tensor, axes: Axes, *, sample: int = 0, held: Photo | None = None) -> Photo | None:
    """An image input of 1 or 3 channels as a person knows it, at most 128 px an edge; None for any other tensor.

    Values in 0 to 1 or in 0 to 255 are taken as they are, and so are those that noise carried a little beyond 0 and 1;
    otherwise ImageNet's mean and standard deviation are undone where that lands in 0 to 1, then a range of -1 to 1,
    and what remains is scaled from its least to its most. With `held`, an earlier frame's, values mean the brightness
    that they meant there, unless much of the image would be too dark or too bright for it.
    """
    with torch.no_grad(), torch._C.DisableTorchFunction():
        image = _image(tensor.detach(), axes, sample)
        if image is None:
            return None
        size = (image.shape[1], image.shape[2])
        scale = min(1.0, _EDGE / max(size))
        rows, columns = (max(1, round(length * scale)) for length in size)
        low, high = _range(image)
        if not all(map(math.isfinite, (*low, *high))):
            return None
        whole = tensor.dtype == torch.uint8
        small = functional.adaptive_avg_pool2d(image, (rows, columns)).permute(1, 2, 0).double().cpu().numpy()
    line = _line(small, low, high, whole=whole)
    if held is not None and all(held.slopes) and len(held.slopes) == small.shape[2]:
        before = np.asarray([held.slopes, held.offsets])
        line = before if _fits(small * before[0] + before[1]) else line
    shown = small * line[0]
    shown += line[1]
    np.clip(shown, 0, 1, out=shown)
    shown *= 255
    pixels = np.broadcast_to(np.rint(shown, out=shown).astype(np.uint8), (rows, columns, 3)).copy()
    slopes, offsets = (tuple(each) for each in line.tolist())
    return Photo(pixels, size, (rows, columns) != size, slopes=slopes, offsets=offsets)


def _image(tensor: Tensor, axes: Axes, sample: int) -> Tensor | None:
    """`[channel, height, width]` of 1 or 3 channels, float32 or float64."""
    if axes.kind != "image" or not readable(tensor, axes):
        return None
    one = of_sample(tensor, axes, sample)
    names = [name for name in axes.names if name != "batch"]
    if one is None or set(names) - {"channel", "height", "width"}:
        return None
    if "channel" not in names:
        one, names = one.unsqueeze(0), ["channel", *names]
    one = one.permute([names.index(name) for name in ("channel", "height", "width")])
    if len(one) not in {1, 3}:
        return None
    return one.to(torch.float32 if tensor.dtype != torch.float64 else torch.float64)


def _range(image: Tensor) -> tuple[list[float], list[float]]:
    """Least and largest value of each channel."""
    ends = torch.stack([image.amin((1, 2)), image.amax((1, 2))]).tolist()
    return ends[0], ends[1]


def _line(image: Doubles, lows: list[float], highs: list[float], *, whole: bool) -> Doubles:
    """`[2, channel]`: what times a value, plus what, is brightness from 0 to 1. `lows` and `highs` are those of the
    image before it was made small."""
    low, high = min(lows), max(highs)
    channels = image.shape[2]
    if low >= 0 and high <= 255 and (high >= _BYTES_FROM or (whole and high > 1)):
        return _same(1 / 255, 0.0, channels)
    if low >= -_SLACK and high <= 1 + _SLACK:
        return _same(1.0, 0.0, channels)
    if low >= -1 and high <= 2 and _fits(image):
        return _same(1.0, 0.0, channels)
    mean, std = _IMAGENET
    if channels == 3 and not _symmetric(low, high):
        ends = np.asarray([lows, highs]) * std + mean
        if ends.min() >= -_SLACK and ends.max() <= 1 + _SLACK:
            return np.asarray([std, mean])
    if _symmetric(low, high):
        return _same(0.5, 0.5, channels)
    return _same(1 / (high - low), -low / (high - low), channels) if high > low else _same(0.0, 0.5, channels)


def _same(slope: float, offset: float, channels: int) -> Doubles:
    return np.repeat([[slope], [offset]], channels, axis=1)


def _fits(brightness: Doubles) -> bool:
    """Most of it is neither too dark nor too bright."""
    return bool(np.mean((brightness >= -_SLACK) & (brightness <= 1 + _SLACK)) >= _MOSTLY)


def _symmetric(low: float, high: float) -> bool:
    """Scaled to -1 to 1: within that range, and black is in it."""
    return -1 - _SLACK <= low <= -0.9 and high <= 1 + _SLACK
