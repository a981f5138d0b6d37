"""Detection: the boxes that a model found, with their classes and scores, from outputs that belong together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..records import Box, Boxes
from .classes import Names, names_for

Doubles = npt.NDArray[np.float64]

KEYS = ("boxes", "pred_boxes")
_SIDES = 4
_MOST = 16
# Boxes below this score are noise, except where none is above it.
_LEAST = 0.05


def boxes(
    path: str,
    leaves: Mapping[str, Tensor],
    *,
    image: tuple[int, int] | None,
    names: Names | None = None,
    sample: int = 0,
    over: str = "",
) -> Boxes | None:
    """The best-scored boxes of the leaf at `path`, as parts of the height and width of `image`.

    `boxes: [box, 4]` are corners (left, top, right, bottom) in px, with `labels` and `scores` beside them, as
    torchvision's detectors give them; `pred_boxes: [batch, box, 4]` are centres and sizes as parts of the image, with
    `logits: [batch, box, class]` beside them, whose last class is "none", as DETR gives them. None for anything else.
    """
    prefix, _, key = path.rpartition(".")
    found = _plane(leaves.get(path), sample, 2)
    if found is None or found.shape[1] != _SIDES or not np.isfinite(found).all():
        return None
    beside = {name: leaves.get(f"{prefix}.{name}" if prefix else name) for name in ("labels", "scores", "logits")}
    corners = _corners(found, image, centred=key == "pred_boxes")
    if corners is None:
        return None
    labels, scores = _scored(beside, len(found), sample)
    name = None if labels is None else _names(names, labels, beside["logits"])
    order = np.argsort(-scores, kind="stable") if scores is not None else np.arange(len(found))
    if scores is not None:
        order = np.asarray([i for i in order if scores[i] >= _LEAST] or order[:1], np.int64)
    entries = []
    for i in order[:_MOST]:
        left, top, right, bottom = map(float, corners[i])
        word = "" if labels is None or name is None else name[int(labels[i])]
        entries.append(Box(left, top, right, bottom, word, None if scores is None else float(scores[i])))
    return Boxes(tuple(entries), len(found), image or (1, 1), over)


def _plane(tensor: Tensor | None, sample: int, ndim: int) -> Doubles | None:
    """Of one sample, where the tensor holds several."""
    if tensor is None or tensor.is_meta or tensor.is_nested or tensor.layout != torch.strided or tensor.is_complex():
        return None
    if tensor.ndim == ndim + 1:
        if not len(tensor):
            return None
        tensor = tensor[sample if sample < len(tensor) else 0]
    if tensor.ndim != ndim:
        return None
    found: Doubles = tensor.detach().double().cpu().numpy()
    return found


def _corners(found: Doubles, image: tuple[int, int] | None, *, centred: bool) -> Doubles | None:
    if centred:
        centre, half = found[:, :2], found[:, 2:] / 2
        return np.concatenate([centre - half, centre + half], 1)
    if image is None or (found[:, 2:] < found[:, :2]).any():
        return None
    height, width = image
    return found / (width, height, width, height)


def _scored(
    beside: Mapping[str, Tensor | None], count: int, sample: int
) -> tuple[npt.NDArray[np.int64] | None, Doubles | None]:
    """(class of each box, its score), None where the outputs do not say."""
    logits = _plane(beside["logits"], sample, 2)
    if logits is not None and len(logits) == count and logits.shape[1] > 1:
        weights = np.exp(logits - logits.max(1, keepdims=True))
        things = (weights / weights.sum(1, keepdims=True))[:, :-1]
        return things.argmax(1), things.max(1)
    labels, scores = (_plane(beside[name], sample, 1) for name in ("labels", "scores"))
    fits = [None if each is None or len(each) != count else each for each in (labels, scores)]
    return None if fits[0] is None else fits[0].astype(np.int64), fits[1]


def _names(names: Names | None, labels: npt.NDArray[np.int64], logits: Tensor | None) -> dict[int, str]:
    """By class. Names that do not reach to a class leave it its number."""
    count = getattr(names, "__len__", lambda: 0)()
    known = names_for(names, count) if count else None
    if logits is not None and count != logits.shape[-1] - 1:
        known = None
    return {i: known(i) if known is not None and i < count else f"class {i}" for i in map(int, labels)}
