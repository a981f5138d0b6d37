"""The state of NumPy's global generator. Reading and setting it take longer than a small model runs: a look at its
memory tells first whether there is a need to."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.random  # else the first pass waits for it

# 624 words and a position.
_BYTES = 625 * 4
_MERSENNE = "MT19937"


class GlobalState:
    """As it was when this was made."""

    __slots__ = ("_bits", "_memory", "_state")

    def __init__(self) -> None:
        self._state: dict[str, Any] = np.random.get_state(legacy=False)  # noqa: NPY002
        self._bits, memory = _memory()
        # A normal number that is kept for the next call lies elsewhere; without one, drawing any changes the memory.
        self._memory = memory if memory == _expected(self._state) and not self._state.get("has_gauss", 1) else None

    def holds(self) -> bool:
        """Whether it is known to be the present state."""
        bits, memory = _memory()
        return self._memory is not None and bits is self._bits and memory == self._memory

    def restore(self) -> None:
        """Set it again, if it may have changed."""
        if not self.holds():
            np.random.set_state(self._state)  # noqa: NPY002


class SeededState:
    """As it is after `np.random.seed(seed)`."""

    __slots__ = ("_seed",)

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def holds(self) -> bool:
        return False

    def restore(self) -> None:
        np.random.seed(self._seed)  # noqa: NPY002


def _memory() -> tuple[Any, bytes | None]:
    """The bit generator, and its state as it lies in memory; None of a kind that is not known."""
    numpy_random: Any = np.random  # whose stubs leave this out
    bits = numpy_random.get_bit_generator()
    if type(bits).__name__ != _MERSENNE:
        return bits, None
    return bits, ctypes.string_at(bits.ctypes.state_address, _BYTES)


def _expected(state: dict[str, Any]) -> bytes | None:
    """What the memory holds in this state, as NumPy lays it out now."""
    if state.get("bit_generator") != _MERSENNE:
        return None
    inside = state["state"]
    return np.asarray(inside["key"], np.uint32).tobytes() + np.int32(inside["pos"]).tobytes()
