"""Which op a tensor's value came from, through views and in-place writes.

A tensor is tagged with the op that made it. Tags are looked up by `id`, and believed only while the weak reference
beside them still leads to that very tensor: ids of freed tensors come back. Storages carry the list of writes to
them, so that a write through one view reaches every other view that overlaps it, and nothing else.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ..records import OpId

# (first byte, bytes per element, sizes, strides in bytes)
Region = tuple[int, int, tuple[int, ...], tuple[int, ...]]
_OVERLAP_WORK = 10_000
_PRUNE_EVERY = 8_192


@dataclass(slots=True)
class Storage:
    """`weak` is a C++ weak pointer: it keeps the address from being used again. `origin` made the storage."""

    weak: int
    origin: OpId | None
    writes: list[tuple[OpId, Region | None]] = field(default_factory=list)


@dataclass(slots=True)
class Tag:
    tensor: weakref.ref[Tensor]
    op: OpId | None
    storage: Storage | None


class Provenance:
    """Tags of tensors and histories of storages during one pass. Call `close` when done."""

    def __init__(self) -> None:
        self._constants: dict[int, Tensor] = {}
        self._any_write = False
        self._tags: dict[int, Tag] = {}
        self._storages: dict[int, Storage] = {}
        self._next_prune = _PRUNE_EVERY

    def constants(self, tensors: Iterable[Tensor]) -> None:
        """These were there before the pass, and outlive it: they come from nothing until something writes to them."""
        self._constants.update((id(tensor), tensor) for tensor in tensors)

    def tag(self, tensor: Tensor, op: OpId | None) -> None:
        """`tensor`'s present value comes from `op`; None for a constant."""
        self._tags[id(tensor)] = Tag(weakref.ref(tensor), op, self._storage(tensor, op))
        if len(self._tags) > self._next_prune:
            self._prune()

    def sources(self, tensor: Tensor) -> tuple[OpId, ...] | None:
        """Ops that the value of `tensor` comes from; empty for a constant, None for a tensor never seen."""
        tag = self._tags.get(id(tensor))
        if tag is not None and tag.tensor() is tensor:
            storage, op = tag.storage, tag.op
        elif id(tensor) in self._constants:
            storage, op = self._known_storage(tensor) if self._any_write else None, None
        else:
            storage = self._known_storage(tensor)
            if storage is None:
                return None
            op = storage.origin
        if storage is None or not storage.writes:
            return () if op is None else (op,)
        return _after_writes(op, storage.writes, tensor)

    def write(self, tensor: Tensor, op: OpId, target: Tensor | None) -> None:
        """`op` wrote to `tensor`, or to the part of it that the view `target` shows."""
        self._any_write = True
        storage = self._storage(tensor, None)
        if storage is None:
            self.tag(tensor, op)
            return
        if target is None:
            self._tags[id(tensor)] = Tag(weakref.ref(tensor), op, storage)
        elif id(tensor) not in self._tags:
            self._tags[id(tensor)] = Tag(weakref.ref(tensor), None, storage)
        region = _region(tensor if target is None else target)
        if storage.writes and region is not None and storage.writes[-1][1] == region:
            storage.writes.pop()
        storage.writes.append((op, region))

    def close(self) -> None:
        for storage in self._storages.values():
            torch.UntypedStorage._free_weak_ref(storage.weak)
        self._storages.clear()
        self._tags.clear()
        self._constants.clear()

    def _storage(self, tensor: Tensor, op: OpId | None) -> Storage | None:
        try:
            untyped = tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):  # sparse, functorch wrappers: no memory of their own
            return None
        key = untyped._cdata
        storage = self._storages.get(key)
        if storage is None:
            storage = self._storages[key] = Storage(untyped._weak_ref(), op)
        return storage

    def _known_storage(self, tensor: Tensor) -> Storage | None:
        try:
            return self._storages.get(tensor.untyped_storage()._cdata)
        except (RuntimeError, NotImplementedError):
            return None

    def _prune(self) -> None:
        self._tags = {key: tag for key, tag in self._tags.items() if tag.tensor() is not None}
        dead = [key for key, s in self._storages.items() if torch.UntypedStorage._expired(s.weak)]
        for key in dead:
            torch.UntypedStorage._free_weak_ref(self._storages.pop(key).weak)
        self._next_prune = max(_PRUNE_EVERY, 2 * len(self._tags))


def _after_writes(
    op: OpId | None, writes: list[tuple[OpId, Region | None]], tensor: Tensor
) -> tuple[OpId, ...]:
    found = [] if op is None else [op]
    start = -1 if op is None else op
    region: Region | None = None
    for write, written in writes:
        if write <= start:
            continue
        region = region or _region(tensor)
        if region is None or written is None:
            found.append(write)
        elif _covers(written, region):
            found = [write]
        elif _overlap(written, region):
            found.append(write)
    return tuple(dict.fromkeys(found))


def _region(tensor: Tensor) -> Region | None:
    try:
        size = tensor.element_size()
        return (
            tensor.storage_offset() * size,
            size,
            tuple(tensor.shape),
            tuple(stride * size for stride in tensor.stride()),
        )
    except (RuntimeError, NotImplementedError):
        return None


def _span(region: Region) -> tuple[int, int]:
    start, size, sizes, strides = region
    return start, start + size + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


def _elements(region: Region) -> int:
    count = 1
    for n in region[2]:
        count *= n
    return count


def _covers(written: Region, read: Region) -> bool:
    if written == read:
        return True
    low, high = _span(written)
    dense = _elements(written) * written[1] == high - low and not _repeats(written)
    first, last = _span(read)
    return dense and low <= first and last <= high


def _repeats(region: Region) -> bool:
    return any(n > 1 and s == 0 for n, s in zip(region[2], region[3], strict=True))


def _overlap(a: Region, b: Region) -> bool:
    if _elements(a) == 0 or _elements(b) == 0:
        return False
    (a_low, a_high), (b_low, b_high) = _span(a), _span(b)
    if a_high <= b_low or b_high <= a_low:
        return False
    try:
        return bool(np.shares_memory(np.asarray(_Memory(a)), np.asarray(_Memory(b)), max_work=_OVERLAP_WORK))
    except np.exceptions.TooHardError:
        return True


class _Memory:
    """Memory that nobody reads: NumPy solves the overlap of two strided regions from their addresses alone."""

    def __init__(self, region: Region) -> None:
        start, size, sizes, strides = region
        # Any base address but 0 will do.
        self.__array_interface__ = {
            "version": 3,
            "data": (4096 + start, True),
            "shape": sizes,
            "strides": strides,
            "typestr": f"|V{size}",
        }
