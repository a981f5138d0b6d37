"""A recorded forward, what was selected of it, and the stage graph that this gives."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from ..errors import StageError
from ..inputs import Inputs
from ..interpret.wording import in_words
from ..records import Edge, Leaf, Note, Selection, Stage, StageGraph, StageId, Summary, Trace
from ..selection import expand, select
from ..topology import Setting, build
from ..topology.representation import with_representations
from ..topology.verify import Verification, verify
from .options import Options
from .recording import Recorded
from .warned import warn_about


@dataclass(frozen=True, slots=True)
class Cut:
    """`base` is the first selection, `selection` what is left of it with `expanded` stages opened.

    `calls` is the graph of module calls alone, `graph` the one that is shown. `words` say what inputs and outputs are.
    """

    recorded: Recorded
    setting: Setting
    base: Selection
    selection: Selection
    calls: StageGraph
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
    setting = Setting(inputs, recorded.conditions, recorded.written)
    graph = build(model, recorded.trace, selection, topology=options.topology, setting=setting)
    return Cut(recorded, setting, selection, selection, graph, _shown(graph, recorded.trace, selection, options))


def opened(model: nn.Module, cut: Cut, stages: Sequence[str], options: Options) -> Cut:
    """The same forward with these stages shown as their children, and no others."""
    selection = expand(cut.trace, cut.base, stages) if stages else cut.base
    graph = build(model, cut.trace, selection, topology=options.topology, setting=cut.setting)
    found = _shown(graph, cut.trace, cut.base, options)
    return worded(replace(cut, selection=selection, calls=graph, graph=found, expanded=tuple(stages)), cut.words)


def _shown(calls: StageGraph, trace: Trace, base: Selection, options: Options) -> StageGraph:
    """Where stages were not named by hand, with the vectors that heads read, as far as `base` leaves room: what is
    opened takes none of it."""
    if options.layers is not None:
        return calls
    return with_representations(calls, trace, room=options.max_stages - len(base.stages))


def described(cut: Cut, summaries: Mapping[StageId, Sequence[Summary]]) -> Cut:
    """Inputs and outputs say what they are, from their first summaries."""
    ends = [stage for stage in cut.graph.stages if stage.kind in {"input", "output"} and summaries.get(stage.id)]
    return worded(cut, {stage.id: in_words(summaries[stage.id][0], stage.kind) for stage in ends})


def attended(cut: Cut, summaries: Mapping[StageId, Sequence[Summary]]) -> Cut:
    """Attention weights within a stage, and phases of what it gives out, are leaves of it, known from their first
    summaries on."""
    stages = []
    for stage in cut.graph.stages:
        known = {leaf.path for leaf in stage.leaves}
        derived = [s for s in summaries.get(stage.id, ()) if s.axes.kind == "attention" or s.meaning == "phase"]
        found = [s for s in derived if s.leaf not in known]
        leaves = tuple(Leaf(summary.leaf, summary.spec, ()) for summary in found)
        stages.append(replace(stage, leaves=stage.leaves + leaves) if leaves else stage)
    return replace(cut, graph=replace(cut.graph, stages=tuple(stages)))


def leaf_named(summaries: Sequence[Summary], stage: str, leaf: str | None) -> Summary:
    """The summary of a leaf, or of the first one. Raises `StageError`."""
    if not summaries:
        raise StageError(f"{stage} gave out no tensor in this run.")
    for summary in summaries:
        if leaf is None or summary.leaf == leaf:
            return summary
    raise no_leaf(stage, leaf, [summary.leaf for summary in summaries])


def no_leaf(stage: str, leaf: str | None, names: Sequence[str]) -> StageError:
    return StageError(f"{stage} has no leaf {leaf!r}: {', '.join(map(repr, names)) or 'none'}.")


def worded(cut: Cut, words: Mapping[StageId, str]) -> Cut:
    stages = tuple(replace(stage, type_name=words.get(stage.id, stage.type_name)) for stage in cut.graph.stages)
    return replace(cut, graph=replace(cut.graph, stages=stages), words=words)


def noted(cut: Cut, note: Note) -> Cut:
    return replace(cut, graph=replace(cut.graph, notes=(*cut.graph.notes, note)))


def same_path(one: Trace, other: Trace) -> bool:
    """Whether two forwards called the same modules in the same order."""
    return [call.path for call in one.calls] == [call.path for call in other.calls]


def worth_keeping(cut: Cut, budget: int, *, moved: bool) -> bool:
    """Whether a pass should keep whole activations, so that other samples are cut from them without another forward.

    Where they fit `budget` bytes, on a CPU, on which a copy costs little beside a forward; elsewhere once the
    sample has been `moved`. Attention weights are not kept so.
    """
    specs = [leaf.spec for stage in cut.graph.stages for leaf in stage.leaves]
    size = sum(math.prod(spec.shape) * getattr(torch, spec.dtype).itemsize for spec in specs)
    return size <= budget and not cut.recorded.attention and (moved or cut.recorded.conditions.device.type == "cpu")


def verified(model: nn.Module, cut: Cut) -> Verification:
    """Every edge between module calls of the cut, checked by intervention."""
    setting, written = cut.setting, cut.recorded.written
    return verify(model, setting.inputs, setting.conditions, cut.trace, cut.selection, cut.calls, written=written)


def stage_named(graph: StageGraph, name: str) -> Stage:
    """Raises `StageError` with the nearest names."""
    names = {str(stage.id): stage for stage in graph.stages}
    if name in names:
        return names[name]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.3) or list(names)[:5]
    raise StageError(f"No stage {name!r}. Nearest: {', '.join(near)}.")


def edge_named(graph: StageGraph, source: str, target: str) -> Edge:
    """Raises `StageError` with what flows into `target`."""
    stage_named(graph, source), stage_named(graph, target)
    into = {str(edge.source): edge for edge in graph.edges if edge.target == target}
    if source in into:
        return into[source]
    raise StageError(f"No edge {source} -> {target}: into {target} flow {', '.join(into) or 'no stages'}.")
