"""What stays the same while inputs change: channels, their order, and the range of the colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .colours import colour_range
from .records import StageId, Summary


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
