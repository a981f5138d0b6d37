"""Every plane of a stage, as tiles under the keys by which the front end asks for them."""

from __future__ import annotations

from ..records import Request, Tile
from ..session.axes import channels_of
from ..session.flow import Flow
from . import export


def every_plane(flow: Flow, stage: str, frame: int, sample: int) -> list[Tile]:
    """Raises `StageError` for an unknown stage."""
    name = flow.stage(stage).id
    requests = [
        Request(
            export.tile_key(flow.id, (frame, sample), stage, summary.leaf, channel),
            frame, sample, name, summary.leaf, channel,
        )
        for summary in flow.overview(frame, sample)[name]
        for channel in channels_of(summary)
    ]  # fmt: skip
    return flow.tiles(requests)
