"""Memory that the pieces of a walk share, one after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from .values import real, real_dtype


class Scratch:
    """Of a CPU's memory only. A C library does not find large aligned blocks again between the small results that stay:
    asked for anew with each piece, they would make the process grow, and touching fresh memory costs more than the
    arithmetic. An accelerator's allocator finds them.
    """

    def __init__(self) -> None:
        self._held: dict[str, tuple[object, Tensor]] = {}

    def like(self, values: Tensor, use: str, dtype: torch.dtype | None = None) -> Tensor | None:
        """Memory for what is computed of `values`, until `use` is asked for again; None where there is no need for it,
        as `out=None` asks torch for its own."""
        if values.device.type != "cpu" or type(values) is not Tensor:
            return None
        kind = (values.shape, values.stride(), dtype or values.dtype)
        held = self._held.get(use)
        if held is None or held[0] != kind:
            self._held[use] = held = (kind, torch.empty_like(values, dtype=dtype))
        return held[1]

    def real(self, values: Tensor, *, double: bool = False) -> Tensor:
        """As `values.real`, in memory that the next call overwrites, or `values` itself where they are so already."""
        dtype = real_dtype(values, double=double)
        held = None if values.is_complex() or values.dtype == dtype else self.like(values, "real", dtype)
        return real(values, double=double) if held is None else held.copy_(values)

    def short(self, values: Tensor) -> Tensor:
        """As `int16`, in memory that the next call overwrites."""
        held = self.like(values, "short", torch.int16)
        return values.to(torch.int16) if held is None else held.copy_(values)
