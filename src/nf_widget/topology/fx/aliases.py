"""Which ops a symbolic value came from, through views and in-place writes, as far as that can be told without shapes.

The memory of a tensor keeps the list of writes to it. A region of it is the chain of views that leads there from the
whole, so a write reaches every region that is not provably apart from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from nf_widget.records import OpId


@dataclass(frozen=True, slots=True)
class View:
    """One step from a tensor to a view of it. `part`: it shows some of the elements, else all, in another order.

    Equal steps from equal regions lead to the same elements.
    """

    name: str
    arguments: Any
    part: bool
    permutes: bool = False


Region = tuple[View, ...]


@dataclass(slots=True, eq=False)
class Memory:
    writes: list[tuple[OpId, Region]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor: the op that made it (None for a constant), and the memory that it shows."""

    op: OpId | None
    memory: Memory = field(default_factory=Memory)
    region: Region = ()

    def sources(self) -> tuple[OpId, ...]:
        """Ops that the present value comes from."""
        found = [] if self.op is None else [self.op]
        start = -1 if self.op is None else self.op
        for op, written in self.memory.writes:
            if op <= start:
                continue
            if _covers(written, self.region):
                found = [op]
            elif not _apart(written, self.region):
                found.append(op)
        return tuple(found)

    def seen_as(self, op: OpId, *steps: View) -> Value:
        """The view that `op` made of this value."""
        return Value(op, self.memory, (*self.region, *steps))

    def write(self, op: OpId, *steps: View) -> None:
        """`op` wrote to this tensor, or to the part of it to which `steps` lead."""
        region = (*self.region, *steps)
        writes = self.memory.writes
        if writes and writes[-1][1] == region:
            writes.pop()
        writes.append((op, region))


def item(key: Any) -> tuple[View, ...]:
    """The step to `tensor[key]`, for basic indexing; none where `key` takes everything."""
    parts = key if isinstance(key, tuple) else (key,)
    if all(part is None or part is Ellipsis or part == slice(None) for part in parts):
        return ()
    return (View("item", parts, part=True),)


def _covers(written: Region, read: Region) -> bool:
    while written and not written[-1].part:
        written = written[:-1]
    return read[: len(written)] == written


def _apart(a: Region, b: Region) -> bool:
    """Whether two regions surely have no element in common."""
    for one, other in zip(a, b, strict=False):
        if one != other:
            return one.name == other.name and _APART.get(one.name, _never)(one.arguments, other.arguments)
    return False


def _never(_a: Any, _b: Any) -> bool:
    return False


def _numbers_apart(a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
    """(what was divided, number of the piece), or (axis, index along it)."""
    if type(a[1]) is not int or type(b[1]) is not int:
        return False
    return bool(a[0] == b[0]) and a[1] != b[1] and (a[1] < 0) == (b[1] < 0)


def _items_apart(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    for one, other in zip(a, b, strict=False):
        if one is None or one is Ellipsis or other is None or other is Ellipsis:
            return False
        spans = _span(one), _span(other)
        if spans[0] is not None and spans[1] is not None:
            (_, high), (first, _) = sorted((spans[0], spans[1]))
            if high <= first:
                return True
    return False


def _span(index: Any) -> tuple[float, float] | None:
    """[first, last) of an index or slice along one axis; None where it counts from the end or is not known."""
    if type(index) is int:
        return (index, index + 1) if index >= 0 else None
    if isinstance(index, slice):
        start = 0 if index.start is None else index.start
        stop = math.inf if index.stop is None else index.stop
        if all(type(n) in (int, float) and n >= 0 for n in (start, stop)) and index.step in (None, 1):
            return start, max(start, stop)
    return None


_APART = {"item": _items_apart, "number": _numbers_apart}
