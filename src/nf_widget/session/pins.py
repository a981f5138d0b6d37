"""What stays the same while inputs change: channels, their order, and the range of the colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..colours import colour_range
from ..records import FeatureMaps, StageId, Summary, TokenStrip, VolumeSlices


class Pins:
    """What is shown first of a stage sets its channels, their order and its colours for every later input.

    `channels` and `colours` say whether they are held; both may be changed at any time.
    """

    def __init__(self) -> None:
        self.channels = True
        self.colours = True
        self._bases: dict[Any, Any] = {}
        self._first: dict[StageId, dict[str, Summary]] = {}

    @property
    def bases(self) -> dict[Any, Any]:
        """By stage and leaf, what the components of its channels are: filled by who asks for them."""
        return self._bases if self.channels else {}

    def of(self, stage: StageId) -> Mapping[str, Summary]:
        """By leaf, the summaries whose channels and order a new one takes over."""
        return self._first.get(stage, {}) if self.channels else {}

    def remember(self, stage: StageId, summaries: Sequence[Summary]) -> None:
        self._first.setdefault(stage, {summary.leaf: summary for summary in summaries})

    def coloured(self, stage: StageId, summaries: Sequence[Summary]) -> tuple[Summary, ...]:
        """With the colours of the first ones, or each with its own."""
        first = self._first.get(stage, {}) if self.colours else {}
        return tuple(_with_scale(summary, first) for summary in summaries)


def _with_scale(summary: Summary, first: Mapping[str, Summary]) -> Summary:
    if summary.axes.kind == "attention":  # the scale of attention weights is that of probabilities
        return summary
    scale = _scale(first.get(summary.leaf, summary), own=summary.leaf not in first)
    return summary if scale == summary.scale else replace(summary, scale=scale)


def _scale(summary: Summary, *, own: bool) -> tuple[float, float] | None:
    return colour_range(summary.statistics) if own else summary.scale


def shown_channels(summary: Summary) -> tuple[int, ...] | None:
    """The channels in its picture, with the places of the slices of a volume; None where it has none of its choice."""
    match summary.picture:
        case FeatureMaps(channels=channels):
            return channels
        case TokenStrip(maps=FeatureMaps(channels=channels)):
            return channels
        case VolumeSlices(channel=channel, planes=planes):
            return (channel, *(plane.index for plane in planes))
        case _:
            return None


def pinned_to(pin: Summary | None, summary: Summary) -> Summary:
    """`summary` with the colours, and the order of the channels, of `pin`."""
    if pin is None:
        return replace(summary, scale=colour_range(summary.statistics))
    ranking = summary.ranking
    if ranking is not None and pin.ranking is not None and len(ranking.order) == len(pin.ranking.order):
        ranking = replace(ranking, order=pin.ranking.order)
    return replace(summary, scale=pin.scale, ranking=ranking)
