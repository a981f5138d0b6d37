"""The weights of `flex_attention`, a few queries at a time: products that a function of the user's changes or hides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..records import TensorSpec
from .layout import Layout, laid_out
from .weights import Head, Move, Weights, plane_at, spec_for, wide

# Its name as an operator, which a mode sees.
NAME = "flex_attention"


@dataclass(frozen=True, slots=True)
class Flexible:
    """`query: [batch, head, query, feature]`, `key` likewise, with fewer heads for grouped queries.

    `change(score, batch, head, query, key, *changed_by)` gives the score that counts, and
    `show(batch, head, query, key, *shown_by)` says whether the query sees the key.
    """

    query: Tensor
    key: Tensor
    change: Callable[..., Tensor]
    show: Callable[..., Tensor]
    scale: float
    changed_by: tuple[Any, ...]
    shown_by: tuple[Any, ...]
    layout: Layout

    @property
    def spec(self) -> TensorSpec:
        return spec_for(self.layout, self.query)

    @property
    def tensors(self) -> Sequence[Tensor]:
        return [self.query, self.key, *(t for t in (*self.changed_by, *self.shown_by) if isinstance(t, Tensor))]

    def head(self, sample: int, item: int) -> Head:
        place = self.layout.index(sample, item)
        query, key = (plane_at(tensor, place, self.layout.lead) for tensor in (self.query, self.key))
        keys = key.to(wide(key.dtype))

        def rows(start: int, stop: int, step: int = 1) -> Tensor:
            scores = (query[start:stop:step].to(keys.dtype) @ keys.T) * self.scale
            return self._weights(scores, place, range(start, stop, step))

        return Head(len(query), len(keys), rows)

    def moved(self, move: Move) -> Weights:
        changed, shown = (
            tuple(move(t) if isinstance(t, Tensor) else t for t in each) for each in (self.changed_by, self.shown_by)
        )
        return replace(self, query=move(self.query), key=move(self.key), changed_by=changed, shown_by=shown)

    def _weights(self, scores: Tensor, place: Sequence[int], queries: range) -> Tensor:
        """Of `[query, key]` scores of these queries."""
        # Where the functions index other tensors by position, torch must see that as an op.
        from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex  # noqa: PLC0415
        from torch.nn.attention.flex_attention import _vmap_for_bhqkv  # noqa: PLC0415

        at = [torch.tensor([index], device=scores.device) for index in place]
        numbers = (queries, range(scores.shape[1]))
        at += [torch.arange(some.start, some.stop, some.step, device=scores.device) for some in numbers]
        change = _vmap_for_bhqkv(self.change, prefix=(0,), suffix=(None,) * len(self.changed_by))
        show = _vmap_for_bhqkv(self.show, prefix=(), suffix=(None,) * len(self.shown_by))
        with TransformGetItemToIndex():
            changed = change(scores[None, None], *at, *self.changed_by)[0, 0]
            seen = show(*at, *self.shown_by)[0, 0]
        changed = changed.masked_fill(~seen, -math.inf)
        blind = changed.amax(1, keepdim=True) == -math.inf
        return changed.softmax(1).masked_fill(blind, 0)


def given_to_flex(args: Sequence[Any], batch: int | None) -> Weights:
    """What the operator weighs with, from its arguments."""
    query, key, _, change, block_mask, scale, _, changed_by, shown_by = args
    layout = laid_out(tuple(query.shape[:2]), query.shape[2], key.shape[2], batch)
    return Flexible(query, key, change, block_mask[-1], scale, tuple(changed_by), tuple(shown_by), layout)
