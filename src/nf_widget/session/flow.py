"""`Flow`: owns the model, the inputs and the caches, and orders the passes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from ..errors import NotRunWarning, StageError, warn
from ..frames import Frames
from ..inputs import Inputs, normalise
from ..nested import Nested
from ..records import Edge, Note, Request, Stage, StageGraph, StageId, Summary, Tile, Trace
from ..topology.verify import Verification
from ..tracing.remains import Remains
from . import cuts, passes, rollouts
from .cache import ByteCache, picture_bytes
from .cuts import Cut
from .meaning import sample_count
from .options import Options
from .passes import Captured, Kept, Part, Wish, capture_stages, kept_bytes, part_of, refused, summarise_kept, tensor_of
from .pins import Pins
from .recording import record_model
from .table import table

_NUMBERS = itertools.count(1)
_SUMMARY_BYTES = 64 * 2**20
_TILE_BYTES = 128 * 2**20


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
        self._activations: ByteCache[Kept] = ByteCache(options.capture_budget)
        self._tiles: ByteCache[Tile] = ByteCache(_TILE_BYTES)
        self._pins = Pins()
        self._samples_seen: set[int] = set()
        self._seconds: float | None = None
        inputs = self._inputs(0)
        recorded = record_model(model, inputs, options)
        self._remains = {0: recorded.remains}  # of the last metadata pass, by its frame
        self._cuts = [cuts.first_cut(model, inputs, recorded, options)]
        self._at = 0
        self._cut_of: dict[int, int] = {}  # of a frame whose forward is known to differ from the first's
        first = self.overview(0, min(options.sample, max(self.sample_count - 1, 0)))
        self._cut = cuts.described(self._cut, first)

    @property
    def _cut(self) -> Cut:
        return self._cuts[self._at]

    @_cut.setter
    def _cut(self, cut: Cut) -> None:
        self._cuts[self._at] = cut

    @property
    def graph(self) -> StageGraph:
        """Stages and edges, of the frame looked at last."""
        return self._cut.graph

    @property
    def trace(self) -> Trace:
        """The record of the metadata pass: module calls and ops."""
        return self._cut.trace

    @property
    def expanded(self) -> tuple[str, ...]:
        """Ids of the stages shown as their children."""
        return self._cut.expanded

    @property
    def model(self) -> nn.Module:
        return self._model

    @property
    def options(self) -> Options:
        return self._options

    @property
    def error(self) -> BaseException | None:
        """What the forward raised, with `errors="show"`."""
        return self._cut.recorded.error

    @property
    def id(self) -> str:
        """Names what is shown within the process: another frame may take another path through the model."""
        return f"{self._number}.{self._at}" if self._at else str(self._number)

    @property
    def frame_count(self) -> int:
        return self._frames.count

    @property
    def frame_labels(self) -> tuple[str, ...]:
        return self._frames.labels

    @property
    def sample_count(self) -> int:
        return sample_count(self.trace, self._options)

    @property
    def device(self) -> str:
        return str(self._cut.recorded.conditions.device)

    @property
    def forward_ms(self) -> float | None:
        """Time of the model's own forward in the last capture pass, without ours; about, where it ended early."""
        return None if self._seconds is None else self._seconds * 1e3

    def edge(self, source: str, target: str) -> Edge:
        """The edge between two stages. Raises `StageError`."""
        return cuts.edge_named(self.graph, source, target)

    def stage(self, name: str) -> Stage:
        """Raises `StageError` with the nearest names."""
        return cuts.stage_named(self.graph, name)

    def summary(self, stage: str, leaf: str | None = None, *, frame: int = 0, sample: int | None = None) -> Summary:
        """Statistics, ranked channels and a picture of what this stage gave out (its first leaf)."""
        name, shown = self.stage(stage).id, self._options.sample if sample is None else sample
        return cuts.leaf_named(self.overview(frame, shown)[name], stage, leaf)

    def activation(self, stage: str, leaf: str | None = None, *, frame: int = 0) -> Any:
        """The whole tensor, on `capture_device`, detached: a dict of leaves if there are several and none is named.

        It equals what the summaries were made from: a pass runs under the conditions of the first one.
        """
        box = self.stage(stage)
        with self._lock:
            part: Part = "outputs" if leaf is None else part_of(self._cut.recorded, box, leaf)
            found = self._activations.get((self._at, frame, box.id, (part,)))
            if found is None or (leaf is not None and passes.leaf_of(found, leaf) is None):
                wish = Wish(box, keep=True, parts=(part,))
                self._pass(frame, [wish])
                found = wish.kept
        if leaf is not None:
            one = passes.leaf_of(found, leaf)
            if one is None:
                raise cuts.no_leaf(stage, leaf, [each.path for each in box.leaves])
            return tensor_of(one, self._options)
        if not found:
            raise StageError(f"{stage} gave out no tensor in this run.")
        tensors = {path: tensor_of(each, self._options) for path, each in found.items()}
        return tensors if len(tensors) > 1 else next(iter(tensors.values()))

    def rollout(self, stage: str | None = None, *, frame: int = 0, sample: int | None = None) -> Tensor:
        """`[token, token]`: how much of each token (column) is in each token (row) after the attention of `stage`, by
        default the last: attention rollout (Abnar and Zuidema, 2020). Rows sum to 1. Raises `StageError` without any.
        """
        at, shown = None if stage is None else self.stage(stage), self._options.sample if sample is None else sample
        with self._lock:
            return rollouts.rolled_out(self._model, self._inputs(frame), self._cut.recorded, at, shown)

    def overview(self, frame: int = 0, sample: int = 0) -> Mapping[StageId, tuple[Summary, ...]]:
        """Summaries of every stage's leaves for one frame and sample; one capture pass for those not yet known.

        Where this frame's forward takes another path than the one shown, it is recorded, and `graph` follows.
        """
        with self._lock:
            self._at = self._cut_of.get(frame, 0)
            found = self._summaries_of(frame, sample)
            missing = [stage for stage in self.graph.stages if found[stage.id] is None]
            if missing:
                captured = self._summarise(frame, sample, missing)
                if captured.strayed and self._follow(frame):
                    return self.overview(frame, sample)
                found = self._summaries_of(frame, sample)
            return {name: self._pins.coloured(name, summaries or ()) for name, summaries in found.items()}

    def hold(self, *, channels: bool, colours: bool) -> None:
        """Whether the shown channels and their order, and the ranges of the colours, stay as first shown."""
        with self._lock:
            self._pins.channels, self._pins.colours = channels, colours

    def has_overview(self, frame: int, sample: int) -> bool:
        """Whether `overview` would answer without running the model. Safe in any thread."""
        at = self._cut_of.get(frame, 0)
        stages = self._cuts[at].graph.stages
        held = self._pins.channels
        return all(self._summaries.get((at, frame, sample, stage.id, held)) is not None for stage in stages)

    def at_hand(self, frame: int) -> bool:
        return self._frames.at_hand(frame)  # without reading an iterator any further

    def inputs_of(self, frame: int, sample: int) -> tuple[Summary, ...]:
        """Summaries of what goes into the model, which does not run."""
        with self._lock:
            wishes = [Wish(s, sample, pins=self._pins.of(s.id)) for s in self.graph.stages if s.kind == "input"]
            self._pass(frame, wishes)
        return tuple(summary for wish in wishes for summary in wish.summaries)

    def prefetch(self, frame: int, sample: int) -> None:
        """Have the overview of a frame at hand, without looking at it: `graph` stays as it is."""
        with self._lock:
            at = self._at
            try:
                self.overview(frame, sample)
            finally:
                self._at = at

    def _summaries_of(self, frame: int, sample: int) -> dict[StageId, tuple[Summary, ...] | None]:
        at, held = self._at, self._pins.channels
        return {s.id: self._summaries.get((at, frame, sample, s.id, held)) for s in self.graph.stages}

    def _summarise(self, frame: int, sample: int, stages: Sequence[Stage]) -> Captured:
        self._samples_seen.add(sample)
        keep = self._keeps_for_samples()
        parts: tuple[Part, ...] = ("outputs",) if keep else ("outputs", "attention")
        made = partial(Wish, sample=sample, summed=True, keep=keep, parts=parts)
        wishes = [made(stage, pins=self._pins.of(stage.id)) for stage in stages]
        captured = self._summarise_kept(frame, wishes) if keep else None
        captured = captured or self._pass(frame, wishes, self._remains.pop(frame, None))
        if captured.strayed and frame not in self._cut_of:
            return captured
        if captured.seconds and any(stage.kind == "output" for stage in stages):
            self._seconds = captured.seconds
        for wish in wishes:
            name, summaries = wish.stage.id, tuple(wish.summaries)
            self._pins.remember(name, summaries)
            key = (self._at, frame, sample, name, self._pins.channels)
            self._summaries.put(key, summaries, sum(map(picture_bytes, summaries)))
        self._cut = cuts.attended(self._cut, {wish.stage.id: wish.summaries for wish in wishes})
        return captured

    def _keeps_for_samples(self) -> bool:
        moved = len(self._samples_seen) > 1
        return self.sample_count > 1 and cuts.worth_keeping(self._cut, self._options.capture_budget, moved=moved)

    def _summarise_kept(self, frame: int, wishes: Sequence[Wish]) -> Captured | None:
        """From activations that an earlier pass kept; None where one of them is not there."""
        held = ((wish, self._activations.get((self._at, frame, wish.stage.id, wish.parts))) for wish in wishes)
        pairs = [(wish, found) for wish, found in held if found is not None]
        if len(pairs) < len(wishes):
            return None
        summarise_kept(pairs, self._inputs(frame), self._cut.recorded, self._options)
        return Captured(0.0, strayed=False)

    def _follow(self, frame: int) -> bool:
        """Record this frame's own path. False where that has been done: the forward differs from run to run."""
        if frame in self._cut_of:
            warn(
                "This forward calls other modules each time it runs, under the same random numbers: what is shown "
                "may belong to several runs.",
                NotRunWarning,
            )
            return False
        inputs = self._inputs(frame)
        recorded = record_model(self._model, inputs, self._options)
        self._remains = {frame: recorded.remains}
        for index, cut in enumerate(self._cuts):
            if cuts.same_path(cut.trace, recorded.trace):
                self._cut_of[frame] = self._at = index
                return True
        note = Note("path", f"Frame {frame} takes another path through the model: these are its own stages and edges.")
        expanded = self.expanded
        cut = cuts.noted(cuts.first_cut(self._model, inputs, recorded, self._options), note)
        self._cuts.append(cuts.opened(self._model, cut, expanded, self._options) if expanded else cut)
        self._cut_of[frame] = self._at = len(self._cuts) - 1
        self._cut = cuts.worded(self._cut, self._cuts[0].words)
        return True

    def cached_tiles(self, requests: Iterable[Request]) -> tuple[list[Tile], list[Request]]:
        """(answers that need no pass, requests that do). Never runs the model; safe in any thread."""
        found: list[Tile] = []
        missing: list[Request] = []
        for request in requests:
            tile = self._tiles.get((self._at, request))
            if tile is None:
                missing.append(request)
            else:
                found.append(tile)
        return found, missing

    def tiles(self, requests: Sequence[Request]) -> list[Tile]:
        """Exact pieces of activations, one pass for each frame that needs one. Mistakes are answered in words."""
        found, missing = self.cached_tiles(requests)
        stages = {stage.id: stage for stage in self.graph.stages}
        by_frame: dict[int, dict[tuple[StageId, Part], list[Request]]] = {}
        for request in missing:
            if request.stage not in stages or not 0 <= request.frame < self.frame_count:
                found.append(refused(request, "This stage or frame is not there any more."))
            else:
                part = part_of(self._cut.recorded, stages[request.stage], request.leaf)
                by_frame.setdefault(request.frame, {}).setdefault((request.stage, part), []).append(request)
        with self._lock:
            for frame, by_stage in by_frame.items():
                wishes = [
                    Wish(stages[name], requests=tuple(wanted), keep=True, parts=(part,), bases=self._pins.bases)
                    for (name, part), wanted in by_stage.items()
                ]
                self._serve(frame, wishes)
                for wish in wishes:
                    for request, tile in zip(wish.requests, wish.tiles_in_order(), strict=True):
                        self._tiles.put((self._at, request), tile, tile.data.nbytes + 256)
                        found.append(tile)
        return found

    def expand(self, stages: Sequence[str]) -> StageGraph:
        """Show these stages as their children, and no others; `()` is the first cut again. Returns the new graph."""
        with self._lock:
            self._cuts = [cuts.opened(self._model, cut, stages, self._options) for cut in self._cuts]
            return self.graph

    def verify(self) -> Verification:
        """Check every edge by intervention: perturb one stage, hold the others, see whose value changes."""
        with self._lock:
            return cuts.verified(self._model, self._cut)

    def __str__(self) -> str:
        return table(self.graph, self.trace)

    def __repr__(self) -> str:
        return f"<Flow of {self.trace.model_name}: {len(self.graph.stages)} stages, {len(self.graph.edges)} edges>"

    def _serve(self, frame: int, wishes: list[Wish]) -> None:
        """Tiles from kept activations where there are any, the rest from one pass."""
        open_wishes = []
        for wish in wishes:
            kept = self._activations.get((self._at, frame, wish.stage.id, wish.parts))
            if kept is None or (wish.parts == ("attention",) and any(r.leaf not in kept for r in wish.requests)):
                open_wishes.append(wish)
            else:
                wish.take_kept(kept, self._options, self.trace)
        if open_wishes:
            self._pass(frame, open_wishes)

    def _pass(self, frame: int, wishes: list[Wish], remains: Remains | None = None) -> Captured:
        inputs, recorded = self._inputs(frame), self._cut.recorded
        captured = capture_stages(self._model, inputs, recorded, wishes, self._options, remains=remains)
        for wish in wishes:
            if wish.keep:
                self._activations.put((self._at, frame, wish.stage.id, wish.parts), wish.kept, kept_bytes(wish.kept))
        return captured

    def _inputs(self, frame: int) -> Inputs:
        return normalise(self._model, self._frames.input(frame, self._model, self._kwargs), self._kwargs)
