"""Names of tokens: what the user says, or what the tokenizer made of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..records import Axes, Picture, Statistics, TokenStrip, VectorStrip

Labels = Sequence[str] | Sequence[Sequence[str]]


def labels_of(said: Labels | None, tokenized: Sequence[str], sample: int) -> tuple[str, ...]:
    """Of one sample: `said` holds the tokens of all samples alike, or of each; without it, those of the tokenizer."""
    if said is None:
        return tuple(tokenized)
    if all(isinstance(label, str) for label in said):
        return tuple(map(str, said))
    return tuple(map(str, said[sample])) if sample < len(said) else ()


def with_labels(picture: Picture, axes: Axes, statistics: Statistics | None, labels: tuple[str, ...]) -> Picture:
    """The same picture with its tokens named, where there are as many of them as names."""
    match picture:
        case TokenStrip(size=(tokens, _)) if tokens == len(labels):
            return replace(picture, labels=labels)
        case VectorStrip(size=tokens) if "token" in axes.names and tokens == len(labels) and _are_ids(statistics):
            return TokenStrip(picture.values[:, None], (tokens, 1), picture.pooled, None, 0, labels=labels)
        case _:
            return picture


def _are_ids(statistics: Statistics | None) -> bool:
    """Masks and segment numbers have one entry a token too, but are no text."""
    return statistics is not None and statistics.minimum >= 0 and statistics.maximum > 1
