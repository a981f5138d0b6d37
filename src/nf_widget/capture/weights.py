"""Attention weights that can be had row by row, from what the model's attention was given, without ever being whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..records import TensorSpec
from .layout import Layout, laid_out

# Since torch 2.5 a query that may look nowhere gets zeros from the fused function, and not NaN.
SAFE = hasattr(torch.ops.aten, "_safe_softmax")
_UNSEEN = -math.inf

Move = Callable[[Tensor], Tensor]


class Rows(Protocol):
    """The weights of every `step`th query from `start` on, before `stop`: `[query, key]`, float32 or float64."""

    def __call__(self, start: int, stop: int, step: int = 1) -> Tensor: ...


@dataclass(frozen=True, slots=True)
class Head:
    """The weights of one head for one sample."""

    queries: int
    keys: int
    rows: Rows


class Weights(Protocol):
    """The attention weights of one call."""

    @property
    def layout(self) -> Layout: ...

    @property
    def spec(self) -> TensorSpec: ...

    @property
    def tensors(self) -> Sequence[Tensor]:
        """What they are made from."""

    def head(self, sample: int, item: int) -> Head:
        """Raises `IndexError`."""

    def moved(self, move: Move) -> Weights:
        """The same from other copies of `tensors`."""


@dataclass(frozen=True, slots=True)
class Made:
    """The model made them itself: `[..., query, key]`."""

    values: Tensor
    layout: Layout

    @property
    def spec(self) -> TensorSpec:
        return spec_for(self.layout, self.values)

    @property
    def tensors(self) -> Sequence[Tensor]:
        return (self.values,)

    def head(self, sample: int, item: int) -> Head:
        plane = self.values[self.layout.index(sample, item)]

        def rows(start: int, stop: int, step: int = 1) -> Tensor:
            return plane[start:stop:step].to(wide(plane.dtype))

        return Head(plane.shape[0], plane.shape[1], rows)

    def heads(self, sample: int) -> Tensor:
        """`[head, query, key]` as they lie in memory. Raises `IndexError`."""
        first = self.layout.first(sample)
        return self.values.reshape(-1, *self.values.shape[-2:])[first : first + self.layout.items]

    def moved(self, move: Move) -> Weights:
        return Made(move(self.values), self.layout)


@dataclass(frozen=True, slots=True)
class Product:
    """Softmax of scaled products. `query: [..., query, feature]`, `key: [..., key, feature]`, whose leading dimensions
    may be 1, or, for grouped queries, a part of the heads. `mask` is boolean (True takes part) or is added.

    With `causal`, query i sees the keys up to i + `causal`.
    """

    query: Tensor
    key: Tensor
    mask: Tensor | None
    causal: int | None
    scale: float
    layout: Layout

    @property
    def spec(self) -> TensorSpec:
        return spec_for(self.layout, self.query)

    @property
    def tensors(self) -> Sequence[Tensor]:
        return [self.query, self.key, *([] if self.mask is None else [self.mask])]

    def head(self, sample: int, item: int) -> Head:
        place = self.layout.index(sample, item)
        lead = self.layout.lead
        masks = [] if self.mask is None else [plane_at(self.mask, place, lead)]
        query, key = plane_at(self.query, place, lead), plane_at(self.key, place, lead)
        return product(query, key, masks, causal=self.causal, scale=self.scale, safe=SAFE)

    def heads(self, sample: int, at_once: int, start: int = 0, step: int = 1) -> Tensor:
        """`[head, query, key]` of every `step`th query from `start` on, so many heads at a time.

        Raises `IndexError`.
        """
        first, items, lead = self.layout.first(sample), self.layout.items, self.layout.lead
        given = [self.query, self.key, *([] if self.mask is None else [self.mask])]
        if lead[:1] == (self.layout.samples,):  # nothing of the other samples need be copied
            at, whole = slice(first // items, first // items + 1), (len(lead) + 2, lead[0])
            given = [tensor[at] if (tensor.ndim, len(tensor)) == whole else tensor for tensor in given]
            first, lead = 0, (1, *lead[1:])
        query, key, *masks = (planes_of(tensor, lead)[first : first + items] for tensor in given)
        queries, keys = self.layout.shape[-2:]
        made = query.new_empty((items, len(range(start, queries, step)), keys), dtype=wide(query.dtype))
        for part in (slice(at, at + at_once) for at in range(0, items, at_once)):
            some, into = [mask[part] for mask in masks], made[part]
            head = product(query[part], key[part], some, causal=self.causal, scale=self.scale, safe=SAFE, into=into)
            head.rows(start, queries, step)
        return made

    def moved(self, move: Move) -> Weights:
        mask = None if self.mask is None else move(self.mask)
        return Product(move(self.query), move(self.key), mask, self.causal, self.scale, self.layout)


@dataclass(frozen=True, slots=True)
class Ragged:
    """Nested tensors: the samples differ in how many queries and keys they have."""

    parts: tuple[Weights, ...]

    @property
    def layout(self) -> Layout:
        """Of the largest sample."""
        shapes = [part.layout.shape for part in self.parts]
        shape = (len(shapes), *(max(sizes) for sizes in zip(*shapes, strict=True)))
        return Layout(("batch", *self.parts[0].layout.names), shape, shape[:-2])

    @property
    def spec(self) -> TensorSpec:
        first = self.parts[0].spec
        return TensorSpec(self.layout.shape, first.dtype, first.device)

    @property
    def tensors(self) -> Sequence[Tensor]:
        return [tensor for part in self.parts for tensor in part.tensors]

    def head(self, sample: int, item: int) -> Head:
        if not 0 <= sample < len(self.parts):
            raise IndexError(f"There is no sample {sample} in a batch of {len(self.parts)}.")
        return self.parts[sample].head(0, item)

    def moved(self, move: Move) -> Weights:
        return Ragged(tuple(part.moved(move) for part in self.parts))


def product(
    query: Tensor,
    key: Tensor,
    masks: Sequence[Tensor],
    *,
    causal: int | None,
    scale: float,
    safe: bool,
    hides: bool = False,
    into: Tensor | None = None,
) -> Head:
    """`query: [..., query, feature]`, `key: [..., key, feature]`, `masks: [..., query or 1, key or 1]`.

    True in a boolean mask takes part, or, with `hides`, does not; others are added. `safe`: queries that see nothing
    have weights of 0. `into` is memory for the rows, for as many as are asked for.
    """
    dtype = wide(query.dtype)
    keys, count = key.to(dtype), key.shape[-2]
    masked = bool(masks) or (causal is not None and causal < 0)

    def rows(start: int, stop: int, step: int = 1) -> Tensor:
        # Keys after the last one that any of these queries sees need no work.
        seen = count if causal is None else min(count, max(0, stop + causal))
        some = query[..., start:stop:step, :].to(dtype) * scale
        logits = torch.matmul(some, keys[..., :seen, :].mT, out=into if seen == count else None)
        for mask in masks:
            part = (mask if mask.shape[-2] == 1 else mask[..., start:stop:step, :])[..., :seen]
            if part.dtype == torch.bool:
                logits.masked_fill_(part if hides else ~part, _UNSEEN)
            else:
                logits.add_(part)
        if causal is not None:
            _hide_later(logits, start + causal, step)
        blind = (logits.amax(-1, keepdim=True) == _UNSEEN) if safe and masked and seen else None
        # On a CPU in place, a row at a time: touching fresh memory takes longer than the arithmetic.
        weights = torch.softmax(logits, -1, out=logits if logits.device.type == "cpu" else None)
        weights = weights if blind is None else weights.masked_fill_(blind, 0)
        weights = weights if seen == count else pad(weights, (0, count - seen))
        return weights if into is None or weights is into else into.copy_(weights)

    return Head(query.shape[-2], count, rows)


def _hide_later(logits: Tensor, last: int, step: int) -> None:
    """Query i of `[..., query, key]` sees the keys up to `last` + i * `step`."""
    queries, keys = logits.shape[-2:]
    first = min(max(0, last + 1), keys)
    later = logits[..., first:]
    places = torch.arange(first, keys, device=logits.device)
    seen = last + step * torch.arange(queries, device=logits.device)
    later.masked_fill_(places > seen[:, None], _UNSEEN)


def plane_at(tensor: Tensor, place: Sequence[int], lead: Sequence[int]) -> Tensor:
    """The last two dimensions at a place of `lead`: dimensions are matched from the right, as in broadcasting, and
    where there are fewer than `lead` says, neighbours share one."""
    if tensor.ndim == 1:
        return tensor.unsqueeze(0)
    own = tensor.shape[:-2]
    where = place[len(place) - len(own) :]
    whole = lead[len(lead) - len(own) :]
    return tensor[tuple(at * size // full for at, size, full in zip(where, own, whole, strict=True))]


def planes_of(tensor: Tensor, lead: Sequence[int]) -> Tensor:
    """`plane_at` of all places, one after the other: `[place, row, column]`."""
    tensor = tensor.unsqueeze(0) if tensor.ndim == 1 else tensor
    rows, columns = tensor.shape[-2:]
    tensor = tensor.reshape(*(1,) * (len(lead) + 2 - tensor.ndim), *tensor.shape)
    for axis, whole in enumerate(lead):
        if tensor.shape[axis] not in {1, whole}:
            tensor = tensor.repeat_interleave(whole // tensor.shape[axis], axis)
    return tensor.expand(*lead, rows, columns).reshape(-1, rows, columns)


def wide(dtype: torch.dtype) -> torch.dtype:
    """What weights are computed in."""
    return torch.promote_types(dtype, torch.float32)


def spec_for(layout: Layout, tensor: Tensor) -> TensorSpec:
    """Of weights that are computed from `tensor`."""
    return TensorSpec(layout.shape, str(wide(tensor.dtype)).removeprefix("torch."), str(tensor.device))


def given_to_product(  # noqa: PLR0913, PLR0917 - the signature of `F.scaled_dot_product_attention`
    query: Tensor,
    key: Tensor,
    value: Tensor,  # noqa: ARG001
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,  # noqa: ARG001
    is_causal: bool = False,  # noqa: FBT001, FBT002
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    batch: int | None = None,
) -> Weights:
    """What a call of `F.scaled_dot_product_attention` weighs with."""
    if query.is_nested:
        pairs = zip(query.unbind(), key.unbind(), strict=True)
        rest: dict[str, Any] = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
        return Ragged(tuple(given_to_product(q, k, k, attn_mask, **rest) for q, k in pairs))
    causal = 0 if is_causal else None
    lower_right = getattr(attn_mask, "variant", None)
    if lower_right is not None:  # torch.nn.attention.bias.CausalBias: a mask that is not there
        causal = key.shape[-2] - query.shape[-2] if lower_right.name == "LOWER_RIGHT" else 0
        attn_mask = None
    lead = tuple(query.shape[:-2]) if enable_gqa else tuple(torch.broadcast_shapes(query.shape[:-2], key.shape[:-2]))
    layout = laid_out(lead, query.shape[-2], key.shape[-2], batch)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    mask = attn_mask.unsqueeze(0) if attn_mask is not None and attn_mask.ndim == 1 else attn_mask
    return Product(query, key, mask, causal, factor, layout)
