"""Which module calls become stages: rules over a `Trace`, without the model.

`select` makes the cut, automatic or by name; `expand` shows stages as what is inside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ..errors import LayerError, OptionError
from ..records import CallId, Note, Selection, StageId, Trace
from .anatomy import Anatomy, anatomy_of
from .automatic import automatic_cut, room_for
from .selectors import Selecting, Selector, Selectors

__all__ = ["Selector", "Selectors", "children", "expand", "select", "stage_id"]

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


def select(
    trace: Trace,
    *,
    layers: Selectors | None = None,
    exclude: Selectors = (),
    max_stages: int = 12,
    labels: Mapping[str, str] = _NO_LABELS,
    modules: frozenset[str] | None = None,
) -> Selection:
    """The calls that become stages.

    `layers` names them: a module's name (all its calls), `"name#k"` (one call), `"re:..."` (its whole path),
    `"type:..."` (its whole class name), `"leaves"` (all that have nothing inside), a predicate on `ModuleCall`, or
    several of these. Of a named call inside another, the outer one becomes a group. None leaves the choice to the
    package: at most `max_stages` with one for the input and one for the output. `exclude` keeps out what it matches,
    with all inside. `labels` gives names a text. `modules`: paths that exist, besides those that the trace knows.

    Raises `LayerError` when a selector matches nothing, or when nothing is left; `OptionError` for what is no selector.
    A named module that exists but did not run is a note of kind `not-run`.
    """
    if max_stages < 1:
        raise OptionError(f"max_stages is {max_stages}: use at least 1.")
    anatomy = anatomy_of(trace)
    selecting = Selecting(anatomy, modules)
    excluded = selecting.excluded(exclude)
    notes: tuple[Note, ...] = ()
    if layers is None:
        chosen = frozenset(automatic_cut(anatomy, excluded, room_for(max_stages)))
    else:
        chosen, notes = selecting.chosen(layers)
        chosen -= excluded
    if not chosen and excluded:
        raise LayerError("exclude leaves nothing to show: exclude less.")
    texts, unused = _labelled(selecting, labels)
    return _selection(anatomy, chosen, frozenset(), texts, notes + unused)


def expand(trace: Trace, selection: Selection, expanded: Sequence[str]) -> Selection:
    """`selection` with each stage of `expanded` shown as its children, in a group; also stages that come up so.

    Ids that are not shown, or have nothing inside, change nothing.
    """
    anatomy = anatomy_of(trace)
    wanted = set(expanded)
    stages: list[CallId] = []
    groups = set(selection.groups)
    waiting = list(reversed(selection.stages))
    while waiting:
        call = waiting.pop()
        inside = anatomy.children(call) if anatomy.ids[call] in wanted else ()
        if inside:
            groups.add(call)
            waiting += reversed(inside)
        else:
            stages.append(call)
    return _selection(anatomy, stages, groups, selection.labels, selection.notes)


def children(trace: Trace, call: CallId) -> tuple[CallId, ...]:
    """The meaningful calls inside, in order; a single one with several inside gives way to them."""
    return anatomy_of(trace).children(call)


def stage_id(trace: Trace, call: CallId) -> StageId:
    """The module's path, with `#k` where it is called several times; the root's is its class."""
    return anatomy_of(trace).ids[call]


def _selection(
    anatomy: Anatomy,
    chosen: Iterable[CallId],
    groups: Iterable[CallId],
    labels: Mapping[CallId, str],
    notes: tuple[Note, ...],
) -> Selection:
    """An antichain: a chosen call with a chosen one inside becomes a group."""
    calls = anatomy.trace.calls
    named = set(chosen)
    around: set[CallId] = set()
    for call in named:
        parent = calls[call].parent
        while parent is not None and parent not in around:
            around.add(parent)
            parent = calls[parent].parent
    stages = tuple(sorted(named - around))
    # The root is the picture itself, not a box in it.
    boxes = tuple(sorted(call for call in (named & around) | set(groups) if calls[call].parent is not None))
    return Selection(
        stages=stages,
        groups=boxes,
        owner=MappingProxyType(anatomy.owners(stages)),
        labels=labels,
        notes=notes,
        expandable=frozenset(call for call in stages if anatomy.children(call)),
    )


def _labelled(selecting: Selecting, labels: Mapping[str, str]) -> tuple[Mapping[CallId, str], tuple[Note, ...]]:
    texts: dict[CallId, str] = {}
    unused: list[Note] = []
    for name, text in labels.items():
        calls = selecting.named(name)
        if not calls:
            unused.append(Note("unused-label", f"There is no module call {name} to label {text!r}.", stage=name))
        texts |= dict.fromkeys(calls, text)
    return MappingProxyType(texts), tuple(unused)
