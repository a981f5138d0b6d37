"""The intervention oracle: are the edges of a stage graph true? Found without the tracer.

One forward is recorded. Then, for each stage and input A, the model runs again with what every other stage gives out
held at its recorded value, while A's is perturbed. Whoever computes something else, before being held, is influenced
by A directly, without a third stage between them. Values that a forward takes out as Python numbers and branches on
make no edge, so an influence that vanishes when those are held as well is no fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from torch import nn

from ..inputs import Inputs
from ..records import Selection, StageGraph, StageId, Trace
from ..running import Conditions
from .bench import Bench, Outcome
from .perturb import loud

# For what is silent in all others: as many as there are numbers that padding may be.
_LOUD_TRIALS = 3
Pair: TypeAlias = tuple[StageId, StageId]


@dataclass(frozen=True, slots=True)
class Verification:
    """What intervention says about the edges of a stage graph. Pairs are (source, target).

    `without_influence`: traced edges that carried none in any trial. `unexplained`: influences that no edge explains.
    `unread`: traced edges whose target was given another value in a trial, and computed the same. What a stage receives
    makes an edge; that it reads no more of it than the shape, or nothing, is worth saying, and no fault.
    `undecided`: edges, or influences, that could not be tested: a trial raised, nothing could be perturbed, or the
    target does not compute the same twice, or the memory that a stage passes on is written to later, so that there is
    no one way of holding it. `unconfirmed`: inferred edges that carried no influence; they are
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
    unread: tuple[Pair, ...] = ()

    @property
    def ok(self) -> bool:
        """No edge without influence, but those of values that are received, and no influence without an edge."""
        return not self.without_influence and not self.unexplained

    def __str__(self) -> str:
        lines = [f"{self.confirmed} of {self.edges} edges carried influence in {self.trials} trials each."]
        for title, pairs in (
            ("Edges that carried no influence", self.without_influence),
            ("Influences that no edge explains", self.unexplained),
            ("Received, and not read but for its shape, or to no effect", self.unread),
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
    bench = Bench(model, inputs, conditions, trace, selection, written=written)
    sources = [stage.id for stage in graph.stages if stage.kind != "output"]
    edges = {(edge.source, edge.target): edge.evidence for edge in graph.edges}
    verdicts = _Verdicts(edges=frozenset(edges), inferred=frozenset(p for p, e in edges.items() if e == "inferred"))
    verdicts.unstable, verdicts.entangled, verdicts.hidden = bench.unstable, bool(bench.entangled), bench.hidden
    explained = {
        source: frozenset(target for begin, target in edges if begin == source) | verdicts.unstable
        for source in sources
    }
    for source in sources:
        for trial in range(trials):
            verdicts.add(source, bench.trial(source, trial, explained[source]))
    for number in range(min(trials, _LOUD_TRIALS)):
        for source in verdicts.silent():
            outcome = bench.trial(source, loud(number), explained[source])
            if outcome is not None and outcome.ended:
                verdicts.add(source, outcome)
    for source, targets in verdicts.silent().items():
        verdicts.unread |= {(source, target) for target in bench.given(source, targets, trials)}
    return verdicts.verification(trials)


@dataclass(slots=True)
class _Verdicts:
    edges: frozenset[Pair]
    inferred: frozenset[Pair]
    unstable: frozenset[StageId] = frozenset()
    hidden: frozenset[StageId] = frozenset()
    entangled: bool = False
    changed: set[Pair] = field(default_factory=set)
    sure: set[Pair] = field(default_factory=set)
    by_value: set[Pair] = field(default_factory=set)
    broken: set[StageId] = field(default_factory=set)
    unread: set[Pair] = field(default_factory=set)

    def add(self, source: StageId, outcome: Outcome | None) -> None:
        if outcome is None or not outcome.ended:
            self.broken.add(source)
        if outcome is not None:
            self.changed |= {(source, target) for target in outcome.changed}
            self.sure |= {(source, target) for target in outcome.sure}
            self.by_value |= {(source, target) for target in outcome.by_value}

    def silent(self) -> dict[StageId, frozenset[StageId]]:
        """The targets of each source's traced edges that carried no influence, though they could be tested."""
        found: dict[StageId, frozenset[StageId]] = {}
        for source, target in self.edges - self.changed - self.inferred - self._unjudged():
            found[source] = found.get(source, frozenset()) | {target}
        return found

    def verification(self, trials: int) -> Verification:
        changed, unjudged = self.changed, self._unjudged()
        silent = self.edges - changed
        extra = changed - self.edges
        through = self._through_hidden()
        return Verification(
            edges=len(self.edges),
            confirmed=len(self.edges & changed),
            trials=trials,
            without_influence=tuple(sorted(silent - self.inferred - unjudged - self.unread)),
            unexplained=tuple(sorted((extra & self.sure) - through)),
            undecided=tuple(sorted(unjudged | (extra - self.sure) | (extra & through))),
            unconfirmed=tuple(sorted(silent & self.inferred)),
            by_value=tuple(sorted(self.by_value - changed - self.edges)),
            unread=tuple(sorted(self.unread)),
        )

    def _through_hidden(self) -> set[Pair]:
        """Pairs between which an influence may run through stages that could not be held."""
        pairs = set(self.edges)
        for _ in self.hidden:
            pairs |= {
                (source, end) for source, via in pairs if via in self.hidden for start, end in pairs if start == via
            }
        return pairs - self.edges

    def _unjudged(self) -> set[Pair]:
        return {
            (source, target)
            for source, target in self.edges - self.changed - self.inferred
            if self.entangled or source in self.broken or target in self.unstable
        }
