"""The law of edges as a small machine over NumPy arrays: which stages does each memory cell come from?

Every tensor of a program is mirrored by an array of bit sets, one bit for each stage, with the same views of the same
memory. An op between stages gives its result the bits of all that it read; inside a stage, the stage's own bit. Two
readings: coarse, in which an op's result depends on all of its operands (the law), and fine, entry by entry (what an
intervention can find).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.int64]
Entrywise = Callable[..., Bits]


@dataclass(slots=True, eq=False)
class Mirror:
    """`taint` and `stamp` lie in memory that other mirrors may show too; `stamp` is when a cell was last written.

    `over`: (bits, time) of a stage that handed an alias on. It counts for cells not written since. `row_major`: torch
    has the cells in this order too; results of ops may follow the order of their operands.
    """

    taint: Bits
    stamp: Bits
    over: tuple[int, int] | None = None
    writable: bool = True
    row_major: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.taint.shape

    @property
    def is_flat(self) -> bool:
        """Whether torch, too, has the cells one after another."""
        return self.row_major and bool(self.taint.flags["C_CONTIGUOUS"])

    def read(self) -> Bits:
        if self.over is None:
            return self.taint
        return np.where(self.stamp > self.over[1], self.taint, self.over[0])

    def overlaps(self, other: Mirror) -> bool:
        return bool(np.shares_memory(self.taint, other.taint))


def union(arrays: Sequence[Bits]) -> int:
    bits = 0
    for array in arrays:
        bits |= int(np.bitwise_or.reduce(array, axis=None)) if array.size else 0
    return bits


@dataclass(slots=True)
class Machine:
    """`into[target]` collects the bits of the direct sources of a stage or output."""

    fine: bool
    into: dict[str, int] = field(default_factory=dict)
    bit: dict[str, int] = field(default_factory=dict)
    stage: str | None = None
    clock: int = 0

    def source(self, name: str, shape: tuple[int, ...]) -> Mirror:
        return self._fresh(np.full(shape, self._bit(name), np.int64))

    def compute(self, shape: tuple[int, ...], read: Sequence[Mirror], entries: Entrywise | None = None) -> Mirror:
        """A new tensor out of `read`; `entries` says which entries depend on which, else all on all."""
        row_major = len(shape) < 2 or all(m.is_flat for m in read)
        return self._fresh(self._result(shape, [m.read() for m in read], entries), row_major=row_major)

    def view(self, mirror: Mirror, look: Callable[[Bits], Any], *, writable: bool = True) -> Mirror:
        shown = Mirror(
            look(mirror.taint), look(mirror.stamp), mirror.over, mirror.writable and writable, mirror.row_major
        )
        if self.stage is not None:
            self.receive([shown])
            shown.over = (self._bit(self.stage), self._tick())
        return shown

    def write(
        self, target: Mirror, read: Sequence[Mirror], *, overwrite: bool = False, entries: Entrywise | None = None
    ) -> None:
        """`target` is rewritten, out of itself (unless `overwrite`) and `read`."""
        arrays = [m.read() for m in ([] if overwrite else [target]) + list(read)]
        target.taint[...] = self._result(target.shape, arrays, entries)
        target.stamp[...] = self._tick()

    def receive(self, mirrors: Sequence[Mirror]) -> None:
        """The present stage gets these."""
        if self.stage is not None:
            self.into[self.stage] = self.into.get(self.stage, 0) | union([m.read() for m in mirrors])

    def enter(self, stage: str, given: Sequence[Mirror]) -> None:
        self.stage = stage
        self._bit(stage)
        self.into.setdefault(stage, 0)
        if not self.fine:
            self.receive(given)

    def leave(self, result: Sequence[Mirror]) -> list[Mirror]:
        """What the stage hands on: in other hands, the same memory keeps its own history."""
        assert self.stage is not None
        self.receive(result)
        over = (self._bit(self.stage), self._tick())
        self.stage = None
        return [Mirror(m.taint, m.stamp, over, m.writable, m.row_major) for m in result]

    def output(self, name: str, mirror: Mirror) -> None:
        self.into[name] = union([mirror.read()])

    def edges(self) -> set[tuple[str, str]]:
        """(source, target), without those from a stage to itself."""
        return {
            (source, target)
            for target, bits in self.into.items()
            for source, bit in self.bit.items()
            if bits & bit and source != target
        }

    def _result(self, shape: tuple[int, ...], arrays: list[Bits], entries: Entrywise | None) -> Bits:
        if self.stage is not None:
            self.into[self.stage] |= union(arrays)
            return np.full(shape, self._bit(self.stage), np.int64)
        if self.fine and entries is not None:
            return np.broadcast_to(entries(*arrays), shape).astype(np.int64)
        return np.full(shape, union(arrays), np.int64)

    def _fresh(self, taint: Bits, *, row_major: bool = True) -> Mirror:
        taint = np.array(taint, dtype=np.int64, order="C", copy=True)
        return Mirror(taint, np.zeros_like(taint), row_major=row_major)

    def _bit(self, name: str) -> int:
        return self.bit.setdefault(name, 1 << len(self.bit))

    def _tick(self) -> int:
        self.clock += 1
        return self.clock
