"""The call stack: hooks on every module, that open and close calls in the book."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from ..nested import given, reachable, replace
from ..records import CallId
from .book import Book, OpenCall
from .describe import describe


@contextmanager
def watched_modules(model: nn.Module, book: Book) -> Iterator[None]:
    """Hooks on every module of `model` for the length of the body. They come after the user's own hooks."""
    watch = _Watch(model, book)
    handles: list[Any] = []
    try:
        scripted: dict[nn.Module, str] = {}
        for path, module in model.named_modules():
            if isinstance(module, torch.jit.ScriptModule):
                scripted[module] = path
                continue
            handles.append(module.register_forward_pre_hook(partial(watch.enter, path), with_kwargs=True))
            handles.append(module.register_forward_hook(watch.leave, always_call=True))
        if scripted:
            handles.append(register_module_forward_pre_hook(partial(_enter_scripted, watch, scripted)))
            handles.append(register_module_forward_hook(partial(_leave_scripted, watch, scripted), always_call=True))
        yield
    finally:
        for handle in handles:
            handle.remove()


class _Watch:
    def __init__(self, model: nn.Module, book: Book) -> None:
        self._model = model
        self._book = book
        self._counts: dict[str, int] = {}
        self._facts: dict[str, tuple[str, int, str]] = {}

    def enter(self, path: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with torch._C.DisableTorchFunction():
            book = self._book
            received = given(args, kwargs)
            index = self._counts.get(path, 0)
            self._counts[path] = index + 1
            if path not in self._facts:
                self._facts[path] = describe(module)
            type_name, parameter_count, detail = self._facts[path]
            parent = book.stack[-1].id if book.stack else None
            inputs = book.leaves(received)
            call = OpenCall(
                CallId(len(book.calls)), path, index, type_name, parent, parameter_count, detail, book.next_op, inputs
            )
            book.calls.append(call)
            book.stack.append(call)

    def leave(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """Closes the call. A tensor that the call did not make but gives out becomes a new alias of itself, so that
        what reads it from here can be told from what reads it elsewhere."""
        book = self._book
        with torch._C.DisableTorchFunction():
            call = self._top()
            if call is None:
                return None
            if output is None:  # raised, or gives nothing
                book.stack.pop()
                return None
            first = call.first_op
            own = replace(output, lambda t: self._owned(t, first))
            call.outputs = book.leaves(own)
            call.finished = True
            book.stack.pop()
        return own if own is not output else None

    def _top(self) -> OpenCall | None:
        return self._book.stack[-1] if self._book.stack else None

    def _owned(self, tensor: Tensor, first_op: int) -> Tensor:
        book = self._book
        sources = book.sources((tensor,))
        if sources and all(op >= first_op for op in sources):
            return tensor
        op = book.op("identity", "identity", sources, (tensor,))
        alias = _alias(tensor)
        book.provenance.tag(alias, op)
        return alias


def _alias(tensor: Tensor) -> Tensor:
    """The same memory, values and attributes under another object; the tensor itself where that cannot be had."""
    if tensor.layout != torch.strided or tensor.is_nested or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return tensor
    alias = tensor.view_as(tensor)
    if type(tensor) not in (Tensor, nn.Parameter):
        alias = alias.as_subclass(type(tensor))
        alias.__dict__.update(tensor.__dict__)
    return alias


def _enter_scripted(watch: _Watch, scripted: dict[nn.Module, str], module: nn.Module, args: tuple[Any, ...]) -> None:
    if module in scripted:
        watch.enter(scripted[module], module, args, {})


def _leave_scripted(
    watch: _Watch, scripted: dict[nn.Module, str], module: nn.Module, args: tuple[Any, ...], output: Any
) -> Any:
    return watch.leave(module, args, output) if module in scripted else None


def parameter_tensors(value: Any) -> list[Tensor]:
    """The tensors in `value`, in order."""
    return [tensor for _, tensor in reachable(value)]
