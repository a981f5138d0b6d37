"""What the forward of the metadata pass gave out, so that the capture pass need not make it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..nested import leaves
from ..records import CallId
from ..running import is_wrapped
from .storage import address


class GivenOut:
    """Held until they are taken, and only where it is sure that they stay what the model gave out: ordinary tensors in
    the CPU's memory (the time that is saved elsewhere is small, and could not be told without waiting for the device),
    none of which shares it with `state`, which is put back after the forward.

    `share_until` tells how much of the forward's time had passed when a call ended.
    """

    def __init__(self, result: Any, state: Sequence[Tensor], share_until: Callable[[CallId], float]) -> None:
        self.share_until = share_until
        with torch._C.DisableTorchFunction():
            found = leaves(result)
            lasting = all(_is_ordinary(tensor) for _, tensor in found)
            memories = {address(tensor) for _, tensor in found} if lasting else set()
            if not lasting or not memories.isdisjoint(map(address, state)):
                found = []
            self._held = [(path, tensor.detach(), tensor._version) for path, tensor in found]

    def take(self) -> dict[str, Tensor]:
        """The leaves by their paths; none the second time, or if one of them was written to."""
        held, self._held = self._held, []
        if any(tensor._version != version for _, tensor, version in held):
            return {}
        return {path: tensor for path, tensor, _ in held}


def _is_ordinary(tensor: Tensor) -> bool:
    plain = type(tensor) is Tensor and tensor.layout == torch.strided and tensor.device.type == "cpu"
    return plain and not (tensor.is_nested or tensor.is_inference() or is_wrapped(tensor))
