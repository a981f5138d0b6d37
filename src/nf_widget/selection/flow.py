"""Which candidate feeds which: enough of the dataflow to tell a trunk from what joins it."""

from __future__ import annotations

from collections.abc import Sequence
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
    each; `unread` are those that no other reads. `depth` is the longest way from an input. `aside` are those that leave
    the longest way of all and join it again. `outlets` feed a result of the model; the main result of a head is one,
    unchanged.
    """

    sources: tuple[tuple[int, ...], ...]
    readers: tuple[tuple[int, ...], ...]
    unread: frozenset[int]
    depth: tuple[int, ...]
    aside: frozenset[int]
    outlets: frozenset[int]
    heads: frozenset[int]

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
    within = (1 << count) - 1
    return Flow(
        sources=tuple(map(tuple, sources)),
        readers=tuple(map(tuple, readers)),
        unread=frozenset(range(count)).difference(_bits(reduce(or_, walk.before, 0) & within)),
        depth=tuple(walk.depth),
        aside=_aside(walk, sources, readers),
        outlets=frozenset(_bits(walk.leaving(anatomy.trace.outputs) & within)),
        heads=_heads(anatomy.trace, candidates),
    )


def _aside(walk: _Walk, sources: Sequence[Sequence[int]], readers: Sequence[Sequence[int]]) -> frozenset[int]:
    count = len(sources)
    height = [0] * count
    for index in reversed(range(count)):
        height[index] = max((height[reader] + 1 for reader in readers[index]), default=0)
    length = max((walk.depth[i] + height[i] for i in range(count)), default=0)
    way = {i for i in range(count) if walk.depth[i] + height[i] == length}
    start = reduce(or_, (walk.before[i] >> count for i in way if walk.depth[i] == 1), 0)
    from_way = [walk.before[i] >> count & start != 0 for i in range(count)]
    to_way = [False] * count
    for index in range(count):
        from_way[index] |= any(source in way or from_way[source] for source in sources[index])
    for index in reversed(range(count)):
        to_way[index] = any(reader in way or to_way[reader] for reader in readers[index])
    return frozenset(i for i in range(count) if i not in way and from_way[i] and to_way[i])


class _Walk:
    """One pass over the ops.

    Sets are the bits of an integer, bit `i` for candidate `i`, input leaves behind the last: unions stay cheap for
    thousands. `before[i]` is what candidate `i` reads, `origin[op]` what the value of an op comes from.
    """

    def __init__(self, anatomy: Anatomy, candidates: Sequence[CallId]) -> None:
        count = len(candidates)
        place = {call: index for index, call in enumerate(candidates)}
        owner = {call: place[stage] for call, stage in anatomy.owners(candidates).items()}
        self.before = [0] * count
        self.depth = [1] * count
        self.origin: list[int] = []
        deep: list[int] = []
        inputs = 0
        for op in anatomy.trace.ops:
            here = owner.get(op.call) if op.call is not None else None
            read = reduce(or_, (self.origin[parent] for parent in op.parents), 0)
            deepest = max((deep[parent] for parent in op.parents), default=0)
            if op.kind == "input":
                read = 1 << (count + inputs)
                inputs += 1
            elif here is not None:
                own = 1 << here
                # What it made itself is no way to it.
                outside = [parent for parent in op.parents if self.origin[parent] != own]
                if outside:
                    self.depth[here] = max(self.depth[here], 1 + max(deep[parent] for parent in outside))
                    self.before[here] |= read & ~own
                read, deepest = own, self.depth[here]
            self.origin.append(read)
            deep.append(deepest)

    def suppose_a_chain(self) -> None:
        """Each candidate reads the one before it, the first an input, and the last gives the result."""
        count = len(self.before)
        if count:
            self.before = [1 << count, *(1 << index for index in range(count - 1))]
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
        # A short integer at a time: each step on a long one costs its whole length.
        base = max(0, mask.bit_length() - 64)
        top = mask >> base
        mask &= (1 << base) - 1
        while top and len(found) < _NEAREST:
            high = top.bit_length() - 1
            top ^= 1 << high
            found.append(base + high)
    return found[::-1]


def _bits(mask: int) -> list[int]:
    """Positions of the bits that are set, lowest first."""
    return [place for place, digit in enumerate(reversed(f"{mask:b}")) if digit == "1"]
