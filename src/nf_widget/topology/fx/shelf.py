"""What a symbol stands for: a tensor, a container of which only the paths of its tensors are known, several results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nf_widget.errors import TopologyError
from nf_widget.records import OpId

from .aliases import Value, View

Shelf = dict[str, Value]
"""Tensors by path; `""` for a bare tensor; empty for what is no tensor."""


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple of results. `whole` is made by one op, or `pieces` by one each; equal `division`s of one tensor give
    equal pieces. `first` were cut off from its front."""

    whole: Value
    division: Any
    pieces: tuple[OpId, ...] = ()
    first: int = 0

    def piece(self, key: Any) -> Value:
        op = self.whole.op
        if self.pieces and type(key) is int and -len(self.pieces) <= key < len(self.pieces):
            key %= len(self.pieces)
            op = self.pieces[key]
        if type(key) is int and key >= 0:
            key += self.first
        return Value(op, self.whole.memory, (*self.whole.region, part(self.division, key)))

    def slice(self, cut: slice) -> Several:
        """Raises `TopologyError` where it would have to be known how many there are."""
        start = 0 if cut.start is None else cut.start
        if self.pieces:
            start = range(len(self.pieces))[cut].start
        elif type(start) is not int or start < 0 or (cut.stop is not None and cut.stop < 0):
            raise TopologyError("it slices a tuple of results, and how many there are is not known")
        if cut.step not in (None, 1):
            raise TopologyError("it takes every other one of several results")
        return Several(self.whole, self.division, self.pieces[cut], self.first + start)

    def all(self) -> list[Value]:
        return [self.piece(i) for i in range(len(self.pieces))] or [self.whole]


def part(division: Any, key: Any) -> View:
    """The step to one piece."""
    return View("number", (division, key), part=True)


Held = Shelf | Several


def values(held: Held) -> list[Value]:
    """Every tensor in it."""
    return held.all() if isinstance(held, Several) else list(held.values())


def pick(held: Held, key: Any) -> Held:
    """What `container[key]` or `container.key` gives: empty where there was no tensor."""
    if isinstance(held, Several):
        return held.slice(key) if isinstance(key, slice) else {"": held.piece(key)}
    if isinstance(key, slice):
        return _renumbered(held, list(range(_length(held)))[key])
    name = str(key)
    if type(key) is int:
        heads = _heads(held)
        if all(head.isdecimal() for head in heads):
            name = str(key if key >= 0 else _length(held) + key)
        else:  # a structure with names, read by position
            name = heads[key] if -len(heads) <= key < len(heads) else ""
    return {path[len(name) + 1 :]: value for path, value in held.items() if path == name or path.startswith(f"{name}.")}


def method(held: Held, name: str, arguments: tuple[Any, ...]) -> Held:
    """What a method of a container gives. Raises `TopologyError` for one that is not known."""
    if name in ("get", "pop", "__getitem__") and arguments:
        return pick(held, arguments[0])
    if isinstance(held, dict):
        if name == "copy":
            return held
        if name in ("values", "to_tuple"):
            heads = _heads(held)
            return {
                ".".join((str(heads.index(head)), *rest)): value
                for (head, *rest), value in ((path.split("."), value) for path, value in held.items())
            }
    raise TopologyError(f"it calls .{name}() of a module's result, and what kind of container that is is not known")


def spread(held: Held, prefix: str, wanted: Iterable[str]) -> Shelf:
    """The tensors in it by their path under `prefix`; the count of several results is read from the paths `wanted`."""
    if isinstance(held, dict):
        return {".".join(filter(None, (prefix, path))): value for path, value in held.items()}
    start = f"{prefix}." if prefix else ""
    numbers = sorted({path[len(start) :] for path in wanted if path.startswith(start)})
    return {start + number: held.piece(int(number) if number.isdecimal() else number) for number in numbers}


def _heads(shelf: Shelf) -> list[str]:
    return list(dict.fromkeys(path.split(".")[0] for path in shelf))


def _length(shelf: Shelf) -> int:
    return max((int(head) + 1 for head in _heads(shelf) if head.isdecimal()), default=0)


def _renumbered(shelf: Shelf, kept: list[int]) -> Shelf:
    places = {str(old): str(new) for new, old in enumerate(kept)}
    found: Shelf = {}
    for path, value in shelf.items():
        head, *rest = path.split(".")
        if head in places:
            found[".".join((places[head], *rest))] = value
    return found
