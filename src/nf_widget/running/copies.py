"""Copies of the values of many tensors, most of them small."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

# Tensors of so many elements at most share one copy, which is made, and compared, in one call for all.
_SMALL = 1 << 14
_PACKED = frozenset((torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool))


class Copy(NamedTuple):
    """`memory` is the tensor as it was: what it showed then, whatever it shows now."""

    memory: Tensor
    values: Tensor


class _Pack(NamedTuple):
    keys: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    memories: tuple[Tensor, ...]
    values: Tensor

    def copies(self) -> Iterator[tuple[int, Copy]]:
        parts = self.values.split([memory.numel() for memory in self.memories])
        for key, memory, part in zip(self.keys, self.memories, parts, strict=True):
            yield key, Copy(memory, part.view(memory.shape))


class Copies:
    """Of strided tensors, and clones of others, by their keys, for as long as there is `room`, in bytes."""

    def __init__(self, tensors: Mapping[int, Tensor], room: int) -> None:
        self._apart: dict[int, Copy] = {}
        small: dict[tuple[torch.dtype, torch.device], list[tuple[int, Tensor, Tensor]]] = defaultdict(list)
        for key, tensor in tensors.items():
            strided = tensor.layout == torch.strided
            size = tensor.element_size() * tensor.numel() if strided else 0
            if size > room:
                continue
            room -= size
            memory = tensor.detach()
            if strided and tensor.dtype in _PACKED and type(tensor) is Tensor and tensor.numel() <= _SMALL:
                small[tensor.dtype, tensor.device].append((key, tensor, memory))
            else:
                self._apart[key] = Copy(memory, memory.clone())
        self._packs = [_packed(found) for found in small.values()]
        self._keys = {*self._apart, *(key for pack in self._packs for key in pack.keys)}

    def __contains__(self, key: int) -> bool:
        return key in self._keys

    def suspects(self) -> Iterator[tuple[int, Copy]]:
        """All, but for those small ones of which one look at them together says that they are what they were."""
        yield from self._apart.items()
        for pack in self._packs:
            if not all(map(is_in, pack.tensors, pack.memories)) or not torch.equal(_flat(pack.tensors), pack.values):
                yield from pack.copies()


def is_equal(tensor: Tensor, values: Tensor) -> bool:
    """Whether the values are the same. NaN is not equal to itself."""
    if tensor.layout != torch.strided:
        return False
    try:
        return torch.equal(tensor, values)
    except (RuntimeError, NotImplementedError):  # 8-bit floats
        return False


def is_in(tensor: Tensor, memory: Tensor) -> bool:
    """Whether a strided tensor shows this memory still."""
    return tensor.data_ptr() == memory.data_ptr() and tensor.shape == memory.shape


def _packed(found: list[tuple[int, Tensor, Tensor]]) -> _Pack:
    keys, tensors, memories = zip(*found, strict=True)
    return _Pack(keys, tensors, memories, _flat(memories))


def _flat(memories: tuple[Tensor, ...]) -> Tensor:
    return torch.cat([memory.reshape(-1) for memory in memories])
