"""`FlowWidget`: traits and observers. It computes nothing: what is wanted goes to the Flow and comes back as traits."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import traitlets
from torch import nn

from .. import protocol
from ..errors import BusyError, OptionError
from ..nested import Nested
from ..session.flow import Flow
from ..session.opening import prepared
from . import differences, export
from .idle import Idle
from .mainthread import MainThread
from .planes import every_plane
from .synced import SyncedState

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..session.options import OptionWords

# The traits that a saved page needs.
_SAVED = (
    "graph", "overview", "frame", "frame_count", "frame_labels", "reference", "sample", "sample_count", "selected",
    "expanded", "wanted", "thumbnails", "options", "status",
)  # fmt: skip
_LOG = logging.getLogger("nf_widget")


@dataclass(frozen=True, slots=True)
class _Place:
    """What pictures are of, and what in them is held as it was first shown."""

    frame: int
    sample: int
    reference: int | None
    channels: bool
    colours: bool


class FlowWidget(SyncedState):
    """The network as a graph of its stages with the activations in it, live in a notebook.

    `FlowWidget(model, x)`, or `FlowWidget(model, frames=[...])` with a slider. Options are those of `trace`.
    """

    # Set where construction fails too: ipywidgets closes on deletion.
    _main: MainThread | None = None
    _flow: Flow | None = None

    def __init__(
        self,
        model: nn.Module,
        x: Nested = None,
        *,
        kwargs: Mapping[str, Nested] | None = None,
        frames: Any = None,
        frame_count: int | None = None,
        frame_labels: Sequence[str] | None = None,
        **options: Unpack[OptionWords],
    ) -> None:
        asked = prepared(
            model, x, kwargs=kwargs, frames=frames, frame_count=frame_count, frame_labels=frame_labels, **options
        )
        super().__init__()  # from here on, before the model runs, the page loads the front end
        try:
            self._begin(Flow(*asked))
        except BaseException:
            self.close()
            raise

    @classmethod
    def from_flow(cls, flow: Flow) -> FlowWidget:
        """A widget that shows a Flow made by `trace`, without running the model again."""
        widget = cls.__new__(cls)
        SyncedState.__init__(widget)
        widget._begin(flow)  # noqa: SLF001 - of its own class
        return widget

    @property
    def flow(self) -> Flow:
        """What it shows. Raises `BusyError` once the widget is closed."""
        if self._flow is None:
            raise BusyError("This widget is closed: make another, FlowWidget(model, x).")
        return self._flow

    def save_html(
        self,
        path: str | os.PathLike[str],
        *,
        frames: Literal["shown", "all"] | Sequence[int] = "shown",
        detail: Sequence[str] = (),
        limit: int = 64 * 2**20,
    ) -> Path:
        """Write what is shown as one file that opens anywhere: no kernel, no network. Returns its path.

        `frames` are the inputs that its slider can show; `detail` the stages whose every value goes in, so that
        zooming into them ends at exact numbers. Raises `OptionError`, before anything is written, when the file would
        be larger than `limit` bytes or a frame is not there, and `StageError` for an unknown stage.
        """
        flow, sample = self.flow, self.sample
        shown = export.chosen_frames(frames, shown=self.frame, count=self.frame_count)
        overviews = [self._overview(frame, sample, self.reference) for frame in shown]
        tiles = [tile for frame in shown for stage in detail for tile in every_plane(flow, stage, frame, sample)]
        flow.overview(self.frame, sample)
        state = {name: getattr(self, name) for name in _SAVED} | {"overview": overviews[shown.index(self.frame)]}
        state["tiles"] = protocol.encode_tiles(tiles, seq=self.wanted["seq"])
        text = export.page(state, overviews, script=self._esm, styles=self._css, title=flow.trace.model_name)
        size = len(text.encode())
        if size > limit:
            raise OptionError(
                f"The file would have {size / 2**20:.1f} MB, more than the limit of {limit / 2**20:.1f} MB: "
                "save fewer frames or less detail, or give a larger limit."
            )
        target = Path(path)
        target.write_text(text, encoding="utf-8")
        return target

    def close(self) -> None:
        """Free everything: the front end's views, the observers, and the hold on the model."""
        if self._main is not None:
            self._main.close()
            self._main = None
            self.unobserve_all()
        self._flow = None
        if self.comm is not None:
            self.layout.close()
        super().close()

    def __repr__(self) -> str:
        # What remains in the output where no widget can run.
        return "FlowWidget (closed)" if self._flow is None else str(self._flow)

    def _begin(self, flow: Flow) -> None:
        self._flow = flow
        self._beat = 0
        self._direction = 1
        self._idle = Idle(flow)
        self._main = MainThread()
        sample = min(flow.options.sample, flow.sample_count - 1)
        # What the pictures are of; None where they must be made anew.
        self._shown: _Place | None = _Place(0, sample, None, channels=True, colours=True)
        with self.hold_sync(), self.hold_trait_notifications():
            self.graph = self._encoded_graph()
            self.overview = protocol.encode_overview(flow.overview(0, sample), frame=0, sample=sample)
            self.frame_count, self.frame_labels = flow.frame_count, list(flow.frame_labels)
            self.sample, self.sample_count = sample, flow.sample_count
            self.expanded = list(flow.expanded)
            self.thumbnails = protocol.encode_thumbnails({}, sample)
            self.status = protocol.encode_status("idle", beat=0)
        self.observe(self._on_wanted, names=["wanted"])
        self.observe(self._on_place, names=["frame", "sample", "reference"])
        self.observe(self._on_expanded, names=["expanded"])
        self.observe(self._on_options, names=["options"])
        self.observe(self._on_budget, names=["state_budget"])
        if flow.frame_count > 1:
            self._when_idle(self._look_at_inputs)

    @traitlets.validate("frame")
    def _valid_frame(self, proposal: Any) -> int:
        return self._within("frame", proposal["value"], self.frame_count)

    @traitlets.validate("reference")
    def _valid_reference(self, proposal: Any) -> int | None:
        value = proposal["value"]
        return None if value is None else self._within("reference", value, self.frame_count)

    @traitlets.validate("sample")
    def _valid_sample(self, proposal: Any) -> int:
        return self._within("sample", proposal["value"], self.sample_count)

    def _within(self, name: str, value: int, count: int) -> int:
        if not 0 <= value < max(count, 1):
            raise OptionError(f"{name} is {value}, but there are {count}: use 0 to {count - 1}.")
        return value

    def _on_wanted(self, _change: Any) -> None:
        """Answers what the caches hold at once, from any thread; leaves the rest to the main thread."""
        try:
            seq, requests = protocol.decode_wanted(self.wanted)
        except ValueError as error:
            self._say_error(error)
            return
        found, missing = differences.cached_tiles(self.flow, requests)
        if missing and self._main is not None:
            if found:
                self.tiles = protocol.encode_tiles(found, seq=seq - 1)
            self._later(self._serve_wanted)
        else:
            self.tiles = protocol.encode_tiles(found, seq=seq)

    def _serve_wanted(self) -> None:
        """The newest interest, whatever was asked for before."""
        try:
            seq, requests = protocol.decode_wanted(self.wanted)
            self._say("busy", f"fetching {len(requests)} pictures")
            answers = differences.tiles(self.flow, requests)
        except Exception as error:  # noqa: BLE001 - a handler's error belongs to the status line and the log
            self._say_error(error)
            return
        self.tiles = protocol.encode_tiles(answers, seq=seq)
        self._say("idle")

    def _on_place(self, change: Any) -> None:
        """A place that was seen before is shown at once, from any thread; another one by the main thread."""
        if change["name"] == "frame":
            self._direction = 1 if change["new"] > change["old"] else -1
        elif change["name"] == "reference":
            self._hold()
        self._ask_for_place()

    def _ask_for_place(self) -> None:
        frames = {self.frame, self.frame if self.reference is None else self.reference}
        if self._flow is not None and all(self._flow.has_overview(frame, self.sample) for frame in frames):
            self._serve_place()
        else:
            self._later(self._serve_place)

    def _on_options(self, _change: Any) -> None:
        place, shown = self._place(), self._shown
        if shown is not None and (place.channels, place.colours) != (shown.channels, shown.colours):
            self._hold()
            self._ask_for_place()

    def _on_budget(self, _change: Any) -> None:
        self._shown = None
        self._ask_for_place()

    def _place(self) -> _Place:
        options, reference = self.options, self.reference
        # Differences are those of the same channels.
        channels = bool(options.get("hold_channels", True)) or reference is not None
        colours = bool(options.get("hold_colours", True))
        return _Place(self.frame, self.sample, reference, channels=channels, colours=colours)

    def _hold(self) -> None:
        place = self._place()
        self.flow.hold(channels=place.channels, colours=place.colours)

    def _serve_place(self) -> None:
        """The place that is wanted now, whatever was asked for before."""
        place = self._place()  # read once: another thread may move meanwhile, and serving that comes here again
        if self._shown == place:
            self._settle()
            return
        self._hold()
        if not self.flow.has_overview(place.frame, place.sample):
            self._say("busy", "running the model")
        try:
            overview = self._overview(place.frame, place.sample, place.reference)
        except Exception as error:  # noqa: BLE001
            self._idle.unfit.add(place.frame)
            self._say_error(error, state="stale")
            self._follow_count()
            return
        self._shown = place
        with self.hold_sync():
            if self.flow.id != self.graph["trace"]:  # this frame takes another path through the model
                self.graph = self._encoded_graph()
            self.overview = overview
        self._follow_count()
        self._say("idle")
        self._when_idle(self._prefetch)

    def _overview(self, frame: int, sample: int, reference: int | None) -> protocol.Message:
        flow = self.flow
        before = None if reference is None else flow.overview(reference, sample)
        found = flow.overview(frame, sample)
        if before is not None and reference is not None:
            found = differences.subtracted(found, before, reference)
        return protocol.encode_overview(found, frame, sample, reference)

    def _follow_count(self) -> None:
        """An iterator turns out longer while it is read, or shorter than promised: then its last frame is shown."""
        self.frame_count = self.flow.frame_count
        self.frame = min(self.frame, self.frame_count - 1)
        if self.reference is not None and self.reference >= self.frame_count:
            self.reference = None

    def _when_idle(self, work: Callable[[], None]) -> None:
        if self._main is not None and not self._main.immediate:
            self._main.post(work)

    def _prefetch(self) -> None:
        """When nothing else is wanted. One piece at a time: what is wanted meanwhile comes first."""
        frame, sample = self.frame, self.sample
        if (self.overview.get("frame"), self.overview.get("sample")) != (frame, sample):
            return  # another place is wanted, and serving it comes here again
        more = self._idle.fetch_neighbour(frame, sample, self._direction)
        self._when_idle(self._prefetch if more else self._look_at_inputs)

    def _look_at_inputs(self) -> None:
        if self._idle.look_at_input(self.sample):
            if self._idle.filled:
                self.thumbnails = protocol.encode_thumbnails(self._idle.photos, self.sample)
            self._when_idle(self._look_at_inputs)

    def _on_expanded(self, _change: Any) -> None:
        self._later(self._serve_expanded)

    def _serve_expanded(self) -> None:
        if tuple(self.expanded) == self.flow.expanded:
            self._settle()
            return
        self._say("busy", "opening stages")
        try:
            self.flow.expand(tuple(self.expanded))
            overview = self._overview(self.frame, self.sample, self.reference)
        except Exception as error:  # noqa: BLE001
            self._say_error(error)
            return
        with self.hold_sync():
            self.graph = self._encoded_graph()
            self.overview = overview
        self._say("idle")

    def _encoded_graph(self) -> dict[str, Any]:
        flow = self.flow
        return protocol.encode_graph(
            flow.graph, flow.trace, trace_id=flow.id, device=flow.device, forward_ms=flow.forward_ms
        )

    def _say(self, state: protocol.State, text: str = "") -> None:
        self._beat += 1
        self.status = protocol.encode_status(state, text=text, beat=self._beat)

    def _settle(self) -> None:
        """Nothing is to be done: back from a frame that raised, or from what had to wait."""
        if self.status["state"] in {"stale", "waiting"}:
            self._say("idle")

    def _later(self, work: Callable[[], None]) -> None:
        if self._main is not None:
            if self._main.waits:
                self._say("waiting")
            self._main.post(work)

    def _say_error(self, error: Exception, state: protocol.State = "error") -> None:
        _LOG.error("The widget could not answer", exc_info=error)
        self._beat += 1
        self.status = protocol.encode_status(state, text=str(error), error=error, beat=self._beat)
