"""`AttentionTracer`: the weights of each attention in a forward, from what it was given, while it runs as it would.

It sees `F.scaled_dot_product_attention`, `F.multi_head_attention_forward` and `flex_attention`, of which the weights
are computed anew head by head, and a softmax over the last dimension whose result goes into a product with the values.
"""

from __future__ import annotations

import inspect
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.weak import WeakTensorKeyDictionary

from nf_widget.running import PassMode, hooked, named_modules, unfused

from ..records import Nothing
from .flex import NAME as FLEX
from .flex import given_to_flex
from .heads import FAULTS
from .layout import laid_out
from .projected import given_to_module
from .weights import Made, Weights, given_to_product

_SOFTMAX = frozenset({"softmax", "special_softmax"})
_PRODUCTS = frozenset({"matmul", "__matmul__", "bmm", "baddbmm", "einsum"})


@dataclass(frozen=True, slots=True)
class Look:
    """Wants the weights of call `index` of the module at `path`. `take(weights, number)` runs inside the forward, and
    keeps nothing of what they are made from; `number` counts the attentions within the call."""

    path: str
    index: int
    take: Callable[[Weights | Nothing, int], None]


@dataclass(frozen=True, slots=True)
class Looking:
    """`paths` are all modules known to compute attention, so that each is told from the one around it. `batch` is the
    model's batch size, None when it is not known."""

    looks: tuple[Look, ...]
    paths: tuple[str, ...]
    batch: int | None


@dataclass(slots=True)
class _Call:
    path: str
    look: Look | None
    number: int = 0


@dataclass(frozen=True, slots=True)
class _Flowing:
    """A tensor on its way from a softmax to a product. `made` is None for the softmax's own result, which would keep
    itself alive; `flipped` where its last two dimensions are the other way round."""

    made: Tensor | None
    flipped: bool


class AttentionTracer(PassMode):
    """`aside()` surrounds our own arithmetic, `finished()` runs when a look has been served."""

    def __init__(
        self, looking: Looking, aside: Callable[[], AbstractContextManager[None]], finished: Callable[[], None]
    ) -> None:
        super().__init__()
        self._open = {(look.path, look.index): look for look in looking.looks}
        self._paths = looking.paths
        self._batch = looking.batch
        self._aside = aside
        self._finished = finished
        self._calls: list[_Call] = []
        self._watching = False
        self._counts: dict[str, int] = defaultdict(int)
        self._flowing = WeakTensorKeyDictionary()
        self._taken = WeakTensorKeyDictionary()
        self.spent = 0.0

    @property
    def done(self) -> bool:
        return not self._open

    @contextmanager
    def on(self, model: nn.Module) -> Iterator[None]:
        modules = dict(named_modules(model))
        with ExitStack() as stack:
            named = [(path, modules[path]) for path in self._paths if path in modules]
            stack.enter_context(hooked(named, self._enter, self._leave))
            # Around a call that is looked at, a fused encoder would pack what is padded into a nested tensor.
            stack.enter_context(unfused())
            yield

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        result = func(*args, **kwargs)
        if func is functional.scaled_dot_product_attention:
            self._serve(lambda: given_to_product(*args, **kwargs, batch=self._batch))
        elif func is functional.multi_head_attention_forward:
            self._serve(lambda: given_to_module(_named(args, kwargs)))
        elif name == FLEX:
            self._serve(lambda: given_to_flex([*args, *kwargs.values()], self._batch))
        elif name in _SOFTMAX:
            self._made(args, kwargs, result)
        elif self._flowing:
            self._follow(name, args, kwargs, result)
        return result

    def _enter(self, path: str, *_: Any) -> None:
        index = self._counts[path]
        self._counts[path] = index + 1
        self._calls.append(_Call(path, self._open.get((path, index))))
        self._watch()

    def _leave(self, path: str, *_: Any) -> None:
        look = None
        while self._calls:  # a call that an exception ended may have been left without word
            call = self._calls.pop()
            if call.path == path:
                look = call.look
                break
        self._watch()
        if look is not None:
            self._open.pop((look.path, look.index), None)
            self._finished()

    def _watch(self) -> None:
        """Functions are watched inside of calls that somebody looks at, and nowhere else: that takes time."""
        wanted = any(call.look is not None for call in self._calls)
        if wanted and not self._watching:
            self.__enter__()  # type: ignore[no-untyped-call]
        elif self._watching and not wanted:
            self.__exit__(None, None, None)
        self._watching = wanted

    def _serve(self, make: Callable[[], Weights]) -> None:
        call = self._calls[-1] if self._calls else None
        if call is None or call.look is None:
            return
        start = time.perf_counter()
        with self._aside(), torch._C.DisableTorchFunctionSubclass():
            try:
                weights: Weights | Nothing = make()
            except FAULTS as error:
                weights = Nothing(f"The attention weights cannot be had: {(str(error).splitlines() or [''])[0]}")
            call.look.take(weights, call.number)
        call.number += 1
        self.spent += time.perf_counter() - start

    def _made(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if isinstance(result, Tensor) and result.ndim > 1 and dim in {-1, result.ndim - 1}:
            self._flowing[result] = _Flowing(None, flipped=False)

    def _follow(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if name in _PRODUCTS:
            for tensor, last, next_to_last in _summed(name, _operands(name, args, kwargs)):
                found = self._flowing.get(tensor)
                if found is not None and (next_to_last if found.flipped else last):
                    self._take(tensor if found.made is None else found.made)
            return
        if not isinstance(result, Tensor) or result in self._flowing or result.ndim < 2:
            return
        for tensor in args:
            found = self._flowing.get(tensor) if isinstance(tensor, Tensor) else None
            if found is not None:
                flipped = _flips(name, tensor, result)
                if flipped is not None:
                    made = tensor if found.made is None else found.made
                    self._flowing[result] = _Flowing(made, flipped=found.flipped != flipped)
                return

    def _take(self, values: Tensor) -> None:
        """Weights that go into several products are one attention."""
        if values not in self._taken:
            self._taken[values] = True
            self._serve(
                lambda: Made(values, laid_out(values.shape[:-2], values.shape[-2], values.shape[-1], self._batch))
            )


def _flips(name: str, before: Tensor, after: Tensor) -> bool | None:
    """Whether the last two dimensions changed places; None where they are not the same two."""
    turns = name in {"transpose", "permute", "swapaxes", "swapdims", "movedim", "__get__", "t"}
    if turns and after.shape[-2:] == before.shape[-2:][::-1] and after.stride()[-2:] == before.stride()[-2:][::-1]:
        return True
    return False if after.shape[-2:] == before.shape[-2:] else None


def _operands(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    given = [*args, *(kwargs[key] for key in ("other", "mat2", "batch1", "batch2", "tensor2") if key in kwargs)]
    if name == "baddbmm":
        return given[1:]
    if name == "einsum" and len(given) == 2 and isinstance(given[1], (list, tuple)):
        return [given[0], *given[1]]
    return given


def _summed(name: str, operands: Sequence[Any]) -> Iterator[tuple[Tensor, bool, bool]]:
    """Of each operand of a product: whether its last dimension is summed over, and whether the one before it is."""
    if name != "einsum":
        if len(operands) > 1 and isinstance(operands[0], Tensor) and isinstance(operands[1], Tensor):
            yield operands[0], True, False
            yield operands[1], False, True
        return
    if not isinstance(operands[0], str):
        return
    before, _, after = operands[0].replace(" ", "").partition("->")
    terms = before.split(",")
    kept = set(after) if "->" in operands[0] else {c for c in before if before.count(c) == 1}
    for term, tensor in zip(terms, operands[1:], strict=False):
        if isinstance(tensor, Tensor) and len(term) > 1:
            yield tensor, term[-1] not in kept, term[-2] not in kept


@cache
def _signature() -> inspect.Signature:
    return inspect.signature(functional.multi_head_attention_forward)


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    bound = _signature().bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments
