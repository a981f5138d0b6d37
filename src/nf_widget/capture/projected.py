"""The weights of `F.multi_head_attention_forward`, whose projections are part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, pad

from ..records import AxisName, TensorSpec
from .layout import Layout
from .weights import SAFE, Head, Move, Weights, product, spec_for


@dataclass(frozen=True, slots=True)
class Projected:
    """`query: [query, sample, feature]`, `key: [key, sample, feature]`.

    The projections `[heads * width, feature]` and their biases are applied head by head. `masks` hide where True, or
    are added; each is `[query, key]`, `[sample * heads, query, key]` or, for padding, `[sample, 1, key]`. `more` keys,
    such as `bias_k` and zeros, stand behind the others and are not masked. `static` keys need no projection:
    `[sample * heads, key, width]`.
    """

    query: Tensor
    key: Tensor
    projections: tuple[Tensor, Tensor]
    biases: tuple[Tensor, Tensor] | None
    masks: tuple[Tensor, ...]
    more: tuple[Tensor, ...]
    static: Tensor | None
    safe: bool
    layout: Layout

    @property
    def spec(self) -> TensorSpec:
        return spec_for(self.layout, self.query)

    @property
    def tensors(self) -> Sequence[Tensor]:
        rest = [] if self.static is None else [self.static]
        return [self.query, self.key, *self.projections, *(self.biases or ()), *self.masks, *self.more, *rest]

    def head(self, sample: int, item: int) -> Head:
        heads = self.layout.items
        place = self.layout.index(sample, item)
        at = place[0] if self.layout.batched else 0
        number = at * heads + item
        width = self.projections[0].shape[0] // heads
        part = slice(item * width, (item + 1) * width)
        weights = [projection[part] for projection in self.projections]
        biases = (None, None) if self.biases is None else [bias[part] for bias in self.biases]
        query = linear(self.query[:, at], weights[0], biases[0])
        key = linear(self.key[:, at], weights[1], biases[1]) if self.static is None else self.static[number]
        key = torch.cat([key, *(row.reshape(1, -1)[:, part] for row in self.more)]) if self.more else key
        samples = self.query.shape[1]
        masks = [m if m.ndim == 2 else m[at if m.shape[0] == samples else number] for m in self.masks]
        if self.more:
            masks = [pad(mask, (0, len(self.more))) for mask in masks]
        scale = query.shape[1] ** -0.5
        return product(query, key, masks, causal=None, scale=scale, safe=self.safe, hides=True)

    def moved(self, move: Move) -> Weights:
        query, key = move(self.query), move(self.key)
        return Projected(
            query=query,
            key=query if self.key is self.query else key,
            projections=(move(self.projections[0]), move(self.projections[1])),
            biases=None if self.biases is None else (move(self.biases[0]), move(self.biases[1])),
            masks=tuple(map(move, self.masks)),
            more=tuple(map(move, self.more)),
            static=None if self.static is None else move(self.static),
            safe=self.safe,
            layout=self.layout,
        )


def given_to_module(given: Mapping[str, Any]) -> Weights:
    """What a call of `F.multi_head_attention_forward` weighs with, from its arguments by name."""
    query, key, heads = given["query"], given["key"], int(given["num_heads"])
    batched = query.ndim == 3
    if not batched:
        query, key = query.unsqueeze(1), key.unsqueeze(1)
    if given["use_separate_proj_weight"]:
        projections = (given["q_proj_weight"], given["k_proj_weight"])
    else:
        projections = given["in_proj_weight"].chunk(3)[:2]
    biases = None if given["in_proj_bias"] is None else given["in_proj_bias"].chunk(3)[:2]
    masks = [] if given["attn_mask"] is None else [given["attn_mask"]]
    padding = given["key_padding_mask"]
    if padding is not None:
        masks.append(padding.reshape(-1, 1, padding.shape[-1]))
    more = [] if given["bias_k"] is None or given["bias_v"] is None else [given["bias_k"]]
    if given["add_zero_attn"]:
        more.append(query.new_zeros(projections[0].shape[0]))
    static = given["static_k"]
    keys = (key.shape[0] if static is None else static.shape[1]) + len(more)
    lead = (query.shape[1], heads) if batched else (heads,)
    names: tuple[AxisName, ...] = ("batch", "head") if batched else ("head",)
    layout = Layout((*names, "query", "key"), (*lead, query.shape[0], keys), lead)
    return Projected(
        query=query,
        key=key,
        projections=projections,
        biases=biases,
        masks=tuple(masks),
        more=tuple(more),
        static=static,
        safe=SAFE and not given["need_weights"],
        layout=layout,
    )
