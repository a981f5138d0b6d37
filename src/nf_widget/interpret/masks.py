"""Segmentation: the class at each place of an image or a volume."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..records import Axes, AxisName, ClassEntry, Mask
from .classes import SUM_TOLERANCE, Names, nameless, names_for
from .samples import of_sample, readable

_EDGE = 128
# Elements of the scores that are compared at a time.
_LIMIT = 1 << 22
# Codes of the picture; the last one is "none".
_MOST = 255
# More different whole numbers than this are no classes.
_MOST_CLASSES = 1024
_CLEAR = ("background", "unlabel", "unlabeled", "void", "ignore", "none")

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scores:
    """`values: [channel, depth, row, column]`; an image has one depth. A single channel holds the classes themselves,
    or says where the second of two classes is: where it is above `threshold`."""

    values: Tensor
    threshold: float | None = None

    @property
    def how(self) -> str:
        if len(self.values) > 1:
            return f"argmax of {len(self.values)} channels"
        if self.values.is_floating_point():
            return f"above {self.threshold:g}"
        return "mask" if self.values.dtype == torch.bool else "class indices"

    def count(self) -> int:
        """How many classes there are."""
        if len(self.values) > 1:
            return len(self.values)
        return 2 if self.threshold is not None else int(self.values.max()) + 1

    def labels(self, part: Tensor) -> Tensor:
        """Class of each place of a part, int64; -1 where there is none."""
        if len(part) > 1:
            found = part.max(0).indices  # `argmax` along a leading axis takes ten times as long on a CPU
            return found.masked_fill_(part.isnan().any(0), -1) if part.is_floating_point() else found
        if self.threshold is None:
            return part[0].long()
        return (part[0] > self.threshold).long().masked_fill_(part[0].isnan(), -1)


def scores_of(tensor: Tensor, axes: Axes, sample: int) -> Scores | None:
    """None where it is no image and no volume of real numbers."""
    if axes.kind not in {"image", "volume"} or not readable(tensor, axes):
        return None
    one = of_sample(tensor.detach(), axes, sample)
    names: list[AxisName] = [name for name in axes.names if name != "batch"]
    if one is None:
        return None
    if "channel" not in names:
        one, names = one.unsqueeze(0), ["channel", *names]
    deep: AxisName = "depth" if "depth" in names else "time"
    if deep not in names:
        one, names = one.unsqueeze(1), [names[0], deep, *names[1:]]
    order: tuple[AxisName, ...] = ("channel", deep, "height", "width")
    if sorted(names) != sorted(order):
        return None
    values = one.permute([names.index(name) for name in order])
    return Scores(values, _threshold(values) if len(values) == 1 else None)


def mask(scores: Scores, *, names: Names | None = None, over: str = "") -> Mask | None:
    """The class at each place, with the share of each; of a volume, the slice that shows most beside its background.

    The picture is sampled, at most 128 px an edge; shares are those of all places. None where whole numbers are too
    large, or negative everywhere, to be classes.
    """
    count = scores.count()
    if not 1 <= count <= _MOST_CLASSES:
        return None
    name = names_for(names, count) or nameless
    slices = _counted(scores, count)
    totals = slices.sum(0)
    if not totals.sum():
        return None
    background = _background(scores, [name(i) for i in range(count)] if names is not None else [])
    hidden = int(totals.argmax()) if background < 0 else background
    depth = int((slices.sum(1) - slices[:, hidden]).argmax())
    best = [int(i) for i in np.argsort(-totals, kind="stable") if totals[i]][:_MOST]
    places = totals.sum()
    entries = tuple(ClassEntry(i, name(i), float(totals[i] / places)) for i in best)
    _, deep, height, width = scores.values.shape
    values = _picture(scores, depth, best, count)
    pooled = values.shape != (height, width)
    at = depth if deep > 1 else None
    return Mask(values, entries, (height, width), pooled, count, scores.how, background, at, over)


def _threshold(values: Tensor) -> float | None:
    """0.5 for probabilities, 0 for logits; None for whole numbers."""
    if values.dtype == torch.bool:
        return 0.5
    if not values.is_floating_point():
        return None
    low, high = values.aminmax()
    return 0.5 if low >= 0 and high <= 1 else 0.0


def class_map(tensor: Tensor, axes: Axes, sample: int) -> Mask | None:
    """Of whole numbers that may be class indices; None for anything else."""
    if tensor.is_floating_point() or tensor.dtype == torch.bool:
        return None
    with torch.no_grad(), torch._C.DisableTorchFunction():
        scores = scores_of(tensor, axes, sample)
        return mask(scores) if scores is not None and few_classes(scores) else None


def is_share(scores: Scores) -> bool:
    """Whether the channels are probabilities: they sum to 1 at each of some places."""
    values = scores.values
    if len(values) < 2 or not values.is_floating_point():
        return False
    few = _sampled(values, len(values[0]) // 2, 24).float()
    return bool(few.amin() >= 0) and bool(((few.sum(0) - 1).abs() <= SUM_TOLERANCE).all())


def few_classes(scores: Scores) -> bool:
    """Whether whole numbers may be classes: from 0 on (or a mark for none), and not too many."""
    values = scores.values
    if len(values) > 1 or values.is_floating_point():
        return False
    if values.dtype == torch.bool:
        return True
    low, high = values.aminmax()
    return int(low) >= -1 and 0 <= int(high) < (64 if values.dtype == torch.uint8 else _MOST_CLASSES)


def _counted(scores: Scores, count: int) -> Counts:
    """`[depth, class]`: how many places of each slice have each class."""
    device, deep = scores.values.device, scores.values.shape[1]
    # What has no class, or one that is not counted, comes first in each slice.
    slices = (count + 1) * torch.arange(deep, device=device)[:, None, None] + 1
    found = torch.zeros(deep * (count + 1), dtype=torch.int64, device=device)
    for depth, part in _parts(scores.values):
        labels = scores.labels(part)
        labels = labels.where(labels < count, -1).clamp_(min=-1) if len(part) == 1 else labels
        places = labels.add_(slices[depth : depth + part.shape[1]])
        found += torch.bincount(places.flatten(), minlength=len(found))
    counts: Counts = found.view(deep, count + 1)[:, 1:].cpu().numpy()
    return counts


def _parts(values: Tensor) -> Iterator[tuple[int, Tensor]]:
    """(first depth, `[channel, depth, rows, column]`) until all is seen, of a bounded size."""
    channels, deep, height, width = values.shape
    rows = max(1, _LIMIT // (channels * width))
    run = max(1, rows // height)
    for depth in range(0, deep, run):
        for part in values[:, depth : depth + run].split(rows if run == 1 else height, 2):
            yield depth, part


def _picture(scores: Scores, depth: int, best: list[int], count: int) -> npt.NDArray[np.uint8]:
    """Places in `best`, 255 for none."""
    labels = scores.labels(_sampled(scores.values, depth, _EDGE)).cpu().numpy()
    codes = np.full(count + 1, _MOST, np.uint8)  # the last one answers to -1
    codes[best] = np.arange(len(best))
    found: npt.NDArray[np.uint8] = codes[np.where((labels >= 0) & (labels < count), labels, -1)]
    return found


def _sampled(values: Tensor, depth: int, edge: int) -> Tensor:
    """`[channel, rows, columns]` of one slice: the middle of each cell."""
    plane = values[:, depth]
    scale = min(1.0, edge / max(plane.shape[1:]))
    for axis in (1, 2):
        size = plane.shape[axis]
        cells = max(1, round(size * scale))
        if cells < size:
            places = (2 * torch.arange(cells, device=plane.device) + 1) * size // (2 * cells)
            plane = plane.index_select(axis, places)
    return plane


def _background(scores: Scores, names: list[str]) -> int:
    """The class that is no thing and gets no colour; -1 where none is known to be that."""
    for index, name in enumerate(names):
        if any(word in name.lower().strip("_ ") for word in _CLEAR):
            return index
    return -1 if scores.threshold is None else 0
