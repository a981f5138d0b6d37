"""The call stack: hooks on every module, that open and close calls in the book."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..nested import given, replace
from ..records import Leaf, OpId
from ..running import hooked, is_wrapped
from .book import Book, OpenCall, Received
from .dataflow import DataflowTracer
from .remains import Last


@contextmanager
def watched_modules(
    modules: Sequence[tuple[str, nn.Module]], book: Book, tracer: DataflowTracer | None, last: Last
) -> Iterator[None]:
    """Hooks on all of `modules` for the length of the body. They come after the user's own hooks.

    `tracer` is entered in the threads that the forward starts, for the length of the calls that run there. `last` is
    told what the model's own children give out.
    """
    watch = _Watch(book, tracer, last)
    with hooked(modules, watch.enter, watch.leave):
        yield


class _Watch:
    def __init__(self, book: Book, tracer: DataflowTracer | None, last: Last) -> None:
        self._book = book
        self._tracer = tracer
        self._last = last
        self._counts: dict[str, int] = {}

    def enter(self, path: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        index = self._counts.get(path, 0)
        self._counts[path] = index + 1
        if not index:
            self._last.began(path)
        book = self._book
        received: Received
        if len(args) == 1 and not kwargs and (leaf := self._known(args[0])) is not None:
            received = (leaf,), ()
        else:
            with torch._C.DisableTorchFunction():
                received = book.received(given(args, kwargs))
        stack = book.stack
        if not stack and stack is not book.home and self._tracer is not None:
            self._tracer.__enter__()  # type: ignore[no-untyped-call]  # a mode holds for its own thread only
        book.open(stack, path, index, module, received=received, handled=sys.exc_info()[1])

    def leave(self, path: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        """Closes the call. A tensor that the call did not make but gives out becomes a new alias of itself, so that
        what reads it from here can be told from what reads it elsewhere."""
        stack = self._book.stack
        if not (stack and stack[-1].path == path) and not _brought_up(stack, path):
            return None
        call = stack[-1]
        own = None
        error = sys.exc_info()[1]
        try:
            if error is not call.handled:  # it ends the call
                self._book.ended(call, error)
                return None
            call.finished = True
            call.left = time.perf_counter()
            if output is None:
                return None
            leaf = self._known(output)
            if leaf is not None and leaf.ops[0] >= call.first_op:
                call.outputs = (leaf,)
                return None
            with torch._C.DisableTorchFunction():
                if kwargs and isinstance(module, torch.jit.ScriptModule):  # `enter` was not told of them
                    call.inputs, call.aside = self._book.received(given(args, kwargs))
                own = self._given_out(call, output)
        finally:
            stack.pop()
            if stack and isinstance(output, Tensor) and call.outputs and self._last.is_child_of(stack[-1].path):
                self._last.add(call.id, call.outputs[0].spec, output if own is None else own)
            if self._tracer is not None and not stack and stack is not self._book.home:
                self._tracer.__exit__(None, None, None)
        return own if own is not output else None

    def _known(self, value: Any) -> Leaf | None:
        """The leaf of a bare tensor, found without a look at it; None in all other cases."""
        if type(value) is not Tensor:
            return None
        if not self._book.provenance.any_write:
            return self._book.known_leaf(value)
        with torch._C.DisableTorchFunction():
            return self._book.known_leaf(value)

    def _given_out(self, call: OpenCall, output: Any) -> Any:
        """What the call hands on in the place of `output`; its leaves are written down."""
        book = self._book
        if isinstance(output, Tensor):
            own, sources = self._own(output, call.first_op)
            call.outputs = (Leaf("", book.spec(own), sources),)
            return own
        changed = replace(output, lambda t: self._own(t, call.first_op)[0])
        call.outputs = book.leaves(changed)
        return changed

    def _own(self, tensor: Tensor, first_op: int) -> tuple[Tensor, tuple[OpId, ...]]:
        book = self._book
        sources = book.sources((tensor,))
        if sources and all(book.provenance.made_at(op) >= first_op for op in sources):
            return tensor, sources
        op = book.op("identity", "identity", sources, (tensor,))
        alias = _alias(tensor)
        book.provenance.show(op, alias, tensor, book.here())
        book.provenance.tag(alias, op)
        return alias, (op,)


def _brought_up(stack: list[OpenCall], path: str) -> bool:
    """Whether the innermost open call is of this path, after those above it, which ended by what is no `Exception` and
    so without a hook, are let go. It may never have been opened, since a hook of the user's raised before ours."""
    if not any(call.path == path for call in stack):
        return False
    while stack[-1].path != path:
        stack.pop()
    return True


def _alias(tensor: Tensor) -> Tensor:
    """The same memory, values and attributes under another object; the tensor itself where that cannot be had."""
    if tensor.layout != torch.strided or tensor.is_nested or is_wrapped(tensor):
        return tensor
    # `view_as` sets other strides for dimensions of size 1, by which kernels are chosen.
    alias = tensor.expand_as(tensor)
    if type(tensor) not in (Tensor, nn.Parameter):
        alias = alias.as_subclass(type(tensor))
        alias.__dict__.update(tensor.__dict__)
    return alias
