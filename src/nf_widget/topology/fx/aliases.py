"""Which ops a symbolic value came from, through views and in-place writes, as far as that can be told without shapes.

The memory of a tensor keeps the list of writes to it. A region of it is the chain of views that leads there from the
whole, so a write reaches every region that is not provably apart from it.
"""

from __future__ import annotations

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
# The end of a slice without one: beyond any axis.
_ENDLESS = 2**40


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

    def shown(self, *steps: View) -> Value:
        """The part of this tensor to which `steps` lead, before an op has made a view of it."""
        return Value(self.op, self.memory, (*self.region, *steps))

    def write(self, op: OpId, *steps: View) -> None:
        """`op` wrote to this tensor, or to the part of it to which `steps` lead."""
        region = (*self.region, *steps)
        writes = self.memory.writes
        if writes and writes[-1][1] == region:
            writes.pop()
        writes.append((op, region))


def item(key: Any) -> tuple[View, ...]:
    """The step to `tensor[key]`, for basic indexing; none where the result is the tensor again."""
    parts = key if isinstance(key, tuple) else (key,)
    if all(part is Ellipsis or part == slice(None) for part in parts):
        return ()
    return (View("item", parts, part=not all(part in (None, Ellipsis, slice(None)) for part in parts)),)


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
    if len(a) != len(b) and (Ellipsis in (*a, *b)):
        return False
    for one, other in zip(a, b, strict=False):
        if one is None or one is Ellipsis or other is None or other is Ellipsis:
            if one is not other:
                return False
            continue
        places = _places(one), _places(other)
        if places[0] is not None and places[1] is not None and _disjoint(places[0], places[1]):
            return True
    return False


def _places(index: Any) -> range | None:
    """What an index or slice takes along its axis; None where it counts from the end or is not known."""
    if type(index) is int:
        return range(index, index + 1) if index >= 0 else None
    if not isinstance(index, slice):
        return None
    start = 0 if index.start is None else index.start
    stop = _ENDLESS if index.stop is None else index.stop
    step = 1 if index.step is None else index.step
    if all(type(n) is int and n >= 0 for n in (start, stop)) and type(step) is int and step > 0:
        return range(start, stop, step)
    return None


def _disjoint(a: range, b: range) -> bool:
    if a.stop <= b.start or b.stop <= a.start:
        return True
    if a.step == b.step:
        return (a.start - b.start) % a.step != 0
    single, other = (a, b) if len(a) == 1 else (b, a)
    return len(single) == 1 and single.start not in other


_APART = {"item": _items_apart, "number": _numbers_apart}
