"""`record`: one forward with hooks and the dataflow tracer -> a `Trace`."""

from __future__ import annotations

import gc
import traceback
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..inputs import Inputs
from ..nested import leaves
from ..records import Failure, Leaf, Note, Op, OpId, Trace
from ..running import Conditions, ModelState, borrowed, run
from .book import Book
from .dataflow import DataflowTracer
from .describe import parameter_count, type_name
from .modules import watched_modules


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace, and the exception that ended it, if one did."""

    trace: Trace
    error: BaseException | None
    written: tuple[str, ...]


def record(model: nn.Module, inputs: Inputs, conditions: Conditions) -> Recording:
    """The metadata pass: one forward with hooks on every module and the dataflow tracer."""
    return _record(model, inputs, conditions, _traced)


def record_calls(model: nn.Module, inputs: Inputs, conditions: Conditions) -> Recording:
    """The metadata pass without dataflow: module calls in order, no ops. For forwards that the tracer disturbs."""
    return _record(model, inputs, conditions, _hooked)


def _record(model: nn.Module, inputs: Inputs, conditions: Conditions, watch: Any) -> Recording:
    book = Book()
    args, kwargs, tensors = inputs.fresh()
    entries = _enter_inputs(book, inputs, tensors)
    error: BaseException | None = None
    outputs: tuple[Leaf, ...] = ()
    with ExitStack() as stack:
        state = stack.enter_context(borrowed(model, conditions))
        stack.enter_context(watch(model, book, state))
        try:
            result = run(model, args, kwargs)
            with torch._C.DisableTorchFunction():
                outputs = _leave_outputs(book, result)
        except Exception as raised:  # noqa: BLE001 - a model may raise anything; the caller decides
            error = raised
        written = state.written()
        result = args = kwargs = tensors = None  # type: ignore[assignment]
    failure = _failure(book, error) if error is not None else None
    if book.suspects():
        if error is not None:
            traceback.clear_frames(error.__traceback__)
        gc.collect()
    book.settle()
    return Recording(_trace(model, book, entries, outputs, failure), error, written)


def _traced(model: nn.Module, book: Book, state: ModelState) -> ExitStack:
    with ExitStack() as stack:
        stack.enter_context(watched_modules(model, book))
        guard = _WriteGuard(model, state)
        book.provenance.constants(state.tensors())
        stack.enter_context(DataflowTracer(book, guard.about_to_write))
        return stack.pop_all()
    raise AssertionError("unreachable")


def _hooked(model: nn.Module, book: Book, state: ModelState) -> ExitStack:
    with ExitStack() as stack:
        stack.enter_context(watched_modules(model, book))
        return stack.pop_all()
    raise AssertionError("unreachable")


class _WriteGuard:
    """Has a parameter copied before the first write to its memory."""

    def __init__(self, model: nn.Module, state: ModelState) -> None:
        self._state = state
        self._model = model
        self._parameters: dict[int, Tensor] | None = None

    def about_to_write(self, tensor: Tensor) -> None:
        if self._parameters is None:
            self._parameters = {_memory(p): p for p in self._model.parameters() if _memory(p)}
        parameter = self._parameters.get(_memory(tensor))
        if parameter is not None:
            self._state.keep(parameter)


def _memory(tensor: Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return 0


def _enter_inputs(book: Book, inputs: Inputs, tensors: tuple[Tensor, ...]) -> tuple[Leaf, ...]:
    """One op per input leaf. Leaves that are one tensor all count as its sources."""
    found: list[Leaf] = []
    by_tensor: dict[int, list[OpId]] = {}
    with torch._C.DisableTorchFunction():
        for (path, _), tensor in zip(inputs.leaves, tensors, strict=True):
            op = book.op("input", "input", (), (tensor,))
            found.append(Leaf(path, book.spec(tensor), (op,)))
            ops = by_tensor.setdefault(id(tensor), [])
            ops.append(op)
            if len(ops) == 1:
                book.provenance.tag(tensor, op)
            else:
                book.provenance.tag(tensor, book.op("identity", "identity", tuple(ops), (tensor,)))
    return tuple(found)


def _leave_outputs(book: Book, result: Any) -> tuple[Leaf, ...]:
    return tuple(Leaf(path, book.spec(t), book.sources((t,))) for path, t in leaves(result))


def _trace(
    model: nn.Module, book: Book, entries: tuple[Leaf, ...], outputs: tuple[Leaf, ...], failure: Failure | None
) -> Trace:
    ops = book.ops()
    ran = {call.path for call in book.calls}
    first = {id(m): path for path, m in model.named_modules()}
    aliases = {
        path: first[id(m)] for path, m in model.named_modules(remove_duplicate=False) if first[id(m)] != path
    }
    return Trace(
        model_name=type_name(model),
        calls=tuple(call.closed() for call in book.calls),
        ops=ops,
        inputs=entries,
        outputs=outputs,
        notes=_notes(ops),
        aliases=aliases,
        uncalled=tuple(path for path in first.values() if path and path not in ran),
        parameter_count=parameter_count(model),
        failure=failure,
    )


def _notes(ops: tuple[Op, ...]) -> tuple[Note, ...]:
    opaque = sum(op.kind == "opaque" for op in ops)
    if not opaque:
        return ()
    return (Note("opaque", f"{opaque} tensors came from code that cannot be traced; their edges are inferred."),)


def _failure(book: Book, error: BaseException) -> Failure:
    call = book.stack[-1] if book.stack else None
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/nf_widget/" not in f.filename and "/torch/" not in f.filename]
    where = own[-1] if own else None
    return Failure(
        error_type=type(error).__name__,
        message=str(error),
        call=call.id if call else None,
        op_name="",
        operands=call.inputs if call else (),
        location=f"{where.filename}:{where.lineno}: {where.line}" if where else "",
    )
