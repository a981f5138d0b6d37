"""A tensor that several stages give out, such as the last stage and the model itself, is reduced once."""

from __future__ import annotations

import weakref
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from torch import Tensor

from ..capture.reducers import Reduction, reduce
from ..records import Leaf, OpId, Stage, Summary, Trace
from ..running import version_of


@dataclass(frozen=True, slots=True)
class _Done:
    """`tensor` keeps nothing alive. `how` it was looked at: see `_how`."""

    tensor: weakref.ref[Tensor]
    version: int
    how: tuple[object, ...]
    summary: Summary


class Repeats:
    """Of one pass. The same tensor is one that came from the same op, and has not been written to since."""

    def __init__(self, trace: Trace, private: AbstractSet[str]) -> None:
        """`private` are the paths of outputs that nobody writes to unseen."""
        self._shared = {leaf.ops for leaf in trace.outputs if leaf.path in private and is_whole(leaf, trace)}
        self._done: dict[tuple[OpId, ...], _Done] = {}

    def reduce(self, stage: Stage, asked: Reduction) -> Summary:
        """`reduce`, or what it gave for another stage."""
        ops, tensor, version = self._ops(stage, asked.leaf), asked.tensor, version_of(asked.tensor)
        known = self._done.get(ops)
        if known is not None and known.tensor() is tensor and (known.version, known.how) == (version, _how(asked)):
            return replace(known.summary, leaf=asked.leaf, axes=asked.axes)
        summary = reduce(tensor, asked.axes, leaf=asked.leaf, sample=asked.sample, pinned=asked.pinned)
        # Where the axes did not fit the tensor, its summary has words of its own for that.
        if ops and version is not None and summary.axes == asked.axes:
            self._done[ops] = _Done(weakref.ref(tensor), version, _how(asked), summary)
        return summary

    def _ops(self, stage: Stage, path: str) -> tuple[OpId, ...]:
        """The op that this leaf and an output came from; none where there is none."""
        leaves = stage.leaves if stage.kind == "output" else [leaf for leaf in stage.leaves if leaf.path == path]
        return leaves[0].ops if len(leaves) == 1 and leaves[0].ops in self._shared else ()


def is_whole(leaf: Leaf, trace: Trace) -> bool:
    """Whether it is all that one op made, so that another leaf of this op is the same tensor."""
    return len(leaf.ops) == 1 and trace.ops[leaf.ops[0]].outputs == (leaf.spec,)


def _how(asked: Reduction) -> tuple[object, ...]:
    """Dimensions, whatever they were told from, sample and channels."""
    return replace(asked.axes, reason=""), asked.sample, None if asked.pinned is None else tuple(asked.pinned)
