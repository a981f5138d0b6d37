"""What is worth doing while nothing is wanted, one small piece at a time."""

from __future__ import annotations

import logging

from ..records import Photo
from ..session.flow import Flow

# Pictures of inputs along the slider: as many as a wide one has room for.
MOST = 32
_LOG = logging.getLogger("nf_widget")


class Idle:
    """`unfit` are frames that raised: not worth trying before they are looked at."""

    def __init__(self, flow: Flow) -> None:
        self.unfit: set[int] = set()
        self._flow = flow
        self._photos: dict[int, Photo] = {}
        # Of the frames under `_place`, those still to look at.
        self._place: tuple[str, int, int] | None = None
        self._open: list[int] = []

    def fetch_neighbour(self, frame: int, sample: int, ahead: int) -> bool:
        """Have the pictures of one more neighbour at hand, the next in the direction `ahead` (1, -1) first. False
        where all are."""
        for neighbour in (frame + ahead, frame - ahead, frame + 2 * ahead):
            inside = 0 <= neighbour < self._flow.frame_count and neighbour not in self.unfit
            if inside and not self._flow.has_overview(neighbour, sample):
                try:
                    self._flow.prefetch(neighbour, sample)
                except Exception:  # noqa: BLE001 - it is told when the frame is looked at
                    _LOG.debug("Frame %d could not be prefetched", neighbour, exc_info=True)
                    self.unfit.add(neighbour)
                return True
        return False

    def look_at_input(self, sample: int) -> bool:
        """Have a small picture of one more input, evenly spaced over the frames. False where there is no other.

        The model does not run, and an iterator is not read further.
        """
        place = (self._flow.id, sample, self._flow.frame_count)
        if place != self._place:
            self._place, self._photos, self._open = place, {}, spaced(place[2])
        while self._open:
            frame = self._open.pop(0)
            if frame in self.unfit or not self._flow.at_hand(frame):
                continue
            try:
                found = [s.picture for s in self._flow.inputs_of(frame, sample) if isinstance(s.picture, Photo)]
            except Exception:  # noqa: BLE001 - it is told when the frame is looked at
                _LOG.debug("The input of frame %d could not be looked at", frame, exc_info=True)
                self.unfit.add(frame)
                return True
            if not found:  # no photographs here
                self._open = []
                return False
            self._photos[frame] = found[0]
            return True
        return False

    @property
    def photos(self) -> dict[int, Photo]:
        """By frame, what `look_at_input` has found."""
        return self._photos

    @property
    def filled(self) -> bool:
        """Whether it is time to show them: a few more are there, or all."""
        return bool(self._photos) and (not self._open or len(self._photos) % 8 == 0)


def spaced(count: int) -> list[int]:
    """All of `count` frames, or `MOST` evenly spaced ones."""
    cells = min(count, MOST)
    return [(2 * i + 1) * count // (2 * cells) for i in range(cells)]
