"""What a model takes in and gives out, as a person knows it: a photograph, the likeliest classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from ..errors import OptionError
from ..records import Axes, ClassEntry, Classes, Photo

Names = Sequence[str] | Mapping[int, str] | Mapping[str, str]
Doubles = npt.NDArray[np.float64]

OUTPUT_TYPES = ("logits", "probabilities", "log-probabilities", "multilabel", "raw")

_ENTRIES = 8
_EDGE = 160
# What float16 leaves of a sum of many probabilities.
_SUM_TOLERANCE = 1e-2
_IMAGENET = np.asarray([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
# Interpolation goes a little beyond the range of an image.
_SLACK = 0.02
_MOSTLY = 0.8
# Numbers up to 255 mean brightness only where some are far above 1.
_BYTES_FROM = 32.0


def interpret(
    tensor: Tensor,
    axes: Axes,
    *,
    class_names: Names | None = None,
    output_type: str | None = None,
    sample: int = 0,
) -> Classes | None:
    """The likeliest classes, when that is what the output means; else None: it is shown as raw values.

    It is when `output_type` says so, when the values are probabilities or their logarithms, or when there are as
    many `class_names` (a list, or a Hugging Face `id2label`) as entries along the last dimension. Of a token
    sequence, the last token's. Raises `OptionError` for an unknown `output_type`.
    """
    if output_type is not None and output_type not in OUTPUT_TYPES:
        raise OptionError(f"output type {output_type!r} is not known: use {', '.join(OUTPUT_TYPES)}, or None.")
    if output_type == "raw":
        return None
    scores = _scores(tensor, axes, sample)
    if scores is None or not np.isfinite(scores.max()):  # masked classes, at -Inf, are all right
        return None
    names = _fitting(class_names, len(scores))
    if names is not None and len(names) == 2 and len(scores) == 1:
        return _binary(float(scores[0]), names, output_type)
    scale = output_type or _told_by(scores) or ("logits" if names is not None else None)
    if scale is None or len(scores) < 2:
        return None
    values, word = _probabilities(scores, scale)
    if axes.kind == "tokens":
        word = f"{word}, last token"
    best = np.argsort(-values, kind="stable")[:_ENTRIES]
    entries = tuple(ClassEntry(int(i), names[i] if names else f"class {i}", float(values[i])) for i in best)
    return Classes(entries, len(scores), word)


def photo(tensor: Tensor, axes: Axes, *, sample: int = 0) -> Photo | None:
    """An image input of 1 or 3 channels as a person knows it, at most 160 px an edge; None for any other tensor.

    Values in 0 to 1 or in 0 to 255 are taken as they are, and so are those that noise carried a little beyond 0 and 1;
    otherwise ImageNet's mean and standard deviation are undone where that lands in 0 to 1, then a range of -1 to 1,
    and what remains is scaled from its least to its most.
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
    shown = _brightness(small, low, high, whole=whole)
    values = np.rint(np.clip(np.nan_to_num(shown), 0, 1) * 255).astype(np.uint8)
    return Photo(np.broadcast_to(values, (rows, columns, 3)).copy(), size, (rows, columns) != size)


def _scores(tensor: Tensor, axes: Axes, sample: int) -> Doubles | None:
    """`[class]` of one sample, None where the output is no vector of real numbers."""
    if tensor.is_meta or tensor.is_nested or tensor.layout != torch.strided or not tensor.is_floating_point():
        return None
    if len(axes.names) != tensor.ndim or tensor.numel() == 0 or axes.kind not in {"vector", "tokens"}:
        return None
    with torch.no_grad(), torch._C.DisableTorchFunction():
        one = _one(tensor.detach(), axes, sample)
        if one is None:
            return None
        if axes.kind == "tokens":
            if axes.names[-1] != "feature" or one.ndim != 2:
                return None
            one = one[-1]
        found: Doubles = one.flatten().double().cpu().numpy()
        return found


def _one(tensor: Tensor, axes: Axes, sample: int) -> Tensor | None:
    if "batch" not in axes.names:
        return tensor
    axis = axes.names.index("batch")
    size = tensor.shape[axis]
    if size > 1 and not 0 <= sample < size:
        return None
    return tensor.select(axis, sample if size > 1 else 0)


def _fitting(names: Names | None, count: int) -> list[str] | None:
    """Names in the order of the classes, None where they do not fit."""
    if names is None:
        return None
    if isinstance(names, Mapping):
        by_index = {int(index): str(name) for index, name in names.items()}
        ordered = [by_index[index] for index in range(len(by_index)) if index in by_index]
    else:
        ordered = [str(name) for name in names]
    return ordered if len(ordered) == count or (len(ordered) == 2 and count == 1) else None


def _told_by(scores: Doubles) -> str | None:
    """What the values alone give away."""
    if scores.min() >= 0 and abs(scores.sum() - 1) <= _SUM_TOLERANCE:
        return "probabilities"
    if scores.max() <= 0 and abs(np.exp(scores).sum() - 1) <= _SUM_TOLERANCE:
        return "log-probabilities"
    return None


def _probabilities(scores: Doubles, scale: str) -> tuple[Doubles, str]:
    if scale == "probabilities":
        return scores, "probability"
    if scale == "log-probabilities":
        return np.exp(scores), "probability"
    if scale == "multilabel":
        return _sigmoid(scores), "sigmoid"
    weights = np.exp(scores - scores.max())
    return weights / weights.sum(), "softmax"


def _binary(score: float, names: Sequence[str], output_type: str | None) -> Classes:
    """One output for two classes is the second one's."""
    second = score if output_type == "probabilities" else float(_sigmoid(np.asarray(score)))
    pair = (ClassEntry(0, names[0], 1 - second), ClassEntry(1, names[1], second))
    word = "probability" if output_type == "probabilities" else "sigmoid"
    return Classes(pair if pair[0].value >= pair[1].value else pair[::-1], 2, word)


def _sigmoid(scores: Doubles) -> Doubles:
    found: Doubles = torch.from_numpy(np.asarray(scores)).sigmoid().numpy()
    return found


def _image(tensor: Tensor, axes: Axes, sample: int) -> Tensor | None:
    """`[channel, height, width]` of 1 or 3 channels, float32 or float64."""
    if axes.kind != "image" or len(axes.names) != tensor.ndim or tensor.numel() == 0:
        return None
    if tensor.is_meta or tensor.is_nested or tensor.layout != torch.strided or tensor.is_complex():
        return None
    one = _one(tensor, axes, sample)
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


def _brightness(image: Doubles, lows: list[float], highs: list[float], *, whole: bool) -> Doubles:
    """`[height, width, channel]`, 0 to 1. The range is that of the image before it was made small."""
    low, high = min(lows), max(highs)
    if low >= 0 and high <= 255 and (high >= _BYTES_FROM or (whole and high > 1)):
        return image / 255
    if low >= -_SLACK and high <= 1 + _SLACK:
        return image
    if low >= -1 and high <= 2 and np.mean((image >= -_SLACK) & (image <= 1 + _SLACK)) >= _MOSTLY:
        return image
    mean, std = _IMAGENET
    if image.shape[2] == 3 and not _symmetric(low, high):
        ends = np.asarray([lows, highs]) * std + mean
        if ends.min() >= -_SLACK and ends.max() <= 1 + _SLACK:
            undone: Doubles = image * std + mean
            return undone
    if _symmetric(low, high):
        return (image + 1) / 2
    return (image - low) / (high - low) if high > low else np.full_like(image, 0.5)


def _symmetric(low: float, high: float) -> bool:
    """Scaled to -1 to 1: within that range, and black is in it."""
    return -1 - _SLACK <= low <= -0.9 and high <= 1 + _SLACK
