"""Forwards in which stages are held: what a call gives out is seen, compared and set. Knows nothing of the trace.

A call gives out the tensors of its result, the arguments that it rewrote in place, and what it left in the containers
that it was given or on attributes of modules. Each is a **gift**.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

from ..nested import Nested, leaves, reachable, replace
from ..records import StageId
from ..running.hooks import hooked
from .perturb import Memory, address, duplicate, equal_entries, has_memory, is_wrapped, perturb, same, shake

How = Literal["made", "rewritten", "passed"]


class Way(NamedTuple):
    """How a stage is held. Rewritten tensors `whole`, or only where the call was seen to change them; tensors that
    were passed on `apart`, in memory of their own, or in the memory that they share with others. With `values`, the
    Python values that the forward takes out of tensors are held too."""

    whole: bool = True
    apart: bool = True
    values: bool = False


class Key(NamedTuple):
    """Where a gift is found: in the result, in the arguments, or on an attribute of the module `module`."""

    place: Literal["result", "argument", "attribute"]
    path: str
    module: str = ""
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class Gift:
    """`value` is a copy. `how`: in memory that the call made; written into memory that was there; or an alias of it.

    `where` marks the entries that the call was seen to change, if not all of them: the others it may have written too.
    """

    value: Tensor
    how: How
    where: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """All that one call gave out: copies, and the result's containers with copies in them.

    `hidden`: some of it cannot be looked at, since the call ran inside of a transformed function (`vmap`).
    """

    gifts: Mapping[Key, Gift]
    result: Nested
    hidden: bool = False

    @property
    def ambiguous(self) -> bool:
        """Whether it is unknown which entries of a rewritten tensor the call wrote."""
        return any(gift.where is not None for gift in self.gifts.values())

    def perturbed(self, trial: int, way: Way) -> Given | None:
        """The same with other values; None where nothing can be changed."""
        memo: dict[int, Memory] = {}
        with torch.no_grad():
            copies = {key: duplicate(gift.value, memo) for key, gift in self.gifts.items()}
            limits = [None if way.whole else gift.where for gift in self.gifts.values()]
            if not perturb(list(copies.values()), trial, limits):
                return None
        return Given({key: Gift(copies[key], gift.how, gift.where) for key, gift in self.gifts.items()}, self.result)

    def settled(self) -> Given:
        """After the last look: a tensor of which no entry was ever seen to change was not rewritten."""
        gifts: dict[Key, Gift] = {}
        for key, gift in self.gifts.items():
            if gift.how != "rewritten" or gift.where is None or bool(gift.where.any()):
                gifts[key] = gift
            elif key.place == "result":
                gifts[key] = Gift(gift.value, "passed")
        return Given(gifts, self.result, self.hidden)

    def seen_again(self, other: Given) -> Given:
        """With the entries that the call was seen to change another time."""
        gifts = dict(self.gifts)
        for key, gift in self.gifts.items():
            again = other.gifts.get(key)
            if gift.where is None or again is None or again.how != "rewritten" or again.value.shape != gift.value.shape:
                continue
            where = None if again.where is None else gift.where | again.where
            gifts[key] = Gift(gift.value, gift.how, None if where is None or bool(where.all()) else where)
        return Given(gifts, self.result)


@dataclass(slots=True)
class Call:
    """One selected call that has just returned, before anybody has read its result."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Nested
    before: _Before | None = None

    def tensor(self, key: Key) -> Tensor | None:
        """The gift itself, now; None where there is none any more."""
        if key.place == "attribute":
            value = self.model.get_submodule(key.module).__dict__.get(key.attribute)
            return dict(reachable(value)).get(key.path)
        return dict(reachable(self.result if key.place == "result" else (self.args, self.kwargs))).get(key.path)

    def differs(self, given: Given) -> bool:
        """Whether this call gave out something else."""
        with _plainly():
            if given.hidden:
                return False
            if [path for path, _ in leaves(self.result)] != [path for path, _ in leaves(given.result)]:
                return True
            for key, gift in given.gifts.items():
                now = self.tensor(key)
                if now is None or not same(now.detach(), gift.value):
                    return True
        return False

    def shaken(self, given: Given, trial: int) -> None:
        """Before the call: noise on all that it is going to rewrite."""
        with _plainly():
            for key, gift in given.gifts.items():
                now = self.tensor(key) if gift.how == "rewritten" else None
                if now is not None and has_memory(now):
                    shake(now.data, trial)

    def put(self, given: Given, way: Way) -> Nested:
        """Give out `given` instead. Returns the result to hand on."""
        if given.hidden:
            return self.result
        with _plainly():
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
        self._open: list[tuple[str, StageId | None, _Before | None]] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        paths = dict.fromkeys(path for path, _ in self._stages)
        modules = dict(self._model.named_modules())
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
            with _plainly():
                before = _Before.now(self._model, args, kwargs)
        self._open.append((path, stage, before))

    def _leave(
        self, path: str, _module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Nested
    ) -> Nested | None:
        while self._open and self._open[-1][0] != path:  # calls that ended with what is no Exception
            self._open.pop()
        if not self._open:
            return None
        _, stage, before = self._open.pop()
        if stage is None:
            return None
        self.order.append(stage)
        return self._visit(stage, Call(self._model, args, kwargs, result, before))


def lasting(call: Call, given: Given) -> list[tuple[Tensor, int, Tensor]]:
    """The tensors that a call passed on, with their version now and a copy: for `written_since`."""
    passed = (
        (k, g) for k, g in given.gifts.items() if g.how == "passed" or (g.where is not None and not g.where.any())
    )
    found = ((call.tensor(key), gift) for key, gift in passed)
    return [(tensor, _version(tensor), gift.value) for tensor, gift in found if tensor is not None]


def written_since(kept: list[tuple[Tensor, int, Tensor]]) -> bool:
    """Whether anybody has written to their memory."""
    with _plainly():
        return any(_version(t) != version or not same(t.detach(), copy) for t, version, copy in kept)


@dataclass(slots=True)
class _Before:
    """The tensors that were there when a call began: arguments and attributes, their versions and values."""

    tensors: dict[int, tuple[Tensor, int, Tensor]] = field(default_factory=dict)
    memories: set[int] = field(default_factory=set)

    @classmethod
    def now(cls, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Before:
        self = cls()
        for _, tensor in (*reachable((args, kwargs)), *_on_attributes(model)):
            self.memories.add(address(tensor))
            if id(tensor) not in self.tensors and not is_wrapped(tensor):
                copy = tensor.detach().clone() if not isinstance(tensor, nn.Parameter) else tensor
                self.tensors[id(tensor)] = (tensor, _version(tensor), copy)
        return self

    def how(self, tensor: Tensor, *, is_result: bool) -> How | None:
        """How a call gave out `tensor`; None where it only left it as it was."""
        known = self.tensors.get(id(tensor))
        if known is not None and _version(tensor) != known[1]:
            return "rewritten"
        if known is not None:
            return "passed" if is_result else None
        if not has_memory(tensor) or address(tensor) not in self.memories:
            return "made"
        return "passed"

    def changed(self, tensor: Tensor) -> Tensor | None:
        """The entries that have another value than before, where that is not all of them."""
        known = self.tensors.get(id(tensor))
        if known is None or not has_memory(tensor) or known[2].shape != tensor.shape or tensor is known[2]:
            return None
        equal = equal_entries(tensor, known[2])
        return ~equal if bool(equal.any()) else None


def take(call: Call) -> Given:
    """Copies of all that a call gave out; the forward must have been told to `look`."""
    before = call.before or _Before()
    with _plainly():
        found: dict[Key, Tensor] = {Key("result", path): t for path, t in reachable(call.result)}
        found |= {Key("argument", path): t for path, t in reachable((call.args, call.kwargs))}
        found |= dict(_on_attributes(call.model))
        if any(map(is_wrapped, found.values())):
            return Given({}, call.result, hidden=True)
        memo: dict[int, Memory] = {}
        gifts: dict[Key, Gift] = {}
        copies: dict[int, Tensor] = {}
        for key, tensor in found.items():
            how = before.how(tensor, is_result=key.place == "result")
            if how is not None:
                copy = copies.setdefault(id(tensor), duplicate(tensor, memo))
                gifts[key] = Gift(copy, how, before.changed(tensor) if how == "rewritten" else None)
        return Given(gifts, replace(call.result, lambda t: copies[id(t)]))


def _on_attributes(model: nn.Module) -> Iterator[tuple[Key, Tensor]]:
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            continue
        for attribute, value in module.__dict__.items():
            if attribute != "_modules" and "_hooks" not in attribute:
                for path, tensor in reachable(value):
                    yield Key("attribute", path, name, attribute), tensor


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
    if type(now) not in (Tensor, nn.Parameter):
        value = value.as_subclass(type(now))
        value.__dict__.update(now.__dict__)
    return value


def _version(tensor: Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version


@contextmanager
def _plainly() -> Iterator[None]:
    """Our own arithmetic in the middle of a forward."""
    with torch.no_grad(), torch._C.DisableTorchFunction():
        yield
