"""Forwards in which stages are held: what a call gives out is seen, compared and set. Knows nothing of the trace."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from ..nested import Nested, leaves, reachable, replace
from ..records import StageId
from ..running import hooked, named_modules, version_of
from .gifts import Before, Gift, Given, Key, Way, given_out, plainly
from .perturb import Memory, duplicate, equal_entries, has_memory, same, shake


@dataclass(slots=True)
class Call:
    """One selected call that has just returned, before anybody has read its result."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Nested
    before: Before | None = None

    def tensor(self, key: Key) -> Tensor | None:
        """The gift itself, now; None where there is none any more."""
        if key.place == "attribute":
            value = self.model.get_submodule(key.module).__dict__.get(key.attribute)
            return dict(reachable(value)).get(key.path)
        return dict(reachable(self.result if key.place == "result" else (self.args, self.kwargs))).get(key.path)

    def given_out(self) -> Given:
        """Copies of all that it gave out; the forward must have been told to `look`."""
        return given_out(self.model, self.args, self.kwargs, self.result, self.before or Before())

    def differs(self, given: Given) -> bool:
        """Whether this call gave out something else."""
        with plainly():
            if given.hidden:
                return False
            if [path for path, _ in leaves(self.result)] != [path for path, _ in leaves(given.result)]:
                return True
            found = ((self.tensor(key), key, gift) for key, gift in given.gifts.items())
            return not all(now is not None and _agrees(now.detach(), key, gift) for now, key, gift in found)

    def shaken(self, given: Given, trial: int) -> None:
        """Before the call: noise on all that it is going to rewrite."""
        with plainly():
            for key, gift in given.gifts.items():
                now = self.tensor(key) if gift.how == "rewritten" else None
                if now is not None and has_memory(now):
                    shake(now.data, trial)

    def put(self, given: Given, way: Way) -> Nested:
        """Give out `given` instead. Returns the result to hand on."""
        if given.hidden:
            return self.result
        with plainly():
            memo: dict[int, Memory] = {}
            swaps: dict[int, Tensor] = {}
            lost = [path for path, _ in leaves(self.result)] != [path for path, _ in leaves(given.result)]
            for key, gift in given.gifts.items():
                now = self.tensor(key)
                if now is None or (key.place == "result" and lost):
                    continue
                if id(now) in swaps or _set_in_memory(now, gift, way):
                    continue
                swaps[id(now)] = _standing_in(now, duplicate(gift.value, memo))
            if lost:
                copies = {id(gift.value): duplicate(gift.value, memo) for gift in given.gifts.values()}
                return replace(given.result, lambda t: copies[id(t)])
            self._swap_on_attributes(given, swaps)
            return replace(self.result, lambda t: swaps.get(id(t), t))

    def _swap_on_attributes(self, given: Given, swaps: Mapping[int, Tensor]) -> None:
        for module, attribute in {(k.module, k.attribute) for k in given.gifts if k.place == "attribute"}:
            attributes = self.model.get_submodule(module).__dict__
            attributes[attribute] = replace(attributes[attribute], lambda t: swaps.get(id(t), t))


class Forward:
    """Hooks on the calls that are stages: `stages[path, index]` names them; `visit(stage, call)` gives their results.

    `prepare` is called before each of them. With `look`, what was there before is kept with the call. `order` lists
    the stages in the order in which their calls ended.
    """

    def __init__(
        self,
        model: nn.Module,
        stages: Mapping[tuple[str, int], StageId],
        visit: Callable[[StageId, Call], Nested | None],
        *,
        look: bool = False,
        prepare: Callable[[StageId, Call], None] | None = None,
    ) -> None:
        self.order: list[StageId] = []
        self._model = model
        self._stages = stages
        self._visit = visit
        self._look = look
        self._prepare = prepare
        self._counts: dict[str, int] = {}
        self._open: list[tuple[str, StageId | None, Before | None, BaseException | None]] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        paths = dict.fromkeys(path for path, _ in self._stages)
        modules = dict(named_modules(self._model))
        with hooked([(path, modules[path]) for path in paths], self._enter, self._leave):
            yield

    def _enter(self, path: str, _module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        index = self._counts.get(path, 0)
        self._counts[path] = index + 1
        stage = self._stages.get((path, index))
        before = None
        if self._prepare is not None and stage is not None:
            self._prepare(stage, Call(self._model, args, kwargs, None))
        if self._look and stage is not None:
            with plainly():
                before = Before.now(self._model, args, kwargs)
        self._open.append((path, stage, before, sys.exc_info()[1]))

    def _leave(
        self, path: str, _module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Nested
    ) -> Nested | None:
        while self._open and self._open[-1][0] != path:  # calls that ended with what is no Exception
            self._open.pop()
        if not self._open:
            return None
        _, stage, before, handled = self._open.pop()
        if stage is None or sys.exc_info()[1] is not handled:  # it raised, and gave nothing
            return None
        self.order.append(stage)
        return self._visit(stage, Call(self._model, args, kwargs, result, before))


def lasting(call: Call, given: Given) -> list[tuple[Tensor, int | None, Tensor]]:
    """The tensors that a call passed on, with their version now and a copy: for `written_since`."""
    passed = (
        (k, g) for k, g in given.gifts.items() if g.how == "passed" or (g.where is not None and not g.where.any())
    )
    found = ((call.tensor(key), gift) for key, gift in passed)
    return [(tensor, version_of(tensor), gift.value) for tensor, gift in found if tensor is not None]


def written_since(kept: list[tuple[Tensor, int | None, Tensor]]) -> bool:
    """Whether anybody has written to their memory."""
    with plainly():
        return any(version_of(t) != version or not same(t.detach(), copy) for t, version, copy in kept)


def _agrees(now: Tensor, key: Key, gift: Gift) -> bool:
    """Whether a gift is the recorded one. What was not given, and is left alone in part, is judged by the rest."""
    if key.place == "attribute" and gift.where is not None and now.shape == gift.where.shape:
        return bool((equal_entries(now, gift.value) | ~gift.where).all())
    return same(now, gift.value)


def _set_in_memory(now: Tensor, gift: Gift, way: Way) -> bool:
    """Set the values of `now` where they lie, so that whoever else holds it sees them. Whether that could be done."""
    value = gift.value
    if (gift.how == "passed" and way.apart) or not has_memory(now) or now.is_conj() or now.is_neg():
        return False
    if now.shape != value.shape or now.dtype != value.dtype:
        return False
    if gift.how == "made" and has_memory(value) and not now.is_quantized:
        memory, kept = now.untyped_storage(), value.untyped_storage()
        if memory.nbytes() != kept.nbytes() or now.stride() != value.stride():
            return False
        memory.copy_(kept)
        return True
    target = now.data
    if not way.whole and gift.where is not None:
        value = torch.where(gift.where, value, target)
    for axis, stride in enumerate(now.stride()):
        if stride == 0 and now.shape[axis] > 1:  # one cell, shown many times
            target, value = target.narrow(axis, 0, 1), value.narrow(axis, 0, 1)
    target.copy_(value)
    return True


class _StandIn(torch.autograd.Function):
    """Another value in the place of a tensor; gradients go to the tensor."""

    @staticmethod
    def forward(_ctx: FunctionCtx, _now: Tensor, value: Tensor) -> Tensor:
        return value

    @staticmethod
    def backward(_ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None


def _standing_in(now: Tensor, value: Tensor) -> Tensor:
    if now.requires_grad and now.shape == value.shape:
        with torch.enable_grad():
            value = _StandIn.apply(now, value)  # type: ignore[no-untyped-call]
    if type(now) not in (Tensor, nn.Parameter, type(value)):
        value = value.as_subclass(type(now))
        value.__dict__.update(now.__dict__)
    return value
