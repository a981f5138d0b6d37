"""What writes to a piece of memory have left of what is shown of it: which bytes each covers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from torch import Tensor

from ..records import OpId

_OVERLAP_WORK = 10_000
# Up to here, memory is gone through byte by byte to see what several writes have left of it.
_SEEN_BYTES = 2**22


class Region(NamedTuple):
    """First byte and the one behind the last; bytes per element; sizes; strides in bytes."""

    low: int
    high: int
    item: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


# What wrote to a piece of memory, and where (None where that is unknown), oldest first.
History: TypeAlias = list[tuple[OpId, Region | None]]


def after_writes(op: OpId | None, history: History, shown: Tensor) -> list[OpId]:
    """The ops that the values of `shown` come from, which `op` made (None for a constant): it, and writes since."""
    start = -1 if op is None else op
    base = op is not None
    region: Region | None = None
    writes: History = []
    for write in history:
        if write[0] <= start:
            continue
        region = region or region_of(shown)
        if region is None or write[1] is None:
            writes.append(write)
        elif _covers(write[1], region):
            base, writes = False, [write]
        elif _overlap(write[1], region):
            writes.append(write)
    if region is not None and (len(writes) > 1 or (writes and base)):
        base, writes = _still_seen(region, writes, base=base)
    found = [op] if base and op is not None else []
    return list(dict.fromkeys(found + [write for write, _ in writes]))


def _still_seen(region: Region, writes: History, *, base: bool) -> tuple[bool, History]:
    """What writes to parts leave to be seen in `region`: of what was there before, and of each other."""
    regions = [region, *(written for _, written in writes if written is not None)]
    low, high = min(each.low for each in regions), max(each.high for each in regions)
    if high - low > _SEEN_BYTES or len(regions) <= len(writes) or any(each.item != region.item for each in regions):
        return base, writes
    covered = np.zeros(high - low, np.bool_)
    read = _cells(covered, region, low)
    kept: History = []
    for write in reversed(writes):
        before = np.count_nonzero(read)
        if write[1] is not None:
            _cells(covered, write[1], low)[...] = True
        if np.count_nonzero(read) > before:
            kept.append(write)
    return base and not bool(read.all()), kept[::-1]


def _cells(memory: npt.NDArray[np.bool_], region: Region, low: int) -> npt.NDArray[np.bool_]:
    """One entry of `memory`, which starts at byte `low`, for the first byte of each element."""
    return np.lib.stride_tricks.as_strided(memory[region.low - low :], region.sizes, region.strides)


def region_of(tensor: Tensor) -> Region | None:
    """None for tensors without strides."""
    try:
        item = tensor.element_size()
        low, sizes = int(tensor.storage_offset()) * item, tuple(tensor.shape)
        strides = tuple([stride * item for stride in tensor.stride()])
        high = low + item + sum([(n - 1) * s for n, s in zip(sizes, strides, strict=True)])
        return Region(low, high, item, sizes, strides)
    except (RuntimeError, NotImplementedError):
        return None


def _covers(written: Region, read: Region) -> bool:
    if written == read:
        return True
    if written.low > read.low or read.high > written.high:
        return False
    return math.prod(written.sizes) * written.item == written.high - written.low and not _repeats(written)


def _repeats(region: Region) -> bool:
    return any(n > 1 and s == 0 for n, s in zip(region.sizes, region.strides, strict=True))


def _overlap(a: Region, b: Region) -> bool:
    if 0 in a.sizes or 0 in b.sizes or a.high <= b.low or b.high <= a.low:
        return False
    try:
        first, second = np.asarray(_Memory(a)), np.asarray(_Memory(b))
        return bool(np.shares_memory(first, second, max_work=_OVERLAP_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


class _Memory:
    """Memory that nobody reads: NumPy solves the overlap of two strided regions from their addresses alone."""

    def __init__(self, region: Region) -> None:
        # Any base address but 0 will do.
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "data": (4096 + region.low, True),
            "shape": region.sizes,
            "strides": region.strides,
            "typestr": f"|V{region.item}",
        }
