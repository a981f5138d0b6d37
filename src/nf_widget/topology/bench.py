"""The bench on which interventions run: one recorded forward, then forwards with every stage held but one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..inputs import Inputs
from ..nested import Nested, leaves
from ..records import Selection, StageId, Trace
from ..running import Conditions, borrowed, run, unfused
from .gifts import Given, Way, plainly
from .holding import Call, Forward, lasting, written_since
from .perturb import Numbers, duplicate, perturb, same
from .pyvalues import HeldValues, SeenValues
from .stages import stage_boxes

# Forwards with which a bench finds out what parts of their arguments calls rewrite.
_LOOKS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whose value changed in one trial: at all; however the others are held; by Python values alone. `unknown`: whose
    value could not be judged. `ended`: the forward ran to its end, so that who did not change was not influenced."""

    changed: frozenset[StageId]
    sure: frozenset[StageId]
    by_value: frozenset[StageId] = frozenset()
    unknown: frozenset[StageId] = frozenset()
    ended: bool = True


class _Run(NamedTuple):
    """Stages in the order in which they ended, those that computed something else, and the model's output leaves, None
    where it raised."""

    order: list[StageId]
    changed: frozenset[StageId]
    outputs: dict[str, Tensor] | None


class _NothingToPerturb(Exception):  # noqa: N818 - no error: there is an input without entries
    pass


class Bench:
    """Runs a model again and again under the same conditions, its stages held.

    `entangled`: the stages that pass memory on, as they got it, which is written to later. There is no one way of
    holding them: apart, the write is missed elsewhere; in memory, what others had made of it is lost.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Inputs,
        conditions: Conditions,
        trace: Trace,
        selection: Selection,
        *,
        written: Sequence[str],
    ) -> None:
        self._model, self._inputs, self._conditions, self._written = model, inputs, conditions, tuple(written)
        boxes = stage_boxes(trace, selection)
        calls = {box.id: trace.calls[box.call] for box in boxes if box.call is not None}
        self._stages = {(call.path, call.index): name for name, call in calls.items()}
        self._leaf = {box.id: box.order for box in boxes if box.kind == "input"}
        self._names = {box.path: box.id for box in boxes if box.kind == "output"}
        self._values: list[tuple[str, Any]] | None = None
        self._unstable: dict[Way, frozenset[StageId]] = {}
        self._given: dict[StageId, Given] = {}
        self.entangled: frozenset[StageId] = frozenset()
        self._recorded = self._record()
        for trial in range(_LOOKS):
            if self._ambiguous:
                self._see_again(trial)
        self._given = {stage: given.settled() for stage, given in self._given.items()}
        self._ways = [
            Way(whole, apart)
            for whole in ((True, False) if self._ambiguous else (True,))
            for apart in ((True, False) if self.entangled else (True,))
        ]

    @property
    def hidden(self) -> frozenset[StageId]:
        """Who gives out what cannot be looked at, nor held."""
        return frozenset(stage for stage, given in self._given.items() if given.hidden)

    @property
    def unstable(self) -> frozenset[StageId]:
        """Who computes something else though nothing is perturbed, in some way of holding the others."""
        return frozenset().union(*(self._unstable_in(way) for way in self._ways))

    def trial(self, source: StageId, number: int, explained: frozenset[StageId]) -> Outcome | None:
        """Perturb `source` once. None when that showed nothing: it raised at once, or nothing could be perturbed."""
        free = self._influence(source, number, self._ways)
        if free is not None and free.changed <= explained:
            return free
        held = self._influence(source, number, [Way(way.whole, way.apart, values=True) for way in self._ways])
        if free is None or held is None:
            return held if free is None else Outcome(free.changed, free.sure & explained, ended=free.ended)
        by_value = free.changed - explained - held.changed - held.unknown if held.ended else frozenset()
        return Outcome(free.changed - by_value, free.sure & held.sure, by_value, ended=free.ended)

    def given(self, source: StageId, targets: frozenset[StageId], trials: int) -> frozenset[StageId]:
        """Which of the calls `targets` are given other tensors when `source` is perturbed, whatever they make of it."""
        given: dict[StageId, dict[str, Tensor]] = {}

        def prepare(stage: StageId, call: Call) -> None:
            if stage in targets:
                given[stage] = _copies((call.args, call.kwargs))

        reached: set[StageId] = set()
        for way in (Way(way.whole, way.apart, values=True) for way in self._ways):
            self._run(None, None, None, way, prepare)
            before = dict(given)
            for trial in range(trials):
                given.clear()
                run = self._disturbed(source, trial, way, prepare)
                if run is not None and run.outputs is not None:
                    reached |= {stage for stage, now in given.items() if not _same_leaves(now, before[stage])}
        return frozenset(reached)

    def _influence(self, source: StageId, trial: int, ways: Sequence[Way]) -> Outcome | None:
        """An influence is sure when it is seen in every way of holding, and the source can be perturbed alone."""
        found = [(way, self._disturbed(source, trial, way)) for way in ways]
        runs = [(way, run) for way, run in found if run is not None]
        if not runs:
            return None
        changed = [run.changed - {source} - self._unstable_in(way) for way, run in runs]
        unknown = frozenset().union(*(self._unstable_in(way) for way in ways))
        alone = len(runs) == len(found) and source not in self.entangled
        return Outcome(
            changed=frozenset().union(*changed),
            sure=frozenset.intersection(*changed) if alone else frozenset(),
            unknown=unknown,
            ended=all(run.outputs is not None for _, run in runs),
        )

    def _disturbed(
        self, source: StageId, trial: int, way: Way, prepare: Callable[[StageId, Call], None] | None = None
    ) -> _Run | None:
        """A run with `source` perturbed, at first all of it, and where that breaks the forward, what is no index. None
        when it showed nothing."""
        partial = None
        for numbers in ("all", "real"):
            run = self._try(source, trial, way, prepare, numbers)
            if run is not None and run.outputs is not None:
                return run
            partial = partial or run
        return partial

    def _try(
        self,
        source: StageId,
        trial: int,
        way: Way,
        prepare: Callable[[StageId, Call], None] | None,
        numbers: Numbers,
    ) -> _Run | None:
        leaf = (self._leaf[source], trial, numbers) if source in self._leaf else None
        try:
            perturbed = self._given[source].perturbed(trial, way, numbers) if leaf is None else None
            if leaf is None and perturbed is None:
                return None
            run = self._run(source, perturbed, leaf, way, prepare)
        except Exception:  # noqa: BLE001 - perturbed values may break a forward in any way
            return None
        order = self._recorded.order
        if run.outputs is not None and run.order == order:
            return run
        # It raised, or went another way: what was seen until then is seen.
        seen = run.changed & _common(run.order, order)
        return _Run(run.order, seen, None) if seen else None

    def _unstable_in(self, way: Way) -> frozenset[StageId]:
        """By chance; because holding took memory apart that is written to later; or because nobody can look."""
        if way not in self._unstable:
            again = self._run(None, None, None, way)
            hidden = {stage for stage, given in self._given.items() if given.hidden}
            self._unstable[way] = again.changed | hidden | (set(self._recorded.order) - set(again.order))
        return self._unstable[way]

    @property
    def _ambiguous(self) -> bool:
        return any(given.ambiguous for given in self._given.values())

    def _record(self) -> _Run:
        kept: dict[StageId, list[tuple[Tensor, int | None, Tensor]]] = {}

        def visit(stage: StageId, call: Call) -> None:
            self._given[stage] = call.given_out()
            kept[stage] = lasting(call, self._given[stage])

        forward = Forward(self._model, self._stages, visit, look=True)
        with self._ready() as (args, kwargs, _), forward.watched():
            outputs = _copies(run(self._model, args, kwargs))
            self.entangled = frozenset(stage for stage, passed in kept.items() if written_since(passed))
        return _Run(forward.order, frozenset(), outputs)

    def _see_again(self, trial: int) -> None:
        """Which entries do calls rewrite? Those that they leave alone stay the same whatever they hold."""

        def prepare(stage: StageId, call: Call) -> None:
            if stage in self._given and self._given[stage].ambiguous:
                call.shaken(self._given[stage], trial)

        def visit(stage: StageId, call: Call) -> None:
            if stage in self._given and self._given[stage].ambiguous:
                self._given[stage] = self._given[stage].seen_again(call.given_out())

        forward = Forward(self._model, self._stages, visit, look=True, prepare=prepare)
        with suppress(Exception), self._ready() as (args, kwargs, _), forward.watched():
            run(self._model, args, kwargs)

    def _run(
        self,
        source: StageId | None,
        perturbed: Given | None,
        leaf: tuple[int, int, Numbers] | None,
        way: Way,
        prepare: Callable[[StageId, Call], None] | None = None,
    ) -> _Run:
        """Every stage held, but `source` given out as `perturbed`, or input `leaf[0]` perturbed in trial `leaf[1]`."""
        changed: set[StageId] = set()

        def visit(stage: StageId, call: Call) -> Nested:
            if stage == source and perturbed is not None:
                return call.put(perturbed, way)
            if call.differs(self._given[stage]):
                changed.add(stage)
            return call.put(self._given[stage], way)

        forward = Forward(self._model, self._stages, visit, prepare=prepare)
        mode = HeldValues(self._seen_values()) if way.values else nullcontext()
        with self._ready() as (args, kwargs, tensors):
            if leaf is not None and not _perturb_leaf(tensors[leaf[0]], *leaf[1:]):
                raise _NothingToPerturb
            try:
                with forward.watched(), mode:
                    outputs = _copies(run(self._model, args, kwargs))
            except Exception:
                if source is None:
                    raise
                return _Run(forward.order, frozenset(changed), None)
        before = self._recorded.outputs or {}
        changed |= {
            name
            for path, name in self._names.items()
            if path not in outputs or path not in before or not same(outputs[path], before[path])
        }
        return _Run(forward.order, frozenset(changed), outputs)

    def _seen_values(self) -> list[tuple[str, Any]]:
        if self._values is None:
            seen = SeenValues()
            with self._ready() as (args, kwargs, _), seen:
                run(self._model, args, kwargs)
            self._values = seen.values
        return self._values

    @contextmanager
    def _ready(self) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], tuple[Tensor, ...]]]:
        """The model borrowed, with arguments that it may write to. Unfused, as the trace was: else the stages inside of
        a fused layer would run in some ways of holding and not in others."""
        with borrowed(self._model, self._conditions) as state, unfused():
            state.keep_named(self._written)
            yield self._inputs.fresh()


def _perturb_leaf(tensor: Tensor, trial: int, numbers: Numbers) -> bool:
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return perturb([tensor.detach()], trial, [None], numbers)


def _common(one: Sequence[StageId], other: Sequence[StageId]) -> set[StageId]:
    """The stages up to where the two part."""
    return {a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))}


def _same_leaves(now: dict[str, Tensor], before: dict[str, Tensor]) -> bool:
    with plainly():
        return now.keys() == before.keys() and all(same(now[path], before[path]) for path in now)


def _copies(result: Nested) -> dict[str, Tensor]:
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return {path: duplicate(tensor, {}) for path, tensor in leaves(result)}
