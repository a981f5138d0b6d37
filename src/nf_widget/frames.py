"""A sequence of inputs: what the slider scrubs through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from .errors import InputError
from .nested import Nested


@dataclass(frozen=True, slots=True)
class Frames:
    """`get(index)` gives the input of a frame, as the model takes it."""

    count: int
    get: Callable[[int], Nested]
    labels: tuple[str, ...]


def single(x: Nested) -> Frames:
    return Frames(1, lambda _index: x, ("",))


def frames_of(source: Any, count: int | None = None, labels: Sequence[str] | None = None) -> Frames:
    """Frames from a list, a tensor (split along its first axis, batch axis kept), anything with `len()` and an index,
    or a callable `index -> input` with `count`. Raises `InputError`."""
    if isinstance(source, Tensor):
        if source.dim() == 0:
            raise InputError("frames is a tensor without a first axis: pass a list of inputs, or stack them.")
        length, get = source.shape[0], lambda i: source[i : i + 1]
    elif callable(source) and not hasattr(source, "__getitem__"):
        if count is None:
            raise InputError("frames is a callable: say how many there are with frame_count=.")
        length, get = count, source
    elif hasattr(source, "__len__") and hasattr(source, "__getitem__") and not isinstance(source, (str, dict)):
        length, get = len(source), lambda i: source[i]
    else:
        raise InputError(
            f"frames is a {type(source).__name__}: pass a list, a tensor, a dataset with len(), or a callable with "
            "frame_count=. An iterator can be made a list: frames=list(...)."
        )
    if length == 0:
        raise InputError("frames is empty: pass at least one input.")
    if labels is not None and len(labels) != length:
        raise InputError(f"frame_labels has {len(labels)} texts for {length} frames: give one for each.")
    return Frames(int(length), get, tuple(map(str, labels)) if labels is not None else tuple(map(str, range(length))))
