"""Small activations are copied in the forward, and reduced together after it: call by call that takes far longer."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ..capture.reducers import Reduction, reduce_together
from ..capture.values import plainly
from ..records import Summary

# So many elements wait at most.
_MOST = 1 << 20

Done = Callable[[Tensor, Summary], None]


class Waiting:
    """`done(tensor, summary)` follows for each reduction that was added, in order, at the latest with `finish`."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Reduction, Done]] = []
        self._elements = 0

    def add(self, reduction: Reduction, done: Done) -> None:
        self._waiting.append((reduction, done))
        self._elements += reduction.tensor.numel()
        if self._elements > _MOST:
            self.finish()

    def finish(self) -> None:
        waiting, self._waiting, self._elements = self._waiting, [], 0
        if not waiting:
            return
        with plainly():
            summaries = reduce_together([reduction for reduction, _ in waiting])
            for (reduction, done), summary in zip(waiting, summaries, strict=True):
                done(reduction.tensor, summary)
