"""A recorded forward, what was selected of it, and the stage graph that this gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from torch import nn

from .inputs import Inputs
from .interpret.wording import in_words
from .options import Options
from .recording import Recorded
from .records import Note, Selection, StageGraph, StageId, Summary, Trace
from .selection import expand, select
from .topology import Setting, build
from .warned import warn_about


@dataclass(frozen=True, slots=True)
class Cut:
    """`base` is the first selection, `selection` what is left of it with `expanded` stages opened.

    `words` say what inputs and outputs are.
    """

    recorded: Recorded
    setting: Setting
    base: Selection
    selection: Selection
    graph: StageGraph
    expanded: tuple[str, ...] = ()
    words: Mapping[StageId, str] = field(default_factory=dict)

    @property
    def trace(self) -> Trace:
        return self.recorded.trace


def first_cut(model: nn.Module, inputs: Inputs, recorded: Recorded, options: Options) -> Cut:
    """Raises `LayerError`; warns of selected modules that did not run."""
    selection = select(
        recorded.trace,
        layers=options.layers,
        exclude=options.exclude,
        max_stages=options.max_stages,
        labels=options.labels,
    )
    warn_about(selection.notes)
    setting = Setting(inputs, recorded.conditions)
    graph = build(model, recorded.trace, selection, topology=options.topology, setting=setting)
    return Cut(recorded, setting, selection, selection, graph)


def opened(model: nn.Module, cut: Cut, stages: Sequence[str], options: Options) -> Cut:
    """The same forward with these stages shown as their children, and no others."""
    selection = expand(cut.trace, cut.base, stages) if stages else cut.base
    graph = build(model, cut.trace, selection, topology=options.topology, setting=cut.setting)
    return worded(replace(cut, selection=selection, graph=graph, expanded=tuple(stages)), cut.words)


def described(cut: Cut, summaries: Mapping[StageId, Sequence[Summary]]) -> Cut:
    """Inputs and outputs say what they are, from their first summaries."""
    ends = [stage for stage in cut.graph.stages if stage.call is None and summaries.get(stage.id)]
    return worded(cut, {stage.id: in_words(summaries[stage.id][0], stage.kind) for stage in ends})


def worded(cut: Cut, words: Mapping[StageId, str]) -> Cut:
    stages = tuple(replace(stage, type_name=words.get(stage.id, stage.type_name)) for stage in cut.graph.stages)
    return replace(cut, graph=replace(cut.graph, stages=stages), words=words)


def noted(cut: Cut, note: Note) -> Cut:
    return replace(cut, graph=replace(cut.graph, notes=(*cut.graph.notes, note)))


def same_path(one: Trace, other: Trace) -> bool:
    """Whether two forwards called the same modules in the same order."""
    return [call.path for call in one.calls] == [call.path for call in other.calls]
