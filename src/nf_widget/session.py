"""`trace` and `Flow`: own the model, the inputs and the caches, and order the passes."""

from __future__ import annotations

import difflib
import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .cache import ByteCache
from .errors import InputError, StageError
from .frames import Frames, frames_of, single
from .inputs import Inputs, check_model, normalise
from .interpret.wording import in_words
from .nested import Nested
from .options import Options
from .passes import Captured, Wish, capture_stages, refused
from .recording import Recorded, record_model
from .records import Edge, Request, Selection, Stage, StageGraph, StageId, Summary, Tile, Trace
from .running import runnable
from .selection import expand, select
from .table import table
from .topology import Setting, build
from .topology.verify import Verification, verify
from .warned import warn_about

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import OptionWords

_NUMBERS = itertools.count(1)
_SUMMARY_BYTES = 64 * 2**20
_TILE_BYTES = 128 * 2**20


def trace(
    model: nn.Module,
    x: Nested = None,
    *,
    kwargs: Mapping[str, Nested] | None = None,
    frames: Any = None,
    frame_count: int | None = None,
    frame_labels: Sequence[str] | None = None,
    **options: Unpack[OptionWords],
) -> Flow:
    """Run `model` on `x` and record what happens: stages, edges, activations.

    `x` is what the model's forward takes: a tensor, a tuple of positional arguments, or a mapping (keywords where the
    signature takes them). `kwargs` adds keywords. `frames` gives several inputs instead of `x`.

    Options: `layers` (names, `"name#k"`, `"re:..."`, `"type:..."`, a predicate on `ModuleCall`, or `"leaves"`),
    `exclude`, `max_stages` (12), `labels`, `topology` (`"auto"`, `"runtime"`, `"fx"`, `"sequential"`), `sample` (0),
    `class_names`, `output_types`, `axes` ({stage: `"bchw"`}), `capture_device` (`"cpu"`), `capture_budget` (bytes),
    `attention`, `training` (`"eval"`, `"keep"`), `errors` (`"raise"`, `"show"`).

    Parameters, buffers, flags, hooks, random generators and inputs are afterwards as they were.
    Raises `ModelError`, `InputError`, `LayerError`, `OptionError`, and whatever the model raises.
    """
    settings = Options.of(options)
    check_model(model)
    if frames is not None and x is not None:
        raise InputError("x and frames were both given: pass one input as x, or several as frames.")
    if x is None and frames is None and not kwargs:
        raise InputError(
            "No input: pass what the model's forward takes as x, keywords as kwargs, or several as frames."
        )
    sequence = single(x) if frames is None else frames_of(frames, frame_count, frame_labels)
    return Flow(runnable(model), sequence, dict(kwargs or {}), settings)


class Flow:
    """What the network does to its inputs. Made by `trace`; read `graph`, ask for summaries and activations."""

    def __init__(self, model: nn.Module, frames: Frames, kwargs: dict[str, Nested], options: Options) -> None:
        self._model = model
        self._frames = frames
        self._kwargs = kwargs
        self._options = options
        self._number = next(_NUMBERS)
        self._lock = threading.RLock()
        self._summaries: ByteCache[tuple[Summary, ...]] = ByteCache(_SUMMARY_BYTES)
        self._activations: ByteCache[dict[str, Tensor]] = ByteCache(options.capture_budget)
        self._tiles: ByteCache[Tile] = ByteCache(_TILE_BYTES)
        # What is shown first sets the channels, their order and the colours for every later frame and sample.
        self._pins: dict[StageId, dict[str, Summary]] = {}
        self._seconds: float | None = None
        inputs = self._inputs(0)
        self._recorded: Recorded = record_model(model, inputs, options)
        self._base = select(
            self.trace,
            layers=options.layers,
            exclude=options.exclude,
            max_stages=options.max_stages,
            labels=options.labels,
        )
        warn_about(self._base.notes)
        self._selection = self._base
        self._setting = Setting(inputs, self._recorded.conditions)
        self._words: dict[StageId, str] = {}
        self.graph: StageGraph = self._build(self._base)
        self.expanded: tuple[str, ...] = ()
        first = self.overview(0, min(options.sample, max(self.sample_count - 1, 0)))
        ends = [stage for stage in self.graph.stages if stage.call is None and first[stage.id]]
        self._words = {stage.id: in_words(first[stage.id][0], stage.kind) for stage in ends}
        self.graph = self._worded(self.graph)

    @property
    def trace(self) -> Trace:
        """The record of the metadata pass: module calls and ops."""
        return self._recorded.trace

    @property
    def model(self) -> nn.Module:
        return self._model

    @property
    def options(self) -> Options:
        return self._options

    @property
    def error(self) -> BaseException | None:
        """What the forward raised, with `errors="show"`."""
        return self._recorded.error

    @property
    def id(self) -> str:
        """Names this flow within the process."""
        return str(self._number)

    @property
    def frame_count(self) -> int:
        return self._frames.count

    @property
    def frame_labels(self) -> tuple[str, ...]:
        return self._frames.labels

    @property
    def sample_count(self) -> int:
        """Entries along the batch axis of the first input; 1 where there is none."""
        shape = self.trace.inputs[0].spec.shape
        return shape[0] if len(shape) > 1 else 1

    @property
    def device(self) -> str:
        return str(self._recorded.conditions.device)

    @property
    def forward_ms(self) -> float | None:
        """Time of the model's own forward in the last full capture pass, without ours."""
        return None if self._seconds is None else self._seconds * 1e3

    def edge(self, source: str, target: str) -> Edge:
        """The edge between two stages. Raises `StageError`."""
        self.stage(source), self.stage(target)
        for edge in self.graph.edges:
            if edge.source == source and edge.target == target:
                return edge
        into = [edge.source for edge in self.graph.edges if edge.target == target]
        raise StageError(f"No edge {source} -> {target}: into {target} flow {', '.join(into) or 'no stages'}.")

    def stage(self, name: str) -> Stage:
        """Raises `StageError` with the nearest names."""
        names = {str(stage.id): stage for stage in self.graph.stages}
        if name in names:
            return names[name]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.3) or list(names)[:5]
        raise StageError(f"No stage {name!r}. Nearest: {', '.join(near)}.")

    def summary(self, stage: str, leaf: str | None = None, *, frame: int = 0, sample: int | None = None) -> Summary:
        """Statistics, ranked channels and a picture of what this stage gave out (its first leaf)."""
        name = self.stage(stage).id
        summaries = self.overview(frame, self._options.sample if sample is None else sample)[name]
        if not summaries:
            raise StageError(f"{stage} gave out no tensor in this run.")
        for summary in summaries:
            if leaf is None or summary.leaf == leaf:
                return summary
        raise StageError(f"{stage} has no leaf {leaf!r}: {', '.join(repr(s.leaf) for s in summaries)}.")

    def activation(self, stage: str, leaf: str | None = None, *, frame: int = 0) -> Any:
        """The whole tensor, on `capture_device`, detached: a dict of leaves if there are several and none is named.

        It equals what the summaries were made from: a pass runs under the conditions of the first one.
        """
        box = self.stage(stage)
        with self._lock:
            found = self._activations.get((frame, box.id))
            if found is None:
                wish = Wish(box, keep=True)
                self._pass(frame, [wish])
                found = wish.kept
        if leaf is not None:
            if leaf not in found:
                raise StageError(f"{stage} has no leaf {leaf!r}: {', '.join(map(repr, found)) or 'none'}.")
            return found[leaf].clone()
        if not found:
            raise StageError(f"{stage} gave out no tensor in this run.")
        if len(found) == 1:
            return next(iter(found.values())).clone()
        return {path: tensor.clone() for path, tensor in found.items()}

    def overview(self, frame: int = 0, sample: int = 0) -> Mapping[StageId, tuple[Summary, ...]]:
        """Summaries of every stage's leaves for one frame and sample; one capture pass for those not yet known."""
        with self._lock:
            missing = [s for s in self.graph.stages if self._summaries.get((frame, sample, s.id)) is None]
            if missing:
                wishes = [Wish(stage, sample=sample, pins=self._pins.get(stage.id, {})) for stage in missing]
                captured = self._pass(frame, wishes)
                if any(stage.kind == "output" for stage in missing) and captured.seconds:
                    self._seconds = captured.seconds
                fresh = {wish.stage.id: tuple(wish.summaries) for wish in wishes}
                for name, summaries in fresh.items():
                    self._pins.setdefault(name, {summary.leaf: summary for summary in summaries})
                    self._summaries.put((frame, sample, name), summaries, sum(map(_summary_bytes, summaries)))
            else:
                fresh = {}
            return {
                s.id: fresh[s.id] if s.id in fresh else self._summaries.get((frame, sample, s.id)) or ()
                for s in self.graph.stages
            }

    def cached_tiles(self, requests: Iterable[Request]) -> tuple[list[Tile], list[Request]]:
        """(answers that need no pass, requests that do). Never runs the model; safe in any thread."""
        found: list[Tile] = []
        missing: list[Request] = []
        for request in requests:
            tile = self._tiles.get(self._tile_key(request))
            if tile is None:
                missing.append(request)
            else:
                found.append(tile)
        return found, missing

    def tiles(self, requests: Sequence[Request]) -> list[Tile]:
        """Exact pieces of activations, one pass for each frame that needs one. Mistakes are answered in words."""
        found, missing = self.cached_tiles(requests)
        stages = {stage.id: stage for stage in self.graph.stages}
        by_frame: dict[int, dict[StageId, list[Request]]] = {}
        for request in missing:
            if request.stage not in stages or not 0 <= request.frame < self.frame_count:
                found.append(refused(request, "This stage or frame is not there any more."))
            else:
                by_frame.setdefault(request.frame, {}).setdefault(request.stage, []).append(request)
        with self._lock:
            for frame, by_stage in by_frame.items():
                wishes = [Wish(stages[name], requests=tuple(wanted), keep=True) for name, wanted in by_stage.items()]
                self._serve(frame, wishes)
                for wish in wishes:
                    for request, tile in zip(wish.requests, wish.tiles_in_order(), strict=True):
                        self._tiles.put(self._tile_key(request), tile, tile.data.nbytes + 256)
                        found.append(tile)
        return found

    def expand(self, stages: Sequence[str]) -> StageGraph:
        """Show these stages as their children, and no others; `()` is the first cut again. Returns the new graph."""
        with self._lock:
            selection = expand(self.trace, self._base, stages) if stages else self._base
            self.graph = self._worded(self._build(selection))
            self._selection = selection
            self.expanded = tuple(stages)
            return self.graph

    def verify(self) -> Verification:
        """Check every edge by intervention: perturb one stage, hold the others, see whose value changes."""
        with self._lock:
            return verify(
                self._model, self._inputs(0), self._recorded.conditions, self.trace, self._selection, self.graph
            )

    def __str__(self) -> str:
        return table(self.graph, self.trace)

    def __repr__(self) -> str:
        return f"<Flow of {self.trace.model_name}: {len(self.graph.stages)} stages, {len(self.graph.edges)} edges>"

    def _build(self, selection: Selection) -> StageGraph:
        return build(self._model, self.trace, selection, topology=self._options.topology, setting=self._setting)

    def _worded(self, graph: StageGraph) -> StageGraph:
        """Inputs and outputs say what they are."""
        return replace(
            graph, stages=tuple(replace(s, type_name=self._words.get(s.id, s.type_name)) for s in graph.stages)
        )

    def _serve(self, frame: int, wishes: list[Wish]) -> None:
        """Tiles from kept activations where there are any, the rest from one pass."""
        open_wishes = []
        for wish in wishes:
            kept = self._activations.get((frame, wish.stage.id))
            if kept is None:
                open_wishes.append(wish)
            else:
                wish.take_kept(kept, self._options, self.trace)
        if open_wishes:
            self._pass(frame, open_wishes)

    def _pass(self, frame: int, wishes: list[Wish]) -> Captured:
        captured = capture_stages(self._model, self._inputs(frame), self._recorded, wishes, self._options)
        for wish in wishes:
            if wish.keep:
                size = sum(t.numel() * t.element_size() for t in wish.kept.values() if t.layout == torch.strided)
                self._activations.put((frame, wish.stage.id), wish.kept, size)
        return captured

    def _inputs(self, frame: int) -> Inputs:
        if not 0 <= frame < self._frames.count:
            raise InputError(f"frame {frame} is not there: there are {self._frames.count}.")
        return normalise(self._model, self._frames.get(frame), self._kwargs)

    def _tile_key(self, request: Request) -> tuple[Any, ...]:
        return (
            request.frame, request.sample, request.stage, request.leaf, request.channel, request.slice, request.region,
            request.size, request.key,
        )  # fmt: skip


def _summary_bytes(summary: Summary) -> int:
    values = getattr(summary.picture, "values", None)
    return 2_048 + (values.nbytes if values is not None else 0)
