"""From more candidates than fit to the ones that tell most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ..records import CallId
from .anatomy import Anatomy, Facts
from .flow import Flow, flow_between
from .rows import fill, row_of, thinned
from .shapes import Form

# How telling a candidate is; what is equal in this goes together or is sampled evenly.
_ROW, _SINGLE, _ROW_END, _SHAPE_END, _LEVEL_END, _END = range(6)


@dataclass(frozen=True, slots=True)
class Room:
    """How many stages: `target` reads best, `limit` may not be passed."""

    target: int
    limit: int


@dataclass(frozen=True, slots=True)
class Thinned:
    """`squeezed`: there were more than the limit; `fits` is False when a resolution had to go."""

    stages: tuple[CallId, ...]
    squeezed: bool = False
    fits: bool = True


def thin(anatomy: Anatomy, candidates: Sequence[CallId], room: Room) -> Thinned:
    """Over the target: leave out what only joins others. Over the limit: sample rows, then drop the least telling."""
    if len(candidates) <= room.target:
        return Thinned(tuple(candidates))
    crowd = _Crowd.of(anatomy, candidates)
    kept = list(range(len(candidates)))
    for rule in (crowd.is_constant, crowd.is_connector, crowd.is_aside):
        kept = _without(kept, rule)
        if len(kept) <= room.target:
            return Thinned(crowd.calls(kept))
    if len(kept) <= room.limit:
        return Thinned(crowd.calls(kept))
    chosen, fits = _squeezed(crowd, kept, room)
    return Thinned(crowd.calls(chosen), squeezed=True, fits=fits)


def _squeezed(crowd: _Crowd, kept: list[int], room: Room) -> tuple[list[int], bool]:
    """At most the limit of `kept`, and whether every resolution is still there."""
    for rule in (crowd.is_dead_end, crowd.is_condition):
        kept = _without(kept, rule)
    if len(kept) <= room.limit:
        return kept, True
    without_heads = _without(kept, crowd.is_shown_by_output)
    if len(without_heads) <= room.limit:
        return without_heads, True
    for left in (kept, without_heads):
        telling = crowd.telling(left)
        if sum(t > _ROW for t in telling.values()) <= room.limit:
            return _sampled(crowd, left, telling, room), True
    return _most_telling(telling, room.limit)


@dataclass(frozen=True, slots=True)
class _Crowd:
    """Candidates by their position in call order."""

    anatomy: Anatomy
    candidates: Sequence[CallId]
    facts: tuple[Facts, ...]
    forms: tuple[Form, ...]
    rows: tuple[object, ...]
    flow: Flow
    conditions: frozenset[int]

    @classmethod
    def of(cls, anatomy: Anatomy, candidates: Sequence[CallId]) -> _Crowd:
        facts = tuple(anatomy.facts[call] for call in candidates)
        forms = tuple(fact.form or Form(1, 1) for fact in facts)
        flow = flow_between(anatomy, candidates)
        return cls(
            anatomy=anatomy,
            candidates=candidates,
            facts=facts,
            forms=forms,
            rows=row_of(anatomy, candidates),
            flow=flow,
            conditions=_conditions(forms, flow),
        )

    def calls(self, kept: Iterable[int]) -> tuple[CallId, ...]:
        return tuple(self.candidates[i] for i in kept)

    def is_constant(self, index: int) -> bool:
        """The same for every input: a table of positions."""
        return not self.facts[index].live

    def is_connector(self, index: int) -> bool:
        """It changes the resolution, with at most one convolution, for what follows at the new one."""
        form, entry = self.forms[index], self.facts[index].entry
        if self.facts[index].mixing > 1 or not entry or form.same_level(entry[0]) or form.positions == 1:
            return False
        if not self.flow.sources[index] or index in self.flow.outlets:
            return False
        following = next(iter(self.flow.readers[index]), None)
        if following is None or self.is_shown_by_output(following):
            return False
        return self.facts[following].mixing > 0 and self.forms[following].same_level(form)

    def is_dead_end(self, index: int) -> bool:
        return index in self.flow.unread and index not in self.flow.outlets and self.anatomy.trace.failure is None

    def is_aside(self, index: int) -> bool:
        """A projection in a skip, a short branch beside a longer one."""
        return index in self.flow.aside and index not in self.flow.outlets

    def is_condition(self, index: int) -> bool:
        return index in self.conditions

    def is_shown_by_output(self, index: int) -> bool:
        """A head of one layer: the picture of the model's result is its own."""
        return index in self.flow.heads and self.facts[index].mixing <= 1

    def members(self, kept: Sequence[int]) -> dict[object, list[int]]:
        """The rows among `kept`."""
        found: dict[object, list[int]] = {}
        for index in kept:
            if self.rows[index] is not None:
                found.setdefault(self.rows[index], []).append(index)
        return found

    def telling(self, kept: Sequence[int]) -> dict[int, int]:
        """How telling each of `kept` is among them."""
        members = self.members(kept)
        tapped = {i for row in members.values() for i in self._taps(row)}
        # The first stage shows the first resolution.
        opening = set(takewhile(lambda i: self.forms[i].same_level(self.forms[kept[0]]), kept))
        corners = {kept[0], kept[-1], self._bottleneck(kept), *(i for i in kept if self._is_end(i))}
        found: dict[int, int] = {}
        for index, before, following in zip(kept, (None, *kept), (*kept[1:], kept[-1]), strict=False):
            form, after, row = self.forms[index], self.forms[following], self.rows[index]
            new_level = not form.same_level(after)
            if index in corners:
                found[index] = _END
            elif index in tapped or (new_level and index not in opening):
                found[index] = _LEVEL_END
            elif new_level or form.channels != after.channels:
                found[index] = _SHAPE_END
            elif row is None:
                found[index] = _SINGLE
            else:
                ends = [before, index] == members[row][-2:]
                found[index] = _ROW_END if ends else _ROW
        return found

    def _is_end(self, index: int) -> bool:
        """A head, or where the forward ended."""
        finished = self.anatomy.trace.calls[self.candidates[index]].finished
        return not finished or (self.rows[index] is None and index in self.flow.heads)

    def _bottleneck(self, kept: Sequence[int]) -> int | None:
        """Where the resolution is lowest before it rises again."""
        maps = [i for i in kept if self.forms[i].positions > 1]
        if not maps:
            return None
        lowest = max(maps, key=lambda i: (-self.forms[i].positions, i))
        return lowest if not self.forms[lowest].same_level(self.forms[maps[-1]]) else None

    def _taps(self, row: Sequence[int]) -> list[int]:
        """Members that are read elsewhere too; where most are, as in a residual stream, that tells nothing."""
        taps = [i for i in row if self.flow.is_tapped(i)]
        return taps if 2 * len(taps) <= len(row) else []


def _conditions(forms: Sequence[Form], flow: Flow) -> frozenset[int]:
    """Vectors that join what has come further: an embedded time, a class, and what leads to them."""
    found: set[int] = set()
    for index in reversed(range(len(forms))):
        readers = flow.readers[index]
        if forms[index].positions > 1 or not readers or index in flow.outlets:
            continue
        others = [_deepest_other(flow, reader, index) for reader in readers if reader not in found]
        joins = all(depth >= flow.depth[index] for depth in others)
        if joins and (not others or max(others) > flow.depth[index]):
            found.add(index)
    return frozenset(found)


def _deepest_other(flow: Flow, reader: int, index: int) -> int:
    return max((flow.depth[source] for source in flow.sources[reader] if source != index), default=0)


def _without(kept: list[int], rule: Callable[[int], bool]) -> list[int]:
    left = [i for i in kept if not rule(i)]
    return left or kept


def _sampled(crowd: _Crowd, kept: Sequence[int], telling: dict[int, int], room: Room) -> list[int]:
    """All but row members, and as many of these, evenly, as the target has room for."""
    rows = crowd.members(kept)
    chosen = {i for i in kept if telling[i] > _ROW}
    fixed = {row: [i for i in members if i in chosen] for row, members in rows.items()}
    quota = {row: len(fixed[row]) for row in rows}
    total = len(chosen)
    while open_rows := [row for row in rows if quota[row] < len(rows[row])]:
        # Rows as sparse as each other grow together, where that fits.
        need = {row: len(rows[row]) / max(quota[row], 0.5) for row in open_rows}
        sparsest = [row for row in open_rows if need[row] == max(need.values())]
        # Two of many say little of what happens on the way.
        wanted = total < room.target or any(quota[row] < 3 for row in sparsest)
        if total + len(sparsest) > room.limit:
            sparsest = sparsest[: max(0, room.target - total)]
        if not wanted or not sparsest:
            break
        for row in sparsest:
            quota[row] += 1
        total += len(sparsest)
    for row, members in rows.items():
        places = fill(len(members), [members.index(i) for i in fixed[row]], quota[row] - len(fixed[row]))
        chosen |= {members[place] for place in places}
    return sorted(chosen)


def _most_telling(telling: dict[int, int], limit: int) -> tuple[list[int], bool]:
    """The `limit` most telling, and whether every resolution is still there."""
    chosen: list[int] = []
    for level in range(_END, _ROW, -1):
        members = [i for i, t in telling.items() if t == level]
        if len(chosen) + len(members) > limit:
            chosen += thinned(members, limit - len(chosen))
            return sorted(chosen), level < _LEVEL_END
        chosen += members
    return sorted(chosen), True
