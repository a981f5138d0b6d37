"""A picture of a large sparse tensor, from its stored values alone."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..records import FeatureMaps, Picture
from .channels import Indices
from .pictures import fit, vector_strip
from .values import real

_EDGE = 48


def stored_picture(coo: Tensor, *, limit: int) -> Picture:
    """Area means, zeros included, of a coalesced COO matrix: what pooling its dense form would give.

    Dimensions before the last two are summed over. Where the last two are not sparse, a strip of the stored values.
    """
    if coo.sparse_dim() < 2 or coo.dense_dim():
        return vector_strip(coo.values().reshape(-1), limit=limit)
    height, width = coo.shape[-2:]
    rows, columns = fit((height, width), _EDGE)
    sums = torch.zeros(rows * columns, dtype=torch.float64)
    for places, values in zip(coo.indices().split(limit, 1), coo.values().split(limit), strict=True):
        cell = places[-2] * rows // height * columns + places[-1] * columns // width
        sums.index_add_(0, cell.cpu(), real(values, double=True).cpu())
    areas = np.outer(_lengths(height, rows), _lengths(width, columns))
    means = (sums.view(rows, columns).numpy() / areas).astype(np.float32)
    return FeatureMaps((0,), means[None], (height, width), pooled=(rows, columns) != (height, width))


def _lengths(length: int, cells: int) -> Indices:
    """How many of `length` places fall into each of `cells` cells."""
    edges: Indices = -(-np.arange(cells + 1, dtype=np.int64) * length // cells)
    return np.diff(edges)
