"""Complex tensors are shown by their magnitude; their phase is a leaf of its own beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from .values import plainly

WORD = "phase"
# Elements of a tensor whose phase is made whole: 64 MB.
_MOST = 1 << 24


def phase_leaf(path: str) -> str:
    """No path within an output has a space before its last word."""
    return f"{path} {WORD}".strip()


def with_phases(found: Sequence[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """The leaves, and after each complex one, unless it is very large, its phase in radians, -pi to pi."""
    for path, tensor in found:
        yield path, tensor
        phase = _phase(tensor)
        if phase is not None:
            yield phase_leaf(path), phase


def phase_named(leaf: str, leaves: Mapping[str, object]) -> Tensor | None:
    """The phase that a leaf's name stands for; None where it is none."""
    for path, tensor in leaves.items():
        if leaf == phase_leaf(path) and isinstance(tensor, Tensor):
            return _phase(tensor)
    return None


def _phase(tensor: Tensor) -> Tensor | None:
    unlike = tensor.is_meta or tensor.is_nested or tensor.layout != torch.strided
    if unlike or not tensor.is_complex() or not 0 < tensor.numel() <= _MOST:
        return None
    with plainly():
        values = tensor.detach()
        return (values.to(torch.complex64) if values.dtype == torch.complex32 else values).angle()
