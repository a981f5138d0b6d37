"""A sequence of inputs: what the slider scrubs through."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from .errors import InputError
from .nested import Nested
from .running.conditions import RandomState, random_state, set_random_state
from .running.numpy_random import SeededState
from .sweeps import Sweep

# An iterator of unknown length is read so far ahead of the frame that is looked at, so that the slider has a way to go.
_AHEAD = 8
_NO_SEQUENCE = (str, bytes, Mapping, set, frozenset)


@dataclass(frozen=True, slots=True)
class Frames:
    """`get(index)` gives a frame. `length()` may grow while an iterator of unknown length is read.

    `labels` is empty where frames have no names. With `targets`, a frame is an item of a dataset, which may hold more
    than the model takes: see `without_targets`. `at_hand(index)`: to get it reads no iterator any further.
    """

    get: Callable[[int], Nested]
    length: Callable[[], int]
    labels: tuple[str, ...] = ()
    targets: bool = False
    at_hand: Callable[[int], bool] = lambda _index: True

    @property
    def count(self) -> int:
        return self.length()

    def input(self, index: int, model: nn.Module, kwargs: Mapping[str, Nested]) -> Nested:
        """What the model's forward takes of a frame. Raises `InputError` for one that is not there."""
        if not 0 <= index < self.count:
            raise InputError(f"frame {index} is not there: there are {self.count}.")
        item = self.get(index)
        return without_targets(model, item, kwargs) if self.targets else item


def single(x: Nested) -> Frames:
    return Frames(lambda _index: x, lambda: 1)


def frames_of(source: Any, count: int | None = None, labels: Sequence[str] | None = None) -> Frames:
    """Frames from what the user has. `count` limits them, and `labels` gives each a name.

    - a list, a sweep, or anything else with `len()` and an index: its items are inputs of the model
    - a tensor is split along its first axis, and the batch axis is kept
    - a `Dataset` holds samples: each gets a batch axis of one, and what the model takes of it is taken
    - a `DataLoader` gives batches; it is gone through once, in its own order, and remembered
    - a generator or other iterator is taken as far as it is looked at, and remembered; without `count` the number of
      frames grows until it ends
    - a callable `index -> input` needs `count`

    Items that are made when asked for draw the same random numbers each time, and the user's generators are left as
    they were. Raises `InputError`.
    """
    _check_count(count)
    if isinstance(source, Sweep) and labels is None:
        labels = source.labels[:count]
    made = _stream(source, count, labels) if _is_stream(source) else _indexed(source, count)
    if made.count == 0:
        raise InputError("frames is empty: pass at least one input.")
    if labels is not None and len(labels) != made.count:
        raise InputError(f"frame_labels has {len(labels)} texts for {made.count} frames: give one for each.")
    return Frames(made.get, made.length, tuple(map(str, labels or ())), made.targets, made.at_hand)


def without_targets(model: nn.Module, item: Nested, kwargs: Mapping[str, Nested]) -> Nested:
    """Of a dataset's item, what the model's forward takes: of a tuple or list as many of the first entries as the
    forward has arguments that must be given, at least one; of a mapping the keys that it has names for."""
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    kinds = inspect.Parameter
    if isinstance(item, Mapping):
        known = {p.name for p in parameters if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
        taken = {key: value for key, value in item.items() if key in known}
        return taken if taken and not any(p.kind is kinds.VAR_KEYWORD for p in parameters) else item
    if not isinstance(item, (tuple, list)) or not item:
        return item
    positional = [p for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    needed = max(1, sum(p.default is kinds.empty and p.name not in kwargs for p in positional))
    return item[0] if needed == 1 else tuple(item[:needed])


def _check_count(count: object) -> None:
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        raise InputError(f"frame_count is {count!r}: use a whole number of at least 1.")


def _is_stream(source: Any) -> bool:
    # Every Dataset has a `__getitem__`, which an iterable one only refuses.
    if isinstance(source, (DataLoader, IterableDataset)):
        return True
    indexed = hasattr(source, "__getitem__") or callable(source) or isinstance(source, _NO_SEQUENCE)
    return hasattr(source, "__iter__") and not indexed


def _indexed(source: Any, count: int | None) -> Frames:
    if isinstance(source, Tensor):
        if source.dim() == 0:
            raise InputError("frames is a tensor without a first axis: pass a list of inputs, or stack them.")
        return Frames(lambda i: source[i : i + 1], _limited(source.shape[0], count))
    if hasattr(source, "__len__") and hasattr(source, "__getitem__") and not isinstance(source, _NO_SEQUENCE):
        if isinstance(source, Dataset):
            return Frames(_seeded(lambda i: _batch_of_one(source[i])), _limited(len(source), count), targets=True)  # type: ignore[arg-type]
        plain = isinstance(source, (list, tuple, Sweep))
        return Frames(source.__getitem__ if plain else _seeded(source.__getitem__), _limited(len(source), count))
    if callable(source):
        if count is None:
            raise InputError("frames is a callable: say how many there are with frame_count=.")
        return Frames(_seeded(source), lambda: count)
    raise InputError(
        f"frames is a {type(source).__name__}: pass a list, a tensor, a dataset, a DataLoader, a generator, or a "
        "callable with frame_count=."
    )


def _limited(length: int, count: int | None) -> Callable[[], int]:
    if count is not None and count > length:
        raise InputError(f"frame_count is {count}, but there are only {length} frames.")
    number = length if count is None else count
    return lambda: number


def _batch_of_one(item: Nested) -> Nested:
    try:
        return default_collate([item])
    except TypeError as error:
        raise InputError(f"An item of the dataset cannot be made a batch: {error}") from error


def _stream(source: Any, count: int | None, labels: Sequence[str] | None) -> Frames:
    if count is None and labels is not None:
        count = len(labels)
    if isinstance(source, DataLoader):
        with suppress(TypeError):  # no length over a dataset that is an iterable itself
            count = len(source) if count is None else min(count, len(source))
    samples = isinstance(source, IterableDataset)
    stream = _Stream(source, count, _batch_of_one if samples else lambda item: item)
    return Frames(stream.get, stream.length, (), samples or isinstance(source, DataLoader), stream.at_hand)


class _Stream:
    """The items of an iterator, taken as far as they are asked for, and remembered."""

    def __init__(self, source: Iterable[Nested], count: int | None, made: Callable[[Nested], Nested]) -> None:
        self._count = count
        self._made = made
        self._taken: list[Nested | _Raised] = []
        self._ended = False
        self._random = random_state(_device())
        with _drawing_from(self._random):
            self._items = iter(source)
            self._random = random_state(_device())
        self._take(1)

    def length(self) -> int:
        return len(self._taken) if self._ended or self._count is None else self._count

    def at_hand(self, index: int) -> bool:
        return self._ended or index < len(self._taken)

    def get(self, index: int) -> Nested:
        self._take(index + 1 if self._count is not None else index + 1 + _AHEAD)
        if index >= len(self._taken):
            raise InputError(f"frame {index} is not there: the frames ended after {len(self._taken)}.")
        item = self._taken[index]
        if isinstance(item, _Raised):
            raise item.error
        return item

    def _take(self, number: int) -> None:
        if self._ended or len(self._taken) >= number:
            return
        with _drawing_from(self._random):
            while len(self._taken) < number and not self._ended:
                try:
                    self._taken.append(self._made(next(self._items)))
                except StopIteration:
                    self._ended = True
                except Exception as error:  # noqa: BLE001 - it is told when this frame is looked at, not an earlier one
                    self._taken.append(_Raised(error))
            self._random = random_state(_device())


@dataclass(frozen=True, slots=True)
class _Raised:
    error: Exception


def _seeded(get: Callable[[int], Nested]) -> Callable[[int], Nested]:
    """Each index has random numbers of its own, the same each time: a frame that is looked at twice is one input."""
    seed = torch.initial_seed()

    def seeded(index: int) -> Nested:
        own = (seed + index) % 2**32
        state = RandomState(
            MappingProxyType({"cpu": torch.Generator().manual_seed(own).get_state()}),
            random.Random(own).getstate(),  # noqa: S311 - nothing secret
            SeededState(own),
        )
        with _drawing_from(state):
            return get(index)

    return seeded


@contextmanager
def _drawing_from(state: RandomState) -> Iterator[None]:
    """Random numbers come from `state`; afterwards the user's generators are as they were."""
    before = random_state(_device())
    set_random_state(state)
    try:
        yield
    finally:
        set_random_state(before)


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_initialized() else "cpu")
