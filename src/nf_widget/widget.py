"""`FlowWidget`: traits and observers. It computes nothing: it hands what is wanted to the Flow and what is found to
the front end."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets
from torch import nn

from . import bundle, protocol
from .errors import BusyError, OptionError
from .flow import Flow
from .mainthread import MainThread
from .nested import Nested
from .session import trace

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import OptionWords

_LOG = logging.getLogger("nf_widget")


class FlowWidget(anywidget.AnyWidget):
    """The network as a graph of its stages with the activations in it, live in a notebook.

    `FlowWidget(model, x)`, or `FlowWidget(model, frames=[...])` with a slider. Options are those of `trace`.
    """

    _esm = traitlets.Unicode("").tag(sync=True)
    _css = traitlets.Unicode("").tag(sync=True)

    graph = traitlets.Dict().tag(sync=True)
    overview = traitlets.Dict().tag(sync=True)
    frame = traitlets.Int(0).tag(sync=True)
    frame_count = traitlets.Int(1).tag(sync=True)
    frame_labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sample = traitlets.Int(0).tag(sync=True)
    sample_count = traitlets.Int(1).tag(sync=True)
    selected = traitlets.Unicode("").tag(sync=True)
    expanded = traitlets.List(traitlets.Unicode()).tag(sync=True)
    wanted = traitlets.Dict().tag(sync=True)
    tiles = traitlets.Dict().tag(sync=True)
    options = traitlets.Dict().tag(sync=True)
    status = traitlets.Dict().tag(sync=True)

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
        self._begin(
            trace(
                model,
                x,
                kwargs=kwargs,
                frames=frames,
                frame_count=frame_count,
                frame_labels=frame_labels,
                **options,
            )
        )

    @classmethod
    def from_flow(cls, flow: Flow) -> FlowWidget:
        """A widget that shows a Flow made by `trace`, without running the model again."""
        widget = cls.__new__(cls)
        widget._begin(flow)
        return widget

    @property
    def flow(self) -> Flow:
        """What it shows. Raises `BusyError` once the widget is closed."""
        if self._flow is None:
            raise BusyError("This widget is closed: make another, FlowWidget(model, x).")
        return self._flow

    def close(self) -> None:
        """Free everything: the front end's views, the observers, and the hold on the model."""
        if self._main is not None:
            self._main.close()
            self._main = None
            self.unobserve_all()
        self._flow = None
        super().close()

    def __repr__(self) -> str:
        # What remains in the output where no widget can run.
        return "FlowWidget (closed)" if self._flow is None else str(self._flow)

    def _begin(self, flow: Flow) -> None:
        script, styles = bundle.load()
        self._flow = flow
        self._beat = 0
        self._direction = 1
        # Frames that raised: not worth trying before they are looked at.
        self._unfit: set[int] = set()
        self._main = MainThread()
        sample = min(flow.options.sample, flow.sample_count - 1)
        super().__init__(
            _esm=script.read_text(encoding="utf-8"),
            _css=styles.read_text(encoding="utf-8"),
            graph=self._encoded_graph(),
            overview=protocol.encode_overview(flow.overview(0, sample), frame=0, sample=sample),
            frame_count=flow.frame_count,
            frame_labels=list(flow.frame_labels),
            sample=sample,
            sample_count=flow.sample_count,
            expanded=list(flow.expanded),
            wanted={"seq": 0, "tiles": []},
            tiles=protocol.encode_tiles((), seq=0),
            options=protocol.default_options(),
            status=protocol.encode_status("idle", beat=0),
        )
        self.observe(self._on_wanted, names=["wanted"])
        self.observe(self._on_place, names=["frame", "sample"])
        self.observe(self._on_expanded, names=["expanded"])

    @traitlets.validate("frame")
    def _valid_frame(self, proposal: Any) -> int:
        return self._within("frame", proposal["value"], self.frame_count)

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
        found, missing = self.flow.cached_tiles(requests)
        if missing and self._main is not None:
            if found:
                self.tiles = protocol.encode_tiles(found, seq=seq - 1)
            self._main.post(self._serve_wanted)
        else:
            self.tiles = protocol.encode_tiles(found, seq=seq)

    def _serve_wanted(self) -> None:
        """The newest interest, whatever was asked for before."""
        try:
            seq, requests = protocol.decode_wanted(self.wanted)
            self._say("busy", f"fetching {len(requests)} pictures")
            answers = self.flow.tiles(requests)
        except Exception as error:  # noqa: BLE001 - a handler's error belongs to the status line and the log
            self._say_error(error)
            return
        self.tiles = protocol.encode_tiles(answers, seq=seq)
        self._say("idle")

    def _on_place(self, change: Any) -> None:
        """A place that was seen before is shown at once, from any thread; another one by the main thread."""
        if change["name"] == "frame":
            self._direction = 1 if change["new"] > change["old"] else -1
        if self._flow is None or self._main is None:
            return
        if self._flow.has_overview(self.frame, self.sample):
            self._serve_place()
        else:
            self._main.post(self._serve_place)

    def _serve_place(self) -> None:
        """The place that is wanted now, whatever was asked for before."""
        frame, sample = self.frame, self.sample
        if (self.overview.get("frame"), self.overview.get("sample")) == (frame, sample):
            return
        if not self.flow.has_overview(frame, sample):
            self._say("busy", "running the model")
        try:
            overview = self.flow.overview(frame, sample)
        except Exception as error:  # noqa: BLE001
            self._unfit.add(frame)
            self._say_error(error, state="stale")
            return
        with self.hold_sync():
            if self.flow.id != self.graph["trace"]:  # this frame takes another path through the model
                self.graph = self._encoded_graph()
            self.overview = protocol.encode_overview(overview, frame=frame, sample=sample)
        self._say("idle")
        if self._main is not None and not self._main.immediate:
            self._main.post(self._prefetch)

    def _prefetch(self) -> None:
        """When nothing else is wanted: the neighbours of this frame, the next one in the direction of travel first."""
        frame, sample, ahead = self.frame, self.sample, self._direction
        for neighbour in (frame + ahead, frame - ahead, frame + 2 * ahead):
            inside = 0 <= neighbour < self.frame_count and neighbour not in self._unfit
            if inside and self._main is not None and not self.flow.has_overview(neighbour, sample):
                try:
                    self.flow.prefetch(neighbour, sample)
                except Exception:  # noqa: BLE001 - it is told when the frame is looked at
                    _LOG.debug("Frame %d could not be prefetched", neighbour, exc_info=True)
                    self._unfit.add(neighbour)
                self._main.post(self._prefetch)  # one at a time: what is wanted meanwhile comes first
                return

    def _on_expanded(self, _change: Any) -> None:
        if self._main is not None:
            self._main.post(self._serve_expanded)

    def _serve_expanded(self) -> None:
        if tuple(self.expanded) == self.flow.expanded:
            return
        self._say("busy", "opening stages")
        try:
            self.flow.expand(tuple(self.expanded))
            overview = self.flow.overview(self.frame, self.sample)
        except Exception as error:  # noqa: BLE001
            self._say_error(error)
            return
        with self.hold_sync():
            self.graph = self._encoded_graph()
            self.overview = protocol.encode_overview(overview, frame=self.frame, sample=self.sample)
        self._say("idle")

    def _encoded_graph(self) -> dict[str, Any]:
        flow = self.flow
        return protocol.encode_graph(
            flow.graph, flow.trace, trace_id=flow.id, device=flow.device, forward_ms=flow.forward_ms
        )

    def _say(self, state: protocol.State, text: str = "") -> None:
        self._beat += 1
        self.status = protocol.encode_status(state, text=text, beat=self._beat)

    def _say_error(self, error: Exception, state: protocol.State = "error") -> None:
        _LOG.error("The widget could not answer", exc_info=error)
        self._beat += 1
        self.status = protocol.encode_status(state, text=str(error), error=error, beat=self._beat)
