"""Which candidate feeds which: enough of the dataflow to tell a trunk from what joins it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from ..records import CallId, Leaf, Trace
from .anatomy import Anatomy
from .shapes import main_leaf, sources

# A residual stream comes from everywhere before it: the nearest tell it.
_NEAREST = 16


@dataclass(frozen=True, slots=True)
class Flow:
    """Of candidates in call order, by their position.

    `sources[i]` are the candidates that `i` reads from, `readers[i]` those that read it, in order, the nearest few of
    each; `unread` those that no other reads. Sets of many are the bits of an integer, bit `i` for candidate `i`, input
    leaves behind the last: unions stay cheap for thousands. `depth` is the longest way from an input, `longest_way` the
    candidates on a longest of all. `outlets` feed a result of the model; the main result of a head is one, unchanged.
    """

    count: int
    sources: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]
    unread: frozenset[int]
    ancestors: tuple[int, ...]
    descendants: tuple[int, ...]
    depth: tuple[int, ...]
    longest_way: int
    outlets: frozenset[int]
    heads: frozenset[int]

    def fed_by_input(self, index: int) -> bool:
        return self.ancestors[index] >> self.count != 0

    def is_tapped(self, index: int) -> bool:
        """Read in more than one place."""
        return len(self.readers[index]) + (index in self.heads) > 1


def flow_between(anatomy: Anatomy, candidates: Sequence[CallId]) -> Flow:
    count = len(candidates)
    walk = _Walk(anatomy, candidates)
    if anatomy.blind:
        walk.suppose_a_chain()
    sources = [_nearest(walk.before[index] & ((1 << index) - 1)) for index in range(count)]
    readers: list[list[int]] = [[] for _ in range(count)]
    for index in range(count):
        for source in sources[index]:
            readers[source].append(index)
    descendants, height = [0] * count, [0] * count
    for index in reversed(range(count)):
        descendants[index] = reduce(or_, (descendants[reader] | 1 << reader for reader in readers[index]), 0)
        height[index] = max((height[reader] + 1 for reader in readers[index]), default=0)
    read = set(_bits(reduce(or_, walk.before, 0) & ((1 << count) - 1)))
    leaving = walk.leaving(anatomy.trace.outputs)
    return Flow(
        count=count,
        sources=tuple(map(tuple, sources)),
        readers=tuple(map(tuple, readers)),
        unread=frozenset(range(count)) - read,
        ancestors=tuple(walk.ancestors),
        descendants=tuple(descendants),
        depth=tuple(walk.depth),
        longest_way=_longest_way(walk, height),
        outlets=frozenset(_bits(leaving & ((1 << count) - 1))),
        heads=_heads(anatomy.trace, candidates),
    )


def _longest_way(walk: _Walk, height: Sequence[int]) -> int:
    """With the inputs that it starts from."""
    count = len(height)
    length = max((walk.depth[i] + height[i] for i in range(count)), default=0)
    way = [i for i in range(count) if walk.depth[i] + height[i] == length]
    inputs = reduce(or_, (walk.before[i] >> count for i in way if walk.depth[i] == 1), 0)
    return _mask(way, count) | inputs << count


class _Walk:
    """One pass over the ops. `origin[op]`: where the value of each op comes from; the rest is as in `Flow`."""

    def __init__(self, anatomy: Anatomy, candidates: Sequence[CallId]) -> None:
        count = len(candidates)
        place = {call: index for index, call in enumerate(candidates)}
        owner = {call: place[stage] for call, stage in anatomy.owners(candidates).items()}
        self.before = [0] * count
        self.ancestors = [0] * count
        self.depth = [1] * count
        self.origin: list[int] = []
        above: list[int] = []
        deep: list[int] = []
        inputs = 0
        for op in anatomy.trace.ops:
            here = owner.get(op.call) if op.call is not None else None
            read = reduce(or_, (self.origin[parent] for parent in op.parents), 0)
            upward = reduce(or_, (above[parent] for parent in op.parents), 0)
            deepest = max((deep[parent] for parent in op.parents), default=0)
            if op.kind == "input":
                read = upward = 1 << (count + inputs)
                inputs += 1
            elif here is not None:
                own = 1 << here
                if read & ~own:
                    # What it made itself is no way to it.
                    outside = [parent for parent in op.parents if self.origin[parent] != own]
                    self.depth[here] = max(self.depth[here], 1 + max(deep[parent] for parent in outside))
                    self.before[here] |= read & ~own
                    self.ancestors[here] |= upward & ~own
                read, upward, deepest = own, self.ancestors[here] | own, self.depth[here]
            self.origin.append(read)
            above.append(upward)
            deep.append(deepest)

    def suppose_a_chain(self) -> None:
        """Each candidate reads the one before it, the first an input, and the last gives the result."""
        count = len(self.before)
        if count:
            self.before = [1 << count, *(1 << index for index in range(count - 1))]
            self.ancestors = [1 << count | (1 << index) - 1 for index in range(count)]
            self.depth = list(range(1, count + 1))
            self.origin = [1 << (count - 1)] * len(self.origin)

    def leaving(self, outputs: Sequence[Leaf]) -> int:
        """What the model's results come from."""
        return reduce(or_, (self.origin[op] for leaf in outputs for op in leaf.ops), 0)


def _heads(trace: Trace, candidates: Sequence[CallId]) -> frozenset[int]:
    """Candidates whose main result is, unchanged, a result of the model."""
    given = {op for leaf in trace.outputs for op in _unaliased(trace, leaf.ops)}
    found: set[int] = set()
    for index, call in enumerate(candidates):
        mine = _unaliased(trace, sources(main_leaf(trace.calls[call].outputs)))
        if mine and mine <= given:
            found.add(index)
    return frozenset(found)


def _unaliased(trace: Trace, ops: Sequence[int]) -> set[int]:
    """The ops that made the values, with calls that hand them on left out."""
    found: set[int] = set()
    for op in ops:
        made = op
        while trace.ops[made].kind == "identity" and len(trace.ops[made].parents) == 1:
            made = trace.ops[made].parents[0]
        found.add(made)
    return found


def _nearest(mask: int) -> list[int]:
    """The highest bits that are set, lowest first."""
    found: list[int] = []
    while mask and len(found) < _NEAREST:
        found.append(mask.bit_length() - 1)
        mask ^= 1 << found[-1]
    return found[::-1]


def _mask(places: Iterable[int], count: int) -> int:
    """The number with these bits set, of `count`."""
    digits = bytearray(b"0" * count)
    for place in places:
        digits[count - 1 - place] = ord("1")
    return int(digits, 2) if digits else 0


def _bits(mask: int) -> list[int]:
    """Positions of the bits that are set, lowest first."""
    return [place for place, digit in enumerate(reversed(f"{mask:b}")) if digit == "1"]
