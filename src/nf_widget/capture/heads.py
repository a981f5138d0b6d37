"""Attention weights -> Summary, tile or tensor. Of long sequences, a few queries at a time, never the whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool1d, adaptive_avg_pool2d

from ..records import Axes, Histogram, Nothing, Request, Statistics, Summary, Tile
from .detail import RefusedError, bounds, chosen, tile_of
from .distribution import BINS
from .pictures import feature_maps, fit
from .reducers import reduce
from .values import plainly
from .weights import Head, Made, Product, Weights, wide

# Weights of one sample up to here are made at once, 32 MB; of more, so many at a time.
_WHOLE = 1 << 23
_LIMIT = 1 << 19
# Of more weights than `_WHOLE`, evenly spaced queries stand for all: about so many weights of them, as many as fit
# `_LIMIT` for a head at most, and one for each row of its map at least.
_LOOKED = 1 << 20
# Pooled maps are no larger than this along an edge.
_EDGE = 40
# Weights are counted by the upper bits of their float32 pattern: bins of 0.2 % of a weight, whatever its size.
_SHIFT = 14
_CODES = (0x3F800000 >> _SHIFT) + 2
_LOW, _HIGH = 0.01, 0.99

Floats = npt.NDArray[np.float64]
FAULTS = (RuntimeError, TypeError, ValueError, NotImplementedError, AttributeError, IndexError, KeyError)


def summarise(weights: Weights, *, leaf: str, sample: int = 0, whole: int = _WHOLE) -> Summary:
    """One sample: a map for each head. Up to `whole` weights are all looked at, of more a part that says so: reading
    all would take several times as long as the attention itself."""
    spec, layout = weights.spec, weights.layout
    with plainly():
        try:
            first = weights.head(sample, 0)
            if layout.items * first.queries * first.keys > whole:
                return _sampled(weights, leaf, sample)
            axes = Axes(("head", "query", "key"), "attention", "")
            found = reduce(_heads(weights, sample), axes, leaf=leaf)
        except FAULTS as error:
            reason = f"The attention weights cannot be had: {(str(error).splitlines() or [''])[0]}"
            return Summary(leaf, spec, layout.axes, Nothing(reason), None, None, None)
    return _scaled(replace(found, spec=spec, axes=layout.axes))


def cut_weights(weights: Weights, request: Request) -> Tile:
    """The weights that `request` names: `channel` is the head. Never raises for a request."""
    with plainly():
        try:
            item = chosen(request, weights.layout.items, "head")
            head = weights.head(request.sample, item)
            top, left, bottom, right = bounds(request.region, head.queries, head.keys)
            size = request.size
            if size is None or (bottom - top <= size[0] and right - left <= size[1]):
                return tile_of(request.key, head_rows(head, top, bottom, (left, right)), exact=True)
            if min(size) < 1:
                raise RefusedError(f"A picture of {size[0]} by {size[1]} holds nothing.")
            shape = min(size[0], bottom - top), min(size[1], right - left)
            return tile_of(request.key, _pooled(head, (top, left, bottom, right), shape), exact=False)
        except RefusedError as refusal:
            reason = str(refusal)
        except FAULTS as error:
            reason = (str(error).splitlines() or [""])[0]
    return Tile(request.key, np.zeros((0, 0), np.float32), math.nan, math.nan, math.nan, exact=False, error=reason)


def whole_weights(weights: Weights, device: torch.device) -> Tensor:
    """All of them, in the shape of their spec, or nested where samples differ."""
    layout = weights.layout
    with plainly():
        dtype = wide(weights.tensors[0].dtype)
        samples = [_heads(weights, sample).to(device, dtype) for sample in range(layout.samples)]
        if len({sample.shape for sample in samples}) > 1:
            return torch.nested.as_nested_tensor(samples)
        return torch.stack(samples).reshape(layout.shape)


def kept_copy(weights: Weights, device: torch.device) -> Weights:
    """A copy that no later op of the forward writes to. A tensor that is used twice is copied once."""
    copies: dict[int, Tensor] = {}

    def move(tensor: Tensor) -> Tensor:
        if id(tensor) not in copies:
            copies[id(tensor)] = tensor.detach().to(device, copy=True)
        return copies[id(tensor)]

    with plainly():
        return weights.moved(move)


def _heads(weights: Weights, sample: int, start: int = 0, step: int = 1) -> Tensor:
    """`[head, query, key]` of one sample, of every `step`th query from `start` on: a view where the model made them
    itself."""
    if isinstance(weights, Made):
        return weights.heads(sample)[:, start::step]
    if isinstance(weights, Product):
        queries, keys = weights.layout.shape[-2:]
        return weights.heads(sample, max(1, _LIMIT // (len(range(start, queries, step)) * keys)), start, step)
    heads = (weights.head(sample, item) for item in range(weights.layout.items))
    return torch.stack([head_rows(head, start, step=step) for head in heads])


def _chunks(head: Head, start: int, stop: int, step: int = 1) -> Iterator[Tensor]:
    reach = max(1, _LIMIT // head.keys) * step
    for first in range(start, stop, reach):
        yield head.rows(first, min(first + reach, stop), step)


def head_rows(
    head: Head, start: int = 0, stop: int | None = None, columns: tuple[int, int] | None = None, step: int = 1
) -> Tensor:
    part = slice(*columns) if columns else slice(None)
    chunks = [rows[:, part] for rows in _chunks(head, start, head.queries if stop is None else stop, step)]
    return chunks[0] if len(chunks) == 1 else torch.cat(chunks)


def _scaled(summary: Summary) -> Summary:
    """Codes reach from 0 to the largest weight: what stands out is what attention is about."""
    stats = summary.statistics
    high = stats.maximum if stats is not None and stats.maximum > 0 else 1.0
    return replace(summary, scale=(0.0, high))


def _sampled(weights: Weights, leaf: str, sample: int) -> Summary:
    layout = weights.layout
    first = weights.head(sample, 0)
    size = (first.queries, first.keys)
    shape = fit(size, _EDGE)
    most = min(_LIMIT, _LOOKED // layout.items) // size[1]
    step = size[0] // min(size[0], max(shape[0], most))
    tally = _Tally()
    rows = _heads(weights, sample, step // 2, step)
    rows = rows.to(wide(rows.dtype))
    tally.add(rows.flatten(0, 1))
    picture = feature_maps(adaptive_avg_pool2d(rows, shape), range(layout.items), limit=_LIMIT)
    picture = replace(picture, size=size, pooled=True)
    stats, histogram = tally.statistics(layout.items * size[0] * size[1])
    axes = layout.axes
    if step > 1:
        axes = replace(axes, reason=f"{axes.reason}; map and numbers: about, from every {step}th query")
    return _scaled(Summary(leaf, weights.spec, axes, picture, stats, histogram, None))


def _pooled(head: Head, region: tuple[int, int, int, int], shape: tuple[int, int]) -> Tensor:
    """Area means of a region."""
    top, left, bottom, right = region
    height = bottom - top
    bands = [(top + i * height // shape[0], top - (-(i + 1) * height // shape[0])) for i in range(shape[0])]
    means = []
    for start, stop in bands:
        total = torch.stack([rows[:, left:right].sum(0) for rows in _chunks(head, start, stop)]).sum(0)
        means.append(adaptive_avg_pool1d((total / (stop - start)).unsqueeze(0), shape[1])[0])
    return torch.stack(means)


@dataclass(slots=True)
class _Tally:
    """Statistics of weights that come a few at a time."""

    count: int = 0
    nan: int = 0
    zeros: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    codes: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(_CODES, np.int64))

    def add(self, rows: Tensor) -> None:
        """`rows: [query, key]`"""
        low, high = rows.aminmax()
        sums = torch.stack([rows.sum(), torch.linalg.vector_norm(rows), low, high]).tolist()
        if any(map(math.isnan, sums)):
            good = rows.isfinite().all(1)
            self.nan += int((~good).sum()) * rows.shape[1]
            rows = rows[good]
            if len(rows):
                self.add(rows)
            return
        self.count += rows.numel()
        # None is negative, and signs are added up in a twentieth of the time that `count_nonzero` takes.
        self.zeros += rows.numel() - int(rows.sign().sum())
        self.total, self.squares = self.total + sums[0], self.squares + sums[1] ** 2
        self.low, self.high = min(self.low, sums[2]), max(self.high, sums[3])
        codes = rows.to(torch.float32).flatten().view(torch.int32) >> _SHIFT
        self.codes += torch.bincount(codes.clamp_(0, _CODES - 1), minlength=_CODES).cpu().numpy()

    def statistics(self, whole: int) -> tuple[Statistics, Histogram | None]:
        """As of `whole` weights, for which those that were added stand."""
        size = self.count + self.nan
        nan = round(self.nan * whole / size)
        if not self.count:
            return Statistics(whole, *(math.nan,) * 4, 0.0, 0.0, nan, 0, math.nan, math.nan), None
        mean = self.total / self.count
        std = math.sqrt(max(0.0, self.squares / self.count - mean**2))
        values = self._values()
        quantile = self._quantiles(values)
        stats = Statistics(
            count=whole,
            minimum=self.low,
            maximum=self.high,
            mean=mean,
            std=std,
            zeros=self.zeros / size,
            negatives=0.0,
            nan=nan,
            inf=0,
            low=quantile(_LOW),
            high=quantile(_HIGH),
        )
        return stats, self._histogram(values, whole - nan)

    def _values(self) -> Floats:
        """The middle of each code's weights."""
        bits = (np.arange(_CODES, dtype=np.int32) << _SHIFT) + (1 << (_SHIFT - 1))
        values: Floats = bits.view(np.float32).astype(np.float64)
        return np.clip(values, self.low, self.high)

    def _quantiles(self, values: Floats) -> Callable[[float], float]:
        below = self.codes.cumsum()

        def quantile(share: float) -> float:
            if share * self.count <= self.zeros:
                return 0.0
            return float(values[int(below.searchsorted(share * below[-1]))])

        return quantile

    def _histogram(self, values: Floats, whole: int) -> Histogram:
        low, high = self.low, self.high
        if high == low:
            low, high = low - 0.5, high + 0.5
        share = whole / max(1, int(self.codes.sum()))
        places = np.minimum((values - low) * (BINS / (high - low)), BINS - 1).astype(np.int64)
        counts = np.bincount(places, weights=self.codes * share, minlength=BINS)
        return Histogram(low, high, np.minimum(np.rint(counts), np.iinfo(np.int32).max).astype(np.int32))
