"""Short ways from a model to its trace, and from a trace to the edges between named stages."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from nf_widget.inputs import Inputs, model_device, normalise
from nf_widget.records import CallId, Selection, StageGraph, Trace
from nf_widget.running import Conditions, TrainingMode, record_conditions
from nf_widget.topology import build
from nf_widget.topology.verify import Verification, verify
from nf_widget.tracing.record import Recording, record


@dataclass(frozen=True)
class Traced:
    """One recorded forward, and what is needed to look at it again."""

    model: nn.Module
    inputs: Inputs
    conditions: Conditions
    recording: Recording

    @property
    def trace(self) -> Trace:
        if self.recording.error is not None:
            raise self.recording.error
        return self.recording.trace

    def graph(self, stages: Sequence[str]) -> StageGraph:
        return build(self.model, self.trace, cut(self.trace, stages), topology="runtime")

    def edges(self, stages: Sequence[str], *, evidence: str | None = None) -> set[tuple[str, str]]:
        return {
            (str(edge.source), str(edge.target))
            for edge in self.graph(stages).edges
            if evidence in (None, edge.evidence)
        }

    def verified(self, stages: Sequence[str], graph: StageGraph | None = None) -> Verification:
        return verify(
            self.model,
            self.inputs,
            self.conditions,
            self.trace,
            cut(self.trace, stages),
            self.graph(stages) if graph is None else graph,
            written=self.recording.written,
        )


def traced(
    model: nn.Module,
    x: Any,
    kwargs: Mapping[str, Any] | None = None,
    *,
    training: TrainingMode = "eval",
    grad: bool = False,
) -> Traced:
    inputs = normalise(model, x, kwargs)
    conditions = record_conditions(model, model_device(model), training, grad)
    return Traced(model, inputs, conditions, record(model, inputs, conditions))


def cut(trace: Trace, stages: Sequence[str]) -> Selection:
    """All calls of these modules, or one of them (`"name#1"`), as stages."""
    wanted = {trace.aliases.get(name, name) for name in stages}
    chosen = tuple(call.id for call in trace.calls if call.path in wanted or f"{call.path}#{call.index}" in wanted)
    owner: dict[CallId, CallId] = {}
    for call in trace.calls:
        if call.id in chosen:
            owner[call.id] = call.id
        elif call.parent in owner:
            owner[call.id] = owner[call.parent]
    return Selection(chosen, (), owner)


def chain(*names: str) -> set[tuple[str, str]]:
    """`chain("input", "a", "b")` -> input to a, a to b."""
    return set(itertools.pairwise(names))
