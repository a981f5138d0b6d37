"""What the dimensions of attention weights are: samples, what each was cut into, heads, queries and keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..records import Axes, AxisName


@dataclass(frozen=True, slots=True)
class Layout:
    """`names` and `shape` of the weights, of which the last two are query and key; `batch` says whether the first is
    the sample. `lead` is what the leading dimensions are in memory: heads may be folded into the batch."""

    names: tuple[AxisName, ...]
    shape: tuple[int, ...]
    lead: tuple[int, ...]

    @property
    def batched(self) -> bool:
        return self.names[:1] == ("batch",)

    @property
    def samples(self) -> int:
        return self.shape[0] if self.batched else 1

    @property
    def items(self) -> int:
        """Heads of one sample; of all windows, where the sample was cut into windows."""
        return math.prod(self.shape[int(self.batched) : -2])

    @property
    def axes(self) -> Axes:
        return Axes(self.names, "attention", "known: the weights of an attention")

    def index(self, sample: int, item: int) -> tuple[int, ...]:
        """Place along `lead`. Raises `IndexError`."""
        if not 0 <= item < self.items:
            raise IndexError(f"There is no head {item}: there are {self.items}.")
        flat = self.first(sample) + item
        places = []
        for size in reversed(self.lead):
            places.append(flat % size)
            flat //= size
        return tuple(reversed(places))

    def first(self, sample: int) -> int:
        """Number of a sample's first head among all. A batch of one is shared by all samples. Raises `IndexError`."""
        at = sample if self.samples > 1 else 0
        if not 0 <= at < self.samples:
            raise IndexError(f"There is no sample {sample} in a batch of {self.samples}.")
        return at * self.items


def laid_out(lead: Sequence[int], queries: int, keys: int, batch: int | None) -> Layout:
    """Names for the leading dimensions of weights: `batch` is the model's batch size, None when it is not known.

    The first dimension is cut into samples and what each was folded with: heads where it is the only one, else windows.
    """
    first, rest = (lead[0], tuple(lead[1:])) if lead else (1, ())
    shape: tuple[int, ...]
    names: tuple[AxisName, ...]
    if not lead:
        names, shape = ("head",), (1,)
    elif batch is None or first % batch:
        names, shape = (("batch", *_others(rest)), tuple(lead)) if rest else (("head",), tuple(lead))
    elif not rest:
        names, shape = ("batch", "head"), (batch, first // batch)
    elif first == batch:
        names, shape = ("batch", *_others(rest)), tuple(lead)
    else:
        names, shape = ("batch", "other", *_others(rest)), (batch, first // batch, *rest)
    return Layout((*names, "query", "key"), (*shape, queries, keys), tuple(lead))


def _others(rest: Sequence[int]) -> tuple[AxisName, ...]:
    other: AxisName = "other"
    return (*(other for _ in rest[1:]), "head")
