"""The shape of a representation: how many positions, how many channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ..records import Leaf, Op, OpId, Trace
from .operations import channel_axis, keeps_axes

# A stride of 2 divides the positions by 2 or more; borders and special tokens change them by less than this.
_SAME_LEVEL = 1.5
_NO_CHANNELS = 0


@dataclass(frozen=True, slots=True)
class Form:
    """`positions`: places (pixels, voxels, tokens; 1 for a vector) of one sample; `channels`: the width at each."""

    positions: int
    channels: int

    def same_level(self, other: Form) -> bool:
        """At one resolution, but for borders and special tokens."""
        small, large = sorted((self.positions, other.positions))
        return large < small * _SAME_LEVEL or large == small


class Forms:
    """Forms of the leaves of one trace."""

    def __init__(self, trace: Trace) -> None:
        self._axes = _channel_axes(trace.ops)
        self._known: dict[tuple[tuple[int, ...], int | None], Form] = {}
        first = main_leaf([leaf for leaf in trace.inputs if len(leaf.spec.shape) > 1] or trace.inputs)
        self._batch = max(1, first.spec.shape[0]) if first is not None and first.spec.shape else 1

    def of(self, leaf: Leaf) -> Form:
        key = leaf.spec.shape, self._axes[leaf.ops[0]] if leaf.ops else None
        form = self._known.get(key)
        if form is None:
            form = self._known[key] = self._form(*key)
        return form

    def _form(self, shape: tuple[int, ...], axis: int | None) -> Form:
        unbatched = axis is not None and -axis == len(shape) > 1
        if len(shape) < 3 and not unbatched:
            return Form(1, shape[-1] if shape else 1)
        if axis == _NO_CHANNELS:
            return Form(max(1, prod(shape) // self._batch), 1)
        if axis is None or -axis > len(shape):
            axis = 1 - len(shape) if len(shape) >= 4 else -1
        # Windows and frames folded into the batch axis are positions too.
        samples = 1 if unbatched else self._batch
        return Form(max(1, prod(shape) // max(1, shape[axis]) // samples), shape[axis])


def main_leaf(leaves: Sequence[Leaf]) -> Leaf | None:
    """The first leaf of floating point, else the first."""
    for leaf in leaves:
        if is_floating(leaf):
            return leaf
    return leaves[0] if leaves else None


def is_floating(leaf: Leaf) -> bool:
    return "float" in leaf.spec.dtype or "complex" in leaf.spec.dtype


def sources(leaf: Leaf | None) -> tuple[OpId, ...]:
    return leaf.ops if leaf is not None else ()


def _channel_axes(ops: Sequence[Op]) -> list[int | None]:
    """For each op, the axis of its first result that holds the channels, from the end; None where that is not known."""
    axes: list[int | None] = []
    for op in ops:
        axis = channel_axis(op.name)
        if axis is None and op.parents and op.outputs:
            first = op.parents[0]
            axis = _inherited(op, ops[first], axes[first])
        elif axis is not None and op.parents and op.outputs and axes[op.parents[0]] is None:
            first = op.parents[0]
            same_rank = ops[first].outputs and len(ops[first].outputs[0].shape) == len(op.outputs[0].shape)
            # What a convolution reads has its channels where its result has them.
            axes[first] = axis if same_rank else None
        axes.append(axis)
    return axes


def _inherited(op: Op, parent: Op, axis: int | None) -> int | None:
    if axis is None or not parent.outputs:
        return None
    before, after = parent.outputs[0].shape, op.outputs[0].shape
    if len(before) == len(after):
        return axis if keeps_axes(op.name) else None
    # A squeeze, a class map: what is left are positions.
    gone = -len(before) <= axis < -1 and before[:axis] + before[axis + 1 :] == after
    return _NO_CHANNELS if gone else None
