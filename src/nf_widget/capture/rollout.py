"""Attention rollout: how much of each token that went in is in each token after several attentions.

Abnar and Zuidema, "Quantifying Attention Flow in Transformers", 2020: the weights of each attention, averaged over its
heads, and half of each token itself, for what went around it; their product over the layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..records import Nothing
from .heads import head_rows
from .weights import Weights

# Tokens up to which the product is made: 64 MB.
MOST = 4096


@dataclass(slots=True)
class Rollout:
    """Follows one sample. `total: [token, token]`, rows sum to 1; None as long as no attention was of a sequence to
    itself. It starts anew where the number of tokens changes, as between an encoder and its decoder."""

    sample: int
    total: Tensor | None = None
    unlike: str = ""

    def take(self, weights: Weights | Nothing, _number: int) -> None:
        if isinstance(weights, Nothing):
            self.unlike = weights.reason
            return
        layout, tokens = weights.layout, weights.layout.shape[-1]
        if "other" in layout.names or layout.shape[-2] != tokens or tokens > MOST:
            self.unlike = f"attention of {layout.shape[-2]} queries to {tokens} keys"
            self.unlike += " in each of several windows" if "other" in layout.names else ""
            return
        heads = [head_rows(weights.head(self.sample, item)) for item in range(layout.items)]
        mixed = (sum(heads[1:], heads[0]) / len(heads)).add_(torch.eye(tokens, device=heads[0].device))
        mixed /= mixed.sum(1, keepdim=True)
        goes_on = self.total is not None and self.total.shape == mixed.shape
        self.total = mixed @ self.total if goes_on and self.total is not None else mixed
