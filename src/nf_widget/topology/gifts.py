"""What a call gives out: its result, what it rewrote in place, and what it left where others can read it.

Each tensor of these is a **gift**.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from ..nested import Nested, reachable, replace
from ..running import named_modules, version_of
from .perturb import Memory, Numbers, address, duplicate, equal_entries, has_memory, is_hidden, perturb

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

    def perturbed(self, trial: int, way: Way, numbers: Numbers) -> Given | None:
        """The same with other values; None where nothing can be changed."""
        memo: dict[int, Memory] = {}
        with torch.no_grad():
            copies = {key: duplicate(gift.value, memo) for key, gift in self.gifts.items()}
            limits = [None if way.whole else gift.where for gift in self.gifts.values()]
            if not perturb(list(copies.values()), trial, limits, numbers):
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
        return Given(gifts, self.result, self.hidden)


@dataclass(slots=True)
class Before:
    """The tensors that were there when a call began: arguments and attributes, their versions and values."""

    tensors: dict[int, tuple[Tensor, int | None, Tensor]] = field(default_factory=dict)
    memories: set[int] = field(default_factory=set)

    @classmethod
    def now(cls, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Before:
        self = cls()
        for _, tensor in (*reachable((args, kwargs)), *_on_attributes(model)):
            self.memories.add(address(tensor))
            if id(tensor) not in self.tensors and not is_hidden(tensor):
                copy = tensor.detach().clone() if not isinstance(tensor, nn.Parameter) else tensor
                self.tensors[id(tensor)] = (tensor, version_of(tensor), copy)
        return self

    def how(self, tensor: Tensor, *, is_result: bool) -> How | None:
        """How a call gave out `tensor`; None where it only left it as it was."""
        known = self.tensors.get(id(tensor))
        if known is not None and version_of(tensor) != known[1]:
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


def given_out(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Nested, before: Before) -> Given:
    """Copies of all that a call gave out."""
    with plainly():
        found: dict[Key, Tensor] = {Key("result", path): t for path, t in reachable(result)}
        found |= {Key("argument", path): t for path, t in reachable((args, kwargs))}
        found |= dict(_on_attributes(model))
        if any(map(is_hidden, found.values())):
            return Given({}, result, hidden=True)
        memo: dict[int, Memory] = {}
        gifts: dict[Key, Gift] = {}
        copies: dict[int, Tensor] = {}
        for key, tensor in found.items():
            how = before.how(tensor, is_result=key.place == "result")
            if how is not None:
                copy = copies.setdefault(id(tensor), duplicate(tensor, memo))
                gifts[key] = Gift(copy, how, before.changed(tensor) if how == "rewritten" else None)
        return Given(gifts, replace(result, lambda t: copies[id(t)]))


def _on_attributes(model: nn.Module) -> Iterator[tuple[Key, Tensor]]:
    for name, module in named_modules(model):
        if isinstance(module, torch.jit.ScriptModule):
            continue
        for attribute, value in module.__dict__.items():
            if attribute != "_modules" and "_hooks" not in attribute:
                for path, tensor in reachable(value):
                    yield Key("attribute", path, name, attribute), tensor


@contextmanager
def plainly() -> Iterator[None]:
    """Our own arithmetic in the middle of a forward."""
    with torch.no_grad(), torch._C.DisableTorchFunction():
        yield
