"""Wishes for stages -> one capture pass. Joins what the capture layer sees with what the stages mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from ..capture.attention import Look, Looking
from ..capture.composite import Bases, composed, cut_component
from ..capture.detail import cut
from ..capture.fused import capture_apart, has_fused_path, warn_of_unfused
from ..capture.heads import cut_weights, kept_copy, summarise, whole_weights
from ..capture.phases import WORD as PHASE
from ..capture.phases import phase_named, with_phases
from ..capture.reducers import Reduction, is_small
from ..capture.run import Pass, Plan, Tap
from ..capture.values import physical
from ..capture.weights import Weights
from ..errors import StageError
from ..inputs import Inputs
from ..nested import leaves, reachable
from ..records import Axes, CallId, Nothing, Request, Stage, Summary, TensorSpec, Tile, Trace
from ..tracing.remains import Left, Remains
from .axes import axes_of
from .meaning import Reader
from .options import Options
from .pins import pinned_to, shown_channels
from .recording import Recorded
from .repeats import Repeats, is_whole
from .sites import MOST, Site, sites_of
from .waiting import Waiting

# A stage that gives out a whole cache of tensors shows the first ones; the rest is there on demand.
_SHOWN_LEAVES = 8


Part = Literal["outputs", "attention"]
Kept: TypeAlias = dict[str, Tensor | Weights]


@dataclass(slots=True)
class Wish:
    """Of one stage in one pass: summaries of `sample`, or the whole leaves (`keep`) and tiles of them.

    `parts`: what the stage gives out, and the attention weights within it.
    `pins`, by leaf, are earlier summaries of this stage: channels, their order and the colours stay as they are there.
    """

    stage: Stage
    sample: int = 0
    keep: bool = False
    summed: bool = False
    parts: tuple[Part, ...] = ("outputs", "attention")
    requests: tuple[Request, ...] = ()
    pins: Mapping[str, Summary] = field(default_factory=dict)
    bases: Bases = field(default_factory=dict)
    summaries: list[Summary] = field(default_factory=list)
    attention: list[Summary] = field(default_factory=list)
    kept: Kept = field(default_factory=dict)
    tiles: dict[str, Tile] = field(default_factory=dict)

    def tiles_in_order(self) -> list[Tile]:
        return [self.tiles.get(r.key) or refused(r, "This stage did not run for this input.") for r in self.requests]

    def take_kept(self, kept: Kept, options: Options, trace: Trace) -> None:
        """Answer the requests from what was kept earlier."""
        self.kept = kept
        for request in self.requests:
            found, base = leaf_of(kept, request.leaf), composed(request.leaf, kept)
            whole = None if base is None else kept[base]
            if found is None and isinstance(whole, Tensor):
                tile = cut_component(whole, axes_of(self.stage, whole, options, trace), request, self.bases)
            elif found is None:
                tile = refused(request, f"{request.stage} has no leaf {request.leaf!r}.")
            elif isinstance(found, Tensor):
                tile = cut(found, axes_of(self.stage, found, options, trace), request)
            else:
                tile = cut_weights(found, request)
            self.tiles[request.key] = tile


@dataclass(frozen=True, slots=True)
class Captured:
    """`seconds`: the forward's own time. `strayed`: selected modules were called otherwise than when recorded."""

    seconds: float
    strayed: bool


def capture_stages(
    model: nn.Module,
    inputs: Inputs,
    recorded: Recorded,
    wishes: Sequence[Wish],
    options: Options,
    *,
    remains: Remains | None = None,
) -> Captured:
    """Fills the wishes. What `remains` of a pass on the same inputs is not made again: the forward ends before.

    Raises what the model raises, unless the first pass was let through with an error too.
    """
    trace = recorded.trace
    taker = _Taker(options, recorded, inputs)
    rest = _unserved(wishes, taker, trace, _left(model, remains))
    stages = [wish for wish in wishes if wish.stage.kind == "call"]
    tapped = [w for w in rest if w.stage.kind == "call" and "outputs" in w.parts and w.stage.leaves]
    taps = tuple(_tap(wish, taker, trace) for wish in tapped)
    given = [wish for wish in wishes if wish.stage.kind == "input"]
    results = [wish for wish in rest if wish.stage.kind == "output"]
    read = [wish for wish in wishes if wish.stage.kind == "representation" and "outputs" in wish.parts]
    plan = Plan(
        taps=taps,
        entries=tuple(_entry(wish, taker, trace) for wish in read),
        inputs=_input_taker(given, taker, inputs) if given else None,
        output=_output_taker(results, taker) if results else None,
        written=recorded.written,
        attention=_looking([wish for wish in stages if "attention" in wish.parts], taker, recorded),
    )
    warn_of_unfused(model, recorded.conditions, taps)
    done = capture_apart(model, inputs, recorded.conditions, plan)
    if done.error is not None and recorded.error is None:
        raise done.error
    taker.waiting.finish()
    for wish in wishes:
        wish.summaries += wish.attention
        if wish.keep:
            wish.take_kept(wish.kept, options, trace)
    seconds = done.seconds
    if seconds and plan.output is None and remains is not None:
        # It ended early. The first forward of all may have been slow, but in all of its parts.
        last = _last_calls([*tapped, *read], plan.attention, recorded)
        seconds /= max((remains.progress[call] for call in last), default=1.0)
    return Captured(seconds, recorded.error is None and _strayed(done, trace))


def summarise_kept(kept: Sequence[tuple[Wish, Kept]], inputs: Inputs, recorded: Recorded, options: Options) -> None:
    """Fills wishes for summaries from what an earlier pass on the same inputs kept, without running the model."""
    taker = _Taker(options, recorded, inputs)
    given = [(wish.stage.path, found) for wish, each in kept if wish.stage.kind == "output" for found in each.values()]
    taker.reader.outputs = {path: found for path, found in given if isinstance(found, Tensor)}
    for wish, leaves_of_stage in kept:
        taker.summarise(wish, [(path, found) for path, found in leaves_of_stage.items() if isinstance(found, Tensor)])
    taker.waiting.finish()


def part_of(recorded: Recorded, stage: Stage, leaf: str) -> Part:
    """What a wish for this leaf must ask for."""
    sites = sites_of(recorded.trace, recorded.attention, [stage]).get(str(stage.id), ())
    return "attention" if any(site.has(leaf) for site in sites) else "outputs"


def tensor_of(found: Tensor | Weights, options: Options) -> Tensor:
    """A copy of what was kept, as a whole tensor."""
    return found.clone() if isinstance(found, Tensor) else whole_weights(found, torch.device(options.capture_device))


def leaf_of(kept: Kept, leaf: str) -> Tensor | Weights | None:
    """What a leaf's name stands for among what was kept."""
    return kept.get(leaf) if leaf in kept else phase_named(leaf, kept)


def kept_bytes(kept: Kept) -> int:
    """Sparse tensors and the like are not counted."""
    tensors = [t for found in kept.values() for t in ([found] if isinstance(found, Tensor) else found.tensors)]
    return sum(t.numel() * t.element_size() for t in tensors if t.layout == torch.strided)


class _Taker:
    """Reduces, or keeps, the leaves that a stage gives out. Runs inside the forward."""

    def __init__(self, options: Options, recorded: Recorded, inputs: Inputs) -> None:
        self._options = options
        self._trace = recorded.trace
        self.reader = Reader(options, recorded.trace, inputs)
        self._device = torch.device(options.capture_device)
        self.waiting = Waiting()
        self._repeats = Repeats(recorded.trace, recorded.remains.private)

    def take(self, wish: Wish, found: Sequence[tuple[str, Tensor]]) -> None:
        if wish.requests and kept_bytes(dict(found)) > self._options.capture_budget:
            # What could not be kept is not copied either: the tiles are cut here and now.
            wish.take_kept(dict(found), self._options, self._trace)
            wish.keep, wish.kept = False, {}
            return
        if wish.keep:
            self._keep(wish, found)
        if wish.summed or not wish.keep:
            self.summarise(wish, found)

    def summarise(self, wish: Wish, found: Sequence[tuple[str, Tensor]]) -> None:
        shown = list(with_phases(found[:_SHOWN_LEAVES]))
        together = all(is_small(tensor) for _, tensor in shown)
        for path, tensor in shown:
            axes = axes_of(wish.stage, tensor, self._options, self._trace)
            pin = wish.pins.get(path)
            channels = None if pin is None else shown_channels(pin)
            done = partial(self._summarised, wish, pin, all(path != known for known, _ in found))
            asked = Reduction(tensor.clone() if together else tensor, axes, path, wish.sample, channels)
            if together:
                self.waiting.add(asked, done)
            else:
                done(tensor, self._repeats.reduce(wish.stage, asked))

    def _summarised(self, wish: Wish, pin: Summary | None, derived: bool, tensor: Tensor, summary: Summary) -> None:  # noqa: FBT001
        summary = self.reader.read(wish.stage, tensor, pinned_to(pin, summary), wish.sample, pin)
        wish.summaries.append(replace(summary, meaning=PHASE) if derived else summary)

    def _keep(self, wish: Wish, found: Sequence[tuple[str, Tensor]]) -> None:
        try:
            wish.kept = {path: _copy(tensor, self._device) for path, tensor in found}
        except (RuntimeError, TypeError, NotImplementedError, AttributeError):
            # A subclass may refuse to be copied: summaries do without, and must not take the forward down.
            if not wish.summed:
                raise
            wish.keep = False

    def take_weights(self, wish: Wish, site: Site, weights: Weights | Nothing, number: int) -> None:
        leaf = site.leaf_of(number)
        if number >= MOST:
            return
        if isinstance(weights, Nothing):
            if not wish.keep:
                axes = Axes((), "attention", "")
                wish.attention.append(Summary(leaf, TensorSpec((), "", ""), axes, weights, None, None, None))
        elif wish.keep:
            wish.kept[leaf] = kept_copy(weights, self._device)
        else:
            wish.attention.append(summarise(weights, leaf=leaf, sample=wish.sample))


def _copy(tensor: Tensor, device: torch.device) -> Tensor:
    return tensor.detach() if tensor.is_meta else tensor.detach().to(device, copy=True)


def _tap(wish: Wish, taker: _Taker, trace: Trace) -> Tap:
    if wish.stage.call is None:
        raise StageError(f"{wish.stage.id} is no module call.")
    call = trace.calls[wish.stage.call]
    return Tap(
        call.path, call.index, lambda output: taker.take(wish, [(at, physical(t)) for at, t in reachable(output)])
    )


def _entry(wish: Wish, taker: _Taker, trace: Trace) -> Tap:
    if wish.stage.reads is None:
        raise StageError(f"{wish.stage.id} is no representation.")
    call = trace.calls[wish.stage.reads]
    return Tap(
        call.path, call.index, lambda given: taker.take(wish, [("", physical(t)) for _, t in reachable(given)][:1])
    )


def _looking(wishes: Sequence[Wish], taker: _Taker, recorded: Recorded) -> Looking | None:
    trace = recorded.trace
    sites = sites_of(trace, recorded.attention, [wish.stage for wish in wishes])
    looks = tuple(
        Look(site.path, site.index, partial(taker.take_weights, wish, site))
        for wish in wishes
        for site in sites.get(str(wish.stage.id), ())
        if not wish.requests or any(site.has(request.leaf) for request in wish.requests)
    )
    paths = tuple(dict.fromkeys(trace.calls[call].path for call in recorded.attention))
    return Looking(looks, paths, trace.batch or None) if looks else None


def _input_taker(given: list[Wish], taker: _Taker, inputs: Inputs) -> Callable[[Sequence[Tensor]], None]:
    paths = [path for path, _ in inputs.leaves]

    def take(tensors: Sequence[Tensor]) -> None:
        for wish in given:
            if wish.stage.path in paths:
                taker.take(wish, [("", tensors[paths.index(wish.stage.path)])])

    return take


def _output_taker(results: list[Wish], taker: _Taker) -> Callable[[Any], None]:
    def take(result: Any) -> None:
        found = dict(leaves(result))
        taker.reader.outputs = found
        for wish in results:
            if wish.stage.path in found:
                taker.take(wish, [("", found[wish.stage.path])])

    return take


def _left(model: nn.Module, remains: Remains | None) -> Left:
    """What is left of the metadata pass, which takes no fused path where a capture pass may."""
    left: Left = ({}, {}) if remains is None else remains.take()
    return ({}, {}) if any(left) and has_fused_path(model) else left


def _unserved(wishes: Sequence[Wish], taker: _Taker, trace: Trace, left: Left) -> list[Wish]:
    """Serves those whose tensors are left of the metadata pass; returns the others."""
    found, calls = left
    taker.reader.outputs = found
    same = {leaf.ops: found[leaf.path] for leaf in trace.outputs if leaf.path in found and is_whole(leaf, trace)}
    rest: list[Wish] = []
    for wish in wishes:
        stage, tensors = wish.stage, []
        if stage.kind == "output" and stage.path in found:
            tensors = [("", found[stage.path])]
        elif stage.kind == "call" and "outputs" in wish.parts and all(leaf.ops in same for leaf in stage.leaves):
            tensors = [(leaf.path, same[leaf.ops]) for leaf in stage.leaves]
        elif stage.kind == "call" and "outputs" in wish.parts and stage.call in calls:
            tensors = [("", calls[stage.call])]
        if tensors:
            taker.take(wish, tensors)
        else:
            rest.append(wish)
    return rest


def _last_calls(wishes: Sequence[Wish], looking: Looking | None, recorded: Recorded) -> list[CallId]:
    """Calls one of which the forward ended with."""
    looks = set() if looking is None else {(look.path, look.index) for look in looking.looks}
    calls = recorded.trace.calls
    found = [call for call in recorded.attention if (calls[call].path, calls[call].index) in looks]
    ends = (wish.stage.call if wish.stage.reads is None else wish.stage.reads for wish in wishes)
    return found + [call for call in ends if call is not None]


def _strayed(done: Pass, trace: Trace) -> bool:
    if done.missed:
        return True
    times = Counter(call.path for call in trace.calls)
    return done.calls is not None and any(times[path] != count for path, count in done.calls.items())


def refused(request: Request, why: str) -> Tile:
    """An answer in words."""
    nan = float("nan")
    return Tile(request.key, np.zeros((0, 0), np.float32), nan, nan, nan, exact=False, error=why)
