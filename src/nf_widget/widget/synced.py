"""The traits that the front end sees, and how much of them a saved notebook keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import anywidget
import traitlets

from .. import protocol
from ..protocol.budget import buffer_bytes, fitted
from . import bundle


class SyncedState(anywidget.AnyWidget):
    """What kernel and front end share. Front ends save these traits with the notebook where they are asked to."""

    _esm = traitlets.Unicode("").tag(sync=True)
    _css = traitlets.Unicode("").tag(sync=True)

    graph = traitlets.Dict().tag(sync=True)
    overview = traitlets.Dict().tag(sync=True)
    frame = traitlets.Int(0).tag(sync=True)
    frame_count = traitlets.Int(1).tag(sync=True)
    frame_labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    reference = traitlets.Int(None, allow_none=True).tag(sync=True)
    sample = traitlets.Int(0).tag(sync=True)
    sample_count = traitlets.Int(1).tag(sync=True)
    selected = traitlets.Unicode("").tag(sync=True)
    expanded = traitlets.List(traitlets.Unicode()).tag(sync=True)
    wanted = traitlets.Dict().tag(sync=True)
    tiles = traitlets.Dict().tag(sync=True)
    thumbnails = traitlets.Dict().tag(sync=True)
    options = traitlets.Dict().tag(sync=True)
    status = traitlets.Dict().tag(sync=True)

    state_budget = traitlets.Int(4 * 2**20, min=0)
    """Bytes of pictures and values that stay in the traits, and so in a saved notebook (as text, a third more).

    Exact values are let go first, once they were sent; then the largest pictures are left out.
    """

    def __init__(self) -> None:
        script, styles = bundle.load()
        super().__init__(
            _esm=script.read_text(encoding="utf-8"),
            _css=styles.read_text(encoding="utf-8"),
            wanted={"seq": 0, "tiles": []},
            tiles=protocol.encode_tiles((), seq=0),
            options=protocol.default_options(),
            status=protocol.encode_status("busy", beat=0),
        )

    def get_state(self, key: str | Iterable[str] | None = None, drop_defaults: bool = False) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """The state, as ipywidgets asks for it. It is whole, always: a page without Python knows no default of ours."""
        state: dict[str, Any] = super().get_state(key=key, drop_defaults=False)
        return state

    @traitlets.validate("overview")
    def _fitted_overview(self, proposal: Any) -> protocol.Message:
        return fitted(proposal["value"], self.state_budget - buffer_bytes(self.thumbnails))

    @traitlets.observe("tiles", "state_budget")
    def _let_go_of_tiles(self, _change: Any) -> None:
        # The front end has had them when this is called.
        room = self.state_budget - buffer_bytes(self.overview) - buffer_bytes(self.thumbnails)
        if self.tiles.get("tiles") and buffer_bytes(self.tiles) > room:
            self.tiles = protocol.encode_tiles((), seq=self.tiles["seq"])
