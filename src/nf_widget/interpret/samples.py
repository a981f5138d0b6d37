"""One sample of what a model takes or gives, where it can be read as plain numbers."""

from __future__ import annotations

from torch import Tensor, strided

from ..records import Axes


def readable(tensor: Tensor, axes: Axes) -> bool:
    """Whether it holds values, in the dimensions that `axes` names."""
    unlike = tensor.is_meta or tensor.is_nested or tensor.layout != strided or tensor.is_quantized
    return not (unlike or tensor.is_complex()) and len(axes.names) == tensor.ndim and tensor.numel() > 0


def of_sample(tensor: Tensor, axes: Axes, sample: int) -> Tensor | None:
    """Without the batch axis, without a copy; None where there is no such sample. A batch of one is shared by all."""
    if "batch" not in axes.names:
        return tensor
    axis = axes.names.index("batch")
    size = tensor.shape[axis]
    if size > 1 and not 0 <= sample < size:
        return None
    return tensor.select(axis, sample if size > 1 else 0)
