"""State that a module holds outside of torch: NumPy's arrays, and generators of random numbers of any library."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

# Larger arrays are taken for data, which a forward reads.
_COPY_BYTES = 2**24

Undo = Callable[[], object]


def undo_of(value: Any) -> Undo | None:
    """What puts `value` back as it is now; None where it is nothing that a forward may change in place."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, torch.Generator):
        state = value.get_state()
        return lambda: value.set_state(state)
    if isinstance(value, random.Random):
        held = value.getstate()
        return lambda: value.setstate(held)
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        bits: Any = value.bit_generator if isinstance(value, np.random.Generator) else value._bit_generator  # noqa: SLF001
        numbers = bits.state
        return lambda: setattr(bits, "state", numbers)
    return None


def _array(array: np.ndarray[Any, Any]) -> Undo | None:
    if array.nbytes > _COPY_BYTES or not array.flags.writeable or array.dtype.hasobject:
        return None
    values = array.copy()

    def undo() -> None:
        if array.shape != values.shape:
            array.resize(values.shape, refcheck=False)
        if array.tobytes() != values.tobytes():
            array[...] = values

    return undo
