"""Selectors: names, `"name#k"`, `"re:..."`, `"type:..."`, `"leaves"` and predicates -> calls of a trace."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import LayerError, OptionError
from ..records import CallId, ModuleCall, Note
from .anatomy import Anatomy

Selector: TypeAlias = str | Callable[[ModuleCall], bool]
Selectors: TypeAlias = Selector | Iterable[Selector]

_ROOT = CallId(0)


@dataclass(frozen=True, slots=True)
class Match:
    """What one selector names: `calls` that ran, and modules that exist but never ran."""

    selector: Selector
    calls: frozenset[CallId]
    idle: tuple[str, ...] = ()


class Selecting:
    """Matches selectors against one trace. `modules` adds paths that exist to those that the trace knows."""

    def __init__(self, anatomy: Anatomy, modules: frozenset[str] | None = None) -> None:
        self._anatomy = anatomy
        trace = anatomy.trace
        self._by_path: dict[str, list[CallId]] = defaultdict(list)
        for call in trace.calls:
            self._by_path[call.path].append(call.id)
        self._names: dict[str, str] = {path: path for path in (*self._by_path, *trace.uncalled, *(modules or ()))}
        self._names |= trace.aliases
        if trace.calls:
            self._names.setdefault(str(anatomy.ids[_ROOT]), "")

    def chosen(self, selectors: Selectors) -> tuple[frozenset[CallId], tuple[Note, ...]]:
        """Calls that any of `selectors` matches, and a note for each that never ran. For the argument `layers`.

        Raises `LayerError` for a selector that matches nothing, `OptionError` for what is no selector.
        """
        matches = [self._match(selector, "layers") for selector in as_tuple(selectors, "layers")]
        if not matches:
            raise OptionError("layers is empty: name a layer, or leave it out for the automatic choice.")
        calls = frozenset[CallId]().union(*(match.calls for match in matches))
        idle = [match for match in matches if not match.calls]
        for match in idle:
            if not match.idle:
                raise LayerError(self._nothing(match.selector))
        if not calls:
            raise LayerError(" ".join(self._never_ran(match) for match in idle))
        return calls, tuple(Note("not-run", self._never_ran(match), stage=match.idle[0]) for match in idle)

    def excluded(self, selectors: Selectors) -> frozenset[CallId]:
        """Calls that any of `selectors` matches, and all calls inside them. For the argument `exclude`.

        Raises `LayerError` for an unknown name, `OptionError` for what is no selector.
        """
        found: set[CallId] = set()
        for selector in as_tuple(selectors, "exclude"):
            match = self._match(selector, "exclude")
            if not match.calls and not match.idle and self._is_name(selector):
                raise LayerError(self._nothing(selector))
            found |= match.calls
        for call in self._anatomy.trace.calls:
            if call.parent in found:
                found.add(call.id)
        return frozenset(found)

    def named(self, name: str) -> frozenset[CallId]:
        """Calls of the module with this name, or the one call `"name#k"`; none where nothing of that name ran."""
        path = self._names.get(name)
        if path is not None:
            return frozenset(self._by_path.get(path, ()))
        stem, mark, number = name.rpartition("#")
        if mark and number.isdecimal() and stem in self._names:
            calls = self._by_path.get(self._names[stem], ())
            return frozenset(calls[int(number) : int(number) + 1])
        return frozenset()

    def _match(self, selector: Selector, argument: str) -> Match:
        if not isinstance(selector, str):
            return Match(selector, self._where(selector))
        if selector == "leaves":
            return Match(selector, self._leaves())
        if selector.startswith("re:"):
            return self._by_pattern(selector, argument)
        if selector.startswith("type:"):
            pattern = _compiled(selector, argument)
            return Match(selector, self._where(lambda call: pattern.fullmatch(call.type_name) is not None))
        calls = self.named(selector)
        path = self._names.get(selector)
        return Match(selector, calls, (path,) if path and not calls else ())

    def _by_pattern(self, selector: str, argument: str) -> Match:
        pattern = _compiled(selector, argument)
        paths = {path for name, path in self._names.items() if path and pattern.fullmatch(name)}
        calls = frozenset(call for path in paths for call in self._by_path.get(path, ()))
        return Match(selector, calls, tuple(sorted(path for path in paths if path not in self._by_path)))

    def _where(self, predicate: Callable[[ModuleCall], bool]) -> frozenset[CallId]:
        """The root is the whole picture: it counts where nothing else does."""
        found = frozenset(call.id for call in self._anatomy.trace.calls if predicate(call))
        return found - {_ROOT} or found

    def _leaves(self) -> frozenset[CallId]:
        anatomy = self._anatomy
        return frozenset(
            call.id
            for call in anatomy.trace.calls
            if anatomy.eligible(call.id) and not anatomy.facts[call.id].trivial and not anatomy.inner[call.id]
        )

    def _is_name(self, selector: Selector) -> bool:
        return isinstance(selector, str) and selector != "leaves" and not selector.startswith(("re:", "type:"))

    def _never_ran(self, match: Match) -> str:
        name = match.idle[0]
        parts = [path for path in self._by_path if path.startswith(f"{name}.")]
        if parts and self._is_name(match.selector):
            return f"{name} is never called itself, but its parts are: {_listed(parts)}."
        if self._is_name(match.selector):
            return f"{match.selector} exists, but it did not run for this input."
        return f"{match.selector!r} matches only modules that did not run for this input: {_listed(match.idle)}."

    def _nothing(self, selector: Selector) -> str:
        if not isinstance(selector, str):
            name = getattr(selector, "__name__", type(selector).__name__)
            return f"The predicate {name} matches none of the {len(self._anatomy.trace.calls)} module calls."
        kind, _, text = selector.partition(":") if not self._is_name(selector) else ("", "", selector)
        if kind == "type":
            classes = sorted({call.type_name for call in self._anatomy.trace.calls})
            return f"{selector!r} matches no class of a module that ran. {_nearest(text, classes)}"
        stem, mark, number = text.rpartition("#")
        if mark and number.isdecimal() and stem in self._names:
            times = len(self._by_path.get(self._names[stem], ()))
            which = "did not run" if not times else "ran once, as #0" if times == 1 else f"ran as #0 to #{times - 1}"
            return f"There is no call {selector}: {stem} {which}."
        found = "matches no module that ran" if kind else "names no module"
        return f"{selector!r} {found}. {_nearest(text, [path for path in self._by_path if path])}"


def as_tuple(selectors: Selectors, argument: str) -> tuple[Selector, ...]:
    """One selector or several, checked."""
    several = (selectors,) if isinstance(selectors, str) or callable(selectors) else tuple(selectors)
    for selector in several:
        if not isinstance(selector, str) and not callable(selector):
            raise OptionError(
                f'{argument} holds {selector!r}: use names, "name#k", "re:...", "type:..." or predicates.'
            )
    return several


def _compiled(selector: str, argument: str) -> re.Pattern[str]:
    try:
        return re.compile(selector.partition(":")[2])
    except re.error as error:
        raise OptionError(f"{argument} holds {selector!r}, which is no regular expression: {error}.") from None


def _nearest(text: str, names: list[str]) -> str:
    ending = [name for name in names if name.endswith(f".{text}")]
    near = list(dict.fromkeys([*ending, *difflib.get_close_matches(text, names, n=3, cutoff=0.4)]))[:3]
    if near:
        return f"The nearest that ran: {', '.join(near)}."
    return f"These ran: {_listed(names)}." if names else "No module inside the model ran."


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
