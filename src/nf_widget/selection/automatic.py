"""The automatic cut: which calls show how the representation changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ..records import CallId
from .anatomy import Anatomy
from .rows import row_name
from .shapes import Form
from .thinning import Room, Thinned, thin

_FEW = 5
_TOO_FEW = 3
# One card of the picture is the input, one the output.
_ENDS = 2


def room_for(max_stages: int) -> Room:
    limit = max(1, max_stages - _ENDS)
    return Room(target=max(1, limit * 4 // 5), limit=limit)


def automatic_cut(anatomy: Anatomy, excluded: frozenset[CallId], room: Room) -> tuple[CallId, ...]:
    """Stages in call order, at most `room.limit`."""
    return _Cut(anatomy, excluded, room).found()


class _Cut:
    """Grows the candidates from the root's calls by expanding, calls of one kind together."""

    def __init__(self, anatomy: Anatomy, excluded: frozenset[CallId], room: Room) -> None:
        self.anatomy = anatomy
        self.excluded = excluded
        self.room = room
        self.few = min(_FEW, room.target)
        self.units = units(anatomy)
        self.levels = Levels(anatomy, self.units)
        self.candidates: tuple[CallId, ...] = ()
        self.shown = Thinned(())

    def found(self) -> tuple[CallId, ...]:
        root = CallId(0)
        self.candidates = self._opened(root)
        if not self.candidates or self.room.limit == 1:
            return (root,) if self.anatomy.eligible(root) and root not in self.excluded else self.candidates[:1]
        self.shown = thin(self.anatomy, self.candidates, self.room)
        self._grow(self._blocks, most=self.room.limit, only=self._is_bulk)
        self._grow(self._resolutions, most=self.room.limit)
        self._grow(self._blocks, most=self.room.target - 1)
        self._grow(self._widths, most=self.few - 1)
        self._grow(self._anything, most=min(_TOO_FEW, self.room.target) - 1)
        return self.shown.stages

    def _grow(self, worth: Callable[[CallId], int], most: int, only: Callable[[CallId], bool] = lambda _: True) -> None:
        """Expand what is worth most, again and again, while there are at most `most` stages.

        What is worth about as much goes with it: encoder and decoder, two towers.
        """
        closed: set[CallId] = set()
        while len(self.shown.stages) <= most:
            worths = {call: worth(call) for call in self.shown.stages}
            open_calls = [call for call, value in worths.items() if value > 0 and call not in closed and only(call)]
            if not open_calls:
                return
            best = max(open_calls, key=lambda call: (worths[call], -call))
            alike = self._alike(best) | {best}
            peers = {call for call, value in worths.items() if 2 * value >= worths[best]}
            if not (self._expand(alike | peers) or self._expand(alike)):
                closed |= alike

    def _expand(self, calls: set[CallId]) -> bool:
        """Whether there was room."""
        candidates: list[CallId] = []
        for call in self.candidates:
            candidates += self._opened(call) if call in calls else (call,)
        shown = thin(self.anatomy, candidates, self.room)
        if len(self.shown.stages) >= self.few and (not shown.fits or (len(calls) > 2 and shown.squeezed)):
            return False
        self.candidates, self.shown = tuple(candidates), shown
        return True

    def _alike(self, call: CallId) -> set[CallId]:
        """Shown calls of the same kind: one expanded beside another closed would look like a difference."""
        kinds = set(self._kinds(call))
        return {
            other for other in self.shown.stages if len(self._children(other)) > 1 and kinds & set(self._kinds(other))
        }

    def _kinds(self, call: CallId) -> tuple[object, object]:
        record = self.anatomy.trace.calls[call]
        inside = frozenset(self.anatomy.trace.calls[kid].type_name for kid in self.anatomy.inner[call])
        return (record.type_name, row_name(self.anatomy, call)), (record.type_name, inside)

    def _opened(self, call: CallId) -> tuple[CallId, ...]:
        return tuple(self._joined(kid) for kid in self._children(call))

    def _joined(self, call: CallId) -> CallId:
        """What only joins its input to the result of its single call gives way to that: edges tell of joining."""
        inner = self.anatomy.inner[call]
        while len(inner) == 1 and self.anatomy.facts[call].joins and inner[0] not in self.excluded:
            call = inner[0]
            inner = self.anatomy.inner[call]
        return call

    def _children(self, call: CallId) -> tuple[CallId, ...]:
        return tuple(kid for kid in self.anatomy.children(call) if kid not in self.excluded)

    def _resolutions(self, call: CallId) -> int:
        return 0 if call in self.units else self.levels.hidden(call)

    def _is_bulk(self, call: CallId) -> bool:
        """Most of the model: that is not to be one box."""
        return 2 * self.anatomy.facts[call].size > self.anatomy.facts[0].size

    def _blocks(self, call: CallId) -> int:
        """A container of containers, the largest first."""
        blocks = sum(len(self._children(kid)) > 1 for kid in self._children(call))
        if call in self.units or blocks < (1 if len(self.shown.stages) < _FEW else 2):
            return 0
        return self.anatomy.facts[call].size

    def _widths(self, call: CallId) -> int:
        """A chain of layers whose widths its own input and output do not show."""
        facts = self.anatomy.facts[call]
        if call in self.units or facts.branches:
            return 0
        return len({self.anatomy.facts[kid].form for kid in self._children(call)} - {facts.form, *facts.entry})

    def _anything(self, call: CallId) -> int:
        return self.anatomy.facts[call].size if len(self._children(call)) > 1 else 0


class Levels:
    """Resolutions inside calls; a unit's are its own affair."""

    def __init__(self, anatomy: Anatomy, units: frozenset[CallId]) -> None:
        self._anatomy = anatomy
        inside: dict[CallId, tuple[Form, ...]] = {}
        for record in reversed(anatomy.trace.calls):
            forms: list[Form] = []
            for kid in anatomy.inner[record.id] if record.id not in units else ():
                own = anatomy.facts[kid].form
                forms += _new_levels([*([own] if own is not None else []), *inside[kid]], forms)
            inside[record.id] = tuple(forms)
        self._inside = inside

    def hidden(self, call: CallId) -> int:
        """How many this call's own input and output do not show."""
        return len(_new_levels(self._inside[call], _visible(self._anatomy, call)))


def _visible(anatomy: Anatomy, call: CallId) -> list[Form]:
    facts = anatomy.facts[call]
    return [*facts.entry[:1], *([facts.form] if facts.form is not None else [])]


def _new_levels(forms: Iterable[Form], seen: Iterable[Form]) -> list[Form]:
    """One of `forms` for each resolution that is not among `seen`; vectors have none."""
    known, new = list(seen), []
    for form in forms:
        if form.positions > 1 and not any(form.same_level(other) for other in known):
            known.append(form)
            new.append(form)
    return new


def units(anatomy: Anatomy) -> frozenset[CallId]:
    """Calls that are one step of the model however much is inside: residual blocks, and repeated blocks."""
    found: set[CallId] = set()
    repeated: set[CallId] = set()
    for record in anatomy.trace.calls:
        if not (inside := anatomy.children(record.id)):
            continue
        alike = Counter(_kind(anatomy, kid) for kid in inside)
        again = {kid for kid in inside if alike[_kind(anatomy, kid)] > 1 and anatomy.inner[kid]}
        found |= again
        if again:
            repeated.add(record.id)
    for record, facts in zip(anatomy.trace.calls, anatomy.facts, strict=True):
        if facts.branches and facts.form in facts.entry and record.id not in repeated and anatomy.inner[record.id]:
            found.add(record.id)
    found = {
        call for call in found if not _new_levels(_forms(anatomy, anatomy.children(call)), _visible(anatomy, call))
    }
    # The first block of a stage changes the shape; it is of the class of the others.
    classes = {anatomy.trace.calls[call].type_name for call in found} - {"Sequential"}
    found |= {record.id for record in anatomy.trace.calls if record.type_name in classes}
    return frozenset(found)


def _forms(anatomy: Anatomy, calls: Iterable[CallId]) -> list[Form]:
    return [form for form in (anatomy.facts[call].form for call in calls) if form is not None]


def _kind(anatomy: Anatomy, call: CallId) -> tuple[object, ...]:
    """Equal for calls that do the same to representations of one shape."""
    facts, name = anatomy.facts[call], anatomy.trace.calls[call].type_name
    # Two plain containers are the same thing only where their names say so.
    return row_name(anatomy, call) if name == "Sequential" else name, facts.form, facts.entry[:1]
