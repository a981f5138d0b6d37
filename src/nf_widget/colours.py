"""The range of the colours of a stage, shared by its channels."""

from __future__ import annotations

from typing import Final

from .records import Statistics

# A few stray negatives (a GELU's tail, rounding) do not make a stage signed.
_SIGNED_FROM: Final = 0.002
# The range of float64 is twice its largest number, and would not be finite.
_LARGEST: Final = 8e307


def colour_range(statistics: Statistics | None) -> tuple[float, float]:
    """One range per stage, with zero where the colours have their middle or their start."""
    if statistics is None:
        return 0.0, 1.0
    signed = statistics.negatives > _SIGNED_FROM
    high = max(abs(statistics.low), abs(statistics.high)) if signed else statistics.high
    if not high > 0:  # 99 % of all values are the same, or there are none
        high = max(abs(statistics.minimum), abs(statistics.maximum)) if signed else statistics.maximum
    high = min(high, _LARGEST) if high > 0 else 1.0
    return (-high, high) if signed else (0.0, high)
