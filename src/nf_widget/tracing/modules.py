"""The call stack: hooks on every module, that open and close calls in the book."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..nested import replace
from ..running.hooks import hooked
from .book import Book, OpenCall
from .dataflow import DataflowTracer


@contextmanager
def watched_modules(
    modules: Sequence[tuple[str, nn.Module]], book: Book, tracer: DataflowTracer | None
) -> Iterator[None]:
    """Hooks on all of `modules` for the length of the body. They come after the user's own hooks.

    `tracer` is entered in the threads that the forward starts, for the length of the calls that run there.
    """
    watch = _Watch(book, tracer)
    with hooked(modules, watch.enter, watch.leave):
        yield


class _Watch:
    def __init__(self, book: Book, tracer: DataflowTracer | None) -> None:
        self._book = book
        self._tracer = tracer
        self._counts: dict[str, int] = {}

    def enter(self, path: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        index = self._counts.get(path, 0)
        self._counts[path] = index + 1
        book = self._book
        with torch._C.DisableTorchFunction():
            given = book.leaves(args[0] if len(args) == 1 and not kwargs else _named(args, kwargs))
        # A mode holds for its own thread only.
        if self._tracer is not None and not book.at_home() and not book.stack:
            self._tracer.__enter__()  # type: ignore[no-untyped-call]
        book.open(path, index, module, given, sys.exc_info()[1])

    def leave(self, path: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        """Closes the call. A tensor that the call did not make but gives out becomes a new alias of itself, so that
        what reads it from here can be told from what reads it elsewhere."""
        book = self._book
        call = _closing(book.stack, path)
        if call is None:
            return None
        try:
            if sys.exc_info()[1] is not call.handled:  # an exception ends the call
                return None
            call.finished = True
            if output is None:
                return None
            with torch._C.DisableTorchFunction():
                if kwargs and isinstance(module, torch.jit.ScriptModule):  # `enter` was not told of them
                    call.inputs = book.leaves(_named(args, kwargs))
                own = replace(output, lambda t: self._own(t, call.first_op))
                call.outputs = book.leaves(own)
            return own if own is not output else None
        finally:
            book.stack.pop()
            if self._tracer is not None and not book.at_home() and not book.stack:
                self._tracer.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def _own(self, tensor: Tensor, first_op: int) -> Tensor:
        book = self._book
        sources = book.sources((tensor,))
        if sources and sources[0] >= first_op:
            return tensor
        op = book.op("identity", "identity", sources, (tensor,))
        alias = _alias(tensor)
        book.provenance.tag(alias, op)
        return alias


def _closing(stack: list[OpenCall], path: str) -> OpenCall | None:
    """The open call of this path, brought to the top; None where the call was never opened, since a hook of the user's
    raised before ours. Calls above it ended by what is no `Exception`, which hooks are not told of."""
    if not any(call.path == path for call in stack):
        return None
    while stack[-1].path != path:
        stack.pop()
    return stack[-1]


def _alias(tensor: Tensor) -> Tensor:
    """The same memory, values and attributes under another object; the tensor itself where that cannot be had."""
    if tensor.layout != torch.strided or tensor.is_nested or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return tensor
    alias = tensor.view_as(tensor)
    if type(tensor) not in (Tensor, nn.Parameter):
        alias = alias.as_subclass(type(tensor))
        alias.__dict__.update(tensor.__dict__)
    return alias


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """One container whose paths read well."""
    return {**{str(i): arg for i, arg in enumerate(args)}, **kwargs}
