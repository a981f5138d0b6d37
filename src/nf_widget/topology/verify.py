"""The intervention oracle: are the edges of a stage graph true? Found without the tracer.

One forward is recorded. Then, for each stage and input A, the model runs again with what every other stage gives out
held at its recorded value, while A's is perturbed. Whoever computes something else, before being held, is influenced
by A directly, without a third stage between them. Values that a forward takes out as Python numbers and branches on
make no edge, so an influence that vanishes when those are held as well is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from nf_widget.inputs import Inputs
from nf_widget.nested import Nested, leaves
from nf_widget.records import Selection, StageGraph, StageId, Trace
from nf_widget.running import Conditions, borrowed, run

from .holding import Call, Forward, Given, take
from .perturb import duplicate, perturb, same
from .pyvalues import HeldValues, SeenValues
from .stages import stage_boxes

Pair: TypeAlias = tuple[StageId, StageId]


@dataclass(frozen=True, slots=True)
class Verification:
    """What intervention says about the edges of a stage graph. Pairs are (source, target).

    `without_influence`: traced edges that carried none in any trial. `unexplained`: influences that no edge explains.
    `undecided`: edges, or influences, that could not be tested: every trial raised, nothing could be perturbed, or the
    target does not compute the same twice. `unconfirmed`: inferred edges that carried no influence; they are
    assumptions and no fault. `by_value`: influences through Python numbers or branches alone, which make no edge.
    """

    edges: int
    confirmed: int
    trials: int
    without_influence: tuple[Pair, ...] = ()
    unexplained: tuple[Pair, ...] = ()
    undecided: tuple[Pair, ...] = ()
    unconfirmed: tuple[Pair, ...] = ()
    by_value: tuple[Pair, ...] = ()

    @property
    def ok(self) -> bool:
        """No edge without influence, and no influence without an edge."""
        return not self.without_influence and not self.unexplained

    def __str__(self) -> str:
        lines = [f"{self.confirmed} of {self.edges} edges carried influence in {self.trials} trials each."]
        for title, pairs in (
            ("Edges that carried no influence", self.without_influence),
            ("Influences that no edge explains", self.unexplained),
            ("Inferred edges that carried no influence", self.unconfirmed),
            ("Influences by Python values or branches alone, which make no edge", self.by_value),
            ("Could not be tested", self.undecided),
        ):
            if pairs:
                lines.append(f"{title}: " + ", ".join(f"{source} -> {target}" for source, target in pairs) + ".")
        return "\n".join(lines)


def verify(  # noqa: PLR0917 - what a flow owns, in the order in which it was made
    model: nn.Module,
    inputs: Inputs,
    conditions: Conditions,
    trace: Trace,
    selection: Selection,
    graph: StageGraph,
    *,
    written: Sequence[str] = (),
    trials: int = 3,
) -> Verification:
    """Check every edge of `graph` by intervention: `trials` forwards, or some more, for each stage.

    Keeps a copy of what every stage gives out. `written` names the parameters that the forward writes to, so that
    they can be put back. Raises what the model raises when it runs undisturbed.
    """
    bench = _Bench(model, inputs, conditions, trace, selection, written=written)
    sources = [stage.id for stage in graph.stages if stage.kind != "output"]
    edges = {(edge.source, edge.target): edge.evidence for edge in graph.edges}
    verdicts = _Verdicts(edges=frozenset(edges), inferred=frozenset(p for p, e in edges.items() if e == "inferred"))
    verdicts.unstable = bench.unstable(hold_values=False)
    for source in sources:
        explained = frozenset(target for begin, target in edges if begin == source) | verdicts.unstable
        for trial in range(trials):
            verdicts.add(source, bench.trial(source, trial, explained))
    return verdicts.verification(trials)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Whose value changed in one trial: at all; beyond doubt; through Python values alone."""

    changed: frozenset[StageId]
    sure: frozenset[StageId]
    by_value: frozenset[StageId] = frozenset()


@dataclass(slots=True)
class _Verdicts:
    edges: frozenset[Pair]
    inferred: frozenset[Pair]
    unstable: frozenset[StageId] = frozenset()
    changed: set[Pair] = field(default_factory=set)
    sure: set[Pair] = field(default_factory=set)
    by_value: set[Pair] = field(default_factory=set)
    tried: set[StageId] = field(default_factory=set)

    def add(self, source: StageId, outcome: _Outcome | None) -> None:
        if outcome is not None:
            self.tried.add(source)
            self.changed |= {(source, target) for target in outcome.changed}
            self.sure |= {(source, target) for target in outcome.sure}
            self.by_value |= {(source, target) for target in outcome.by_value}

    def verification(self, trials: int) -> Verification:
        changed = {pair for pair in self.changed if pair[1] not in self.unstable}
        silent = self.edges - changed
        untested = {p for p in silent - self.inferred if p[0] not in self.tried or p[1] in self.unstable}
        extra = changed - self.edges
        return Verification(
            edges=len(self.edges),
            confirmed=len(self.edges & changed),
            trials=trials,
            without_influence=tuple(sorted(silent - self.inferred - untested)),
            unexplained=tuple(sorted(extra & self.sure)),
            undecided=tuple(sorted(untested | (extra - self.sure))),
            unconfirmed=tuple(sorted(silent & self.inferred)),
            by_value=tuple(sorted(self.by_value - changed - self.edges)),
        )


class _Run(NamedTuple):
    """Stages in the order in which they ended, those that computed something else, and the model's output leaves."""

    order: list[StageId]
    changed: frozenset[StageId]
    outputs: dict[str, Tensor]


class _NothingToPerturb(Exception):  # noqa: N818 - no error: there is an input without entries
    pass


class _Bench:
    """Runs the model again and again under the same conditions."""

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
        self._shaky: frozenset[StageId] | None = None
        self._given: dict[StageId, Given] = {}
        self._recorded = self._record()

    def unstable(self, *, hold_values: bool) -> frozenset[StageId]:
        """Who computes something else when nothing is perturbed: by chance, or for memory that holding took apart."""
        again = self._run(None, None, None, hold_values=hold_values)
        return again.changed | (set(self._recorded.order) - set(again.order))

    def trial(self, source: StageId, number: int, explained: frozenset[StageId]) -> _Outcome | None:
        """Perturb `source` once. None when the forward raised, took another path, or nothing could be perturbed."""
        found = self._influence(source, number, sure=False, hold_values=False)
        if found is not None and found <= explained:
            return _Outcome(found, found)
        held = self._influence(source, number, sure=False, hold_values=True)
        if held is None:
            return None if found is None else _Outcome(found, found & explained)
        if self._shaky is None:
            self._shaky = self.unstable(hold_values=True)
        found, sure = held - self._shaky if found is None else found, held - self._shaky
        given = self._given.get(source)
        if given is not None and given.partial:
            sure &= self._influence(source, number, sure=True, hold_values=True) or frozenset()
        by_value = found - explained - held - self._shaky
        return _Outcome(found - by_value, sure, by_value)

    def _influence(self, source: StageId, trial: int, *, sure: bool, hold_values: bool) -> frozenset[StageId] | None:
        try:
            if source in self._leaf:
                run = self._run(None, None, (self._leaf[source], trial), hold_values=hold_values)
            else:
                perturbed = self._given[source].perturbed(trial, sure=sure)
                run = self._run(source, perturbed, None, hold_values=hold_values)
        except Exception:  # noqa: BLE001 - perturbed values may break a forward in any way
            return None
        return run.changed - {source} if run.order == self._recorded.order else None

    def _record(self) -> _Run:
        def visit(stage: StageId, call: Call) -> None:
            self._given[stage] = take(call)

        forward = Forward(self._model, self._stages, visit, look=True)
        with self._ready() as (args, kwargs, _), forward.watched():
            return _Run(forward.order, frozenset(), _copies(run(self._model, args, kwargs)))

    def _run(
        self, source: StageId | None, perturbed: Given | None, leaf: tuple[int, int] | None, *, hold_values: bool
    ) -> _Run:
        """Every stage held, but `source` given out as `perturbed`, or input `leaf[0]` perturbed in trial `leaf[1]`."""
        changed: set[StageId] = set()

        def visit(stage: StageId, call: Call) -> Nested:
            if stage == source and perturbed is not None:
                return call.put(perturbed)
            if call.differs(self._given[stage]):
                changed.add(stage)
            return call.put(self._given[stage])

        forward = Forward(self._model, self._stages, visit)
        mode = HeldValues(self._seen_values()) if hold_values else nullcontext()
        with self._ready() as (args, kwargs, tensors):
            if leaf is not None and not _perturb_leaf(tensors[leaf[0]], leaf[1]):
                raise _NothingToPerturb
            with forward.watched(), mode:
                outputs = _copies(run(self._model, args, kwargs))
        before = self._recorded.outputs
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
        """The model borrowed, with arguments that it may write to."""
        with borrowed(self._model, self._conditions) as state:
            parameters = dict(self._model.named_parameters()) if self._written else {}
            for name in self._written:
                state.keep(parameters[name])
            yield self._inputs.fresh()


def _perturb_leaf(tensor: Tensor, trial: int) -> bool:
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return perturb([tensor.detach()], trial, {})


def _copies(result: Nested) -> dict[str, Tensor]:
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return {path: duplicate(tensor, {}) for path, tensor in leaves(result)}
