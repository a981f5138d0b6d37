"""Which op a tensor's value came from, through views and in-place writes.

A tensor is tagged with the op that made it. Tags are looked up by `id`, and believed only while the weak reference
beside them still leads to that very tensor: ids of freed tensors come back. Memory that is written to gets a history,
so that a write through one view reaches every other view that overlaps it, and nothing else.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from ..records import CallId, OpId
from ..running import is_wrapped
from .writes import History, after_writes, region_of

# The op that made a tensor's value (None for a constant), beside a weak reference to the tensor.
Tag: TypeAlias = "tuple[weakref.ref[Tensor], OpId | None]"

_PRUNE_EVERY = 8_192


class _View(NamedTuple):
    """`below`: the op of the tensor that is shown; `sources`: what its values came from when the view was made."""

    below: OpId | None
    call: CallId | None
    sources: frozenset[OpId]


class Provenance:
    """Tags of tensors and histories of memory during one pass. Call `close` when done."""

    def __init__(self, rest_of: Callable[[OpId, tuple[OpId, ...]], OpId]) -> None:
        """`rest_of(op, parents)` writes down an op like `op`, of which only what came from `parents` is left."""
        self._rest_of = rest_of
        self._constants: dict[int, Tensor] = {}
        self._constant_memory: set[int] | None = None
        self._tags: dict[int, Tag] = {}
        # Beside each history a C++ weak pointer, which keeps the key from being used for other memory.
        self._histories: dict[int, tuple[int, History]] = {}
        # Memory that Python may write to unseen, with such a pointer each.
        self._exposed: dict[int, int] = {}
        self._last_write = -1
        # Ops that only show memory with a history.
        self._views: dict[OpId, _View] = {}
        # What was left of such an op when it was read, by the op and what it came from; and that op, by what was left.
        self._rests: dict[tuple[OpId, frozenset[OpId]], OpId] = {}
        self._whole: dict[OpId, OpId] = {}
        # Tags of tensors without elements, which may be given some unseen.
        self._hollow: dict[int, Tag] = {}
        self._next_prune = _PRUNE_EVERY

    @property
    def any_write(self) -> bool:
        return bool(self._histories)

    def constants(self, tensors: Iterable[Tensor]) -> None:
        """These were there before the pass, and outlive it: they come from nothing until something writes to them."""
        self._constants.update((id(tensor), tensor) for tensor in tensors)

    def tag(self, tensor: Tensor, op: OpId | None) -> None:
        """`tensor`'s present value comes from `op`; None for a constant."""
        tags = self._tags
        tags[id(tensor)] = (weakref.ref(tensor), op)
        if len(tags) > self._next_prune:
            self._prune()

    def hollow(self, tensor: Tensor, op: OpId) -> None:
        """`op` made an empty tensor. Copying and unpickling let such a one show other memory later, unseen."""
        self._hollow[id(tensor)] = (weakref.ref(tensor), op)

    def op_of(self, tensor: Tensor) -> OpId | None:
        """The one op that the value of `tensor` comes from; None where there is none, or nobody knows, or several.

        Looks at no property of the tensor while nothing was written to in the pass.
        """
        tag = self._tags.get(id(tensor))
        if tag is None or tag[0]() is not tensor or (self._histories and self._may_have_changed(tensor, tag[1])):
            return None
        return tag[1]

    def ops_of(self, tensors: Iterable[Tensor]) -> list[OpId] | None:
        """The ops that the values of `tensors` come from, constants left out; None where that is not simply known."""
        found: list[OpId] = []
        tags, constants, histories = self._tags, self._constants, self._histories
        for tensor in tensors:
            tag = tags.get(id(tensor))
            if tag is not None and tag[0]() is tensor:
                op = tag[1]
                if op is not None:
                    found.append(op)
            elif id(tensor) not in constants:
                return None
            else:
                op = None
            if histories and self._may_have_changed(tensor, op):
                return None
        return found

    def has_history(self, tensor: Tensor) -> bool:
        """Whether memory of this tensor was written to in the pass."""
        return bool(self._histories) and address(tensor) in self._histories

    def parents(self, tensors: Iterable[Tensor], found: list[OpId]) -> list[Tensor]:
        """Add to `found` the ops that the values of `tensors` come from. Returns the tensors never seen before."""
        unknown: list[Tensor] = []
        tags, constants, histories = self._tags, self._constants, self._histories
        for tensor in tensors:
            tag = tags.get(id(tensor))
            if tag is not None and tag[0]() is tensor:
                op = tag[1]
            elif id(tensor) in constants:
                op = None
            else:
                unknown.append(tensor)
                continue
            if histories:
                found += self._seen(tensor, op)
            elif op is not None:
                found.append(op)
        return unknown

    def view_parents(self, view: Tensor, base: Tensor) -> list[OpId] | None:
        """Ops that the values in `view` come from, if it shows memory of `base` that was written to; else None."""
        if self._history(view) is None or address(base) != address(view):
            return None
        return self._seen(view, self._op(base))

    def show(self, op: OpId, view: Tensor, base: Tensor, call: CallId | None) -> None:
        """`op` ran in `call` and only shows memory of `base`, of which later writes may hide a part."""
        if self._history(view) is None or address(base) != address(view):
            return
        below = self._op(base)
        known = None if below is None else self._views.get(below)
        if known is not None and known.call == call:
            below = known.below
        self._views[op] = _View(below, call, frozenset(self._seen(view, below)))

    def made_at(self, op: OpId) -> OpId:
        """`op`, or for what is left of an op, that op."""
        return self._whole.get(op, op)

    def adopt(self, tensor: Tensor) -> bool:
        """Tag a tensor never seen before that shows memory which is known. Whether it does."""
        empty = self._hollow.get(id(tensor))
        if empty is not None and empty[0]() is tensor and tensor.numel() == 0:
            self.tag(tensor, empty[1])
            return True
        within = unwrapped(tensor)
        known = self._tags.get(id(within))
        if within is not tensor and known is not None and known[0]() is within:
            found = self._seen(within, known[1])
            if len(found) < 2:
                self.tag(tensor, found[0] if found else None)
                return True
        memory = address(within)
        if not memory:
            return False
        if self._is_constant(memory):
            self.tag(tensor, None)
            return True
        self._forget_dead()
        made = [op for reference, op in self._tags.values() if address(reference()) == memory]
        if made:
            self.tag(tensor, min((op for op in made if op is not None), default=None))
        return bool(made)

    def write(self, tensor: Tensor, op: OpId, target: Tensor | None) -> None:
        """`op` wrote to `tensor`, or to the part of it that the view `target` shows."""
        memory = address(tensor)
        if not memory:
            self.tag(tensor, op)
            return
        known = self._tags.get(id(tensor))
        if target is None:
            self.tag(tensor, op)
        elif known is None or known[0]() is not tensor:
            self.tag(tensor, None)
        if memory not in self._histories:
            if len(self._histories) >= self._next_prune:
                self._prune()
            self._histories[memory] = (tensor.untyped_storage()._weak_ref(), [])  # type: ignore[assignment]
        history = self._histories[memory][1]
        region = region_of(tensor if target is None else target)
        if history and region is not None and history[-1][1] == region:
            history.pop()
        history.append((op, region))
        self._last_write = op

    def expose(self, tensors: Iterable[Tensor]) -> None:
        """Python has got the memory of these."""
        for tensor in tensors:
            memory = address(tensor)
            if memory and memory not in self._exposed:
                self._exposed[memory] = tensor.untyped_storage()._weak_ref()  # type: ignore[assignment]

    def is_private(self, tensor: Tensor) -> bool:
        """Whether its memory is the pass's own, and nobody can have written to it unseen."""
        memory = address(tensor)
        return not self._is_constant(memory) and memory not in self._exposed

    def _is_constant(self, memory: int) -> bool:
        if self._constant_memory is None:
            self._constant_memory = {address(constant) for constant in self._constants.values()}
        return memory in self._constant_memory

    def close(self) -> None:
        for weak in (*(weak for weak, _ in self._histories.values()), *self._exposed.values()):
            torch.UntypedStorage._free_weak_ref(weak)
        self._exposed.clear()
        self._histories.clear()
        self._tags.clear()
        self._hollow.clear()
        self._views.clear()
        self._rests.clear()
        self._whole.clear()
        self._constants.clear()

    def _op(self, tensor: Tensor) -> OpId | None:
        tag = self._tags.get(id(tensor))
        return tag[1] if tag is not None and tag[0]() is tensor else None

    def _seen(self, shown: Tensor, op: OpId | None) -> list[OpId]:
        """Ops of the values in the memory that is `shown`, which came from `op` and from writes since.

        Of an op that only shows memory, later writes may have left a part, which came from less than the whole did.
        """
        history = self._history(shown)
        if history is None:
            return [] if op is None else [op]
        view = None if op is None else self._views.get(op)
        if view is None or op is None:
            return after_writes(op, history, shown)
        found = self._seen(shown, view.below)
        older = frozenset(each for each in found if self.made_at(each) < op)
        newer = [each for each in found if each not in older]
        if older == view.sources or not older:
            return [op, *newer] if older or not view.sources else newer
        if (op, older) not in self._rests:
            rest = self._rests[op, older] = self._rest_of(op, tuple(sorted(older)))
            self._whole[rest] = op
        return [self._rests[op, older], *newer]

    def _may_have_changed(self, tensor: Tensor, op: OpId | None) -> bool:
        """Whether the value that `op` gave `tensor` may have been written over since, or be a view of such memory."""
        if op is not None and op >= self._last_write:
            return op in self._views
        history = self._history(tensor)
        return history is not None and (op is None or history[-1][0] > op or op in self._views)

    def _history(self, tensor: Tensor) -> History | None:
        entry = self._histories.get(address(tensor))
        return None if entry is None else entry[1]

    def _forget_dead(self) -> None:
        for key in [key for key, tag in self._tags.items() if tag[0]() is None]:
            del self._tags[key]

    def _prune(self) -> None:
        self._forget_dead()
        for key in [key for key, (weak, _) in self._histories.items() if torch.UntypedStorage._expired(weak)]:
            torch.UntypedStorage._free_weak_ref(self._histories.pop(key)[0])
        self._next_prune = max(_PRUNE_EVERY, 2 * max(len(self._tags), len(self._histories)))


def unwrapped(tensor: Tensor) -> Tensor:
    """What it stands for, in the end, inside of a transformed function."""
    while is_wrapped(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor


def address(tensor: Tensor | None) -> int:
    """Identity of a tensor's memory while it lives; 0 without memory of its own (sparse, functorch wrappers)."""
    if tensor is None:
        return 0
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return 0
