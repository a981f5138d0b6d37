"""`record`: one forward with hooks and the dataflow tracer -> a `Trace`."""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..inputs import Inputs
from ..records import Failure, Leaf, Note, Op, OpId, Trace
from ..running import Conditions, ModelState, borrowed, children, run
from .book import Book
from .dataflow import DataflowTracer
from .describe import Describer, type_name
from .failure import failure_of
from .modules import watched_modules
from .remains import Last, Remains
from .storage import address


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace, the exception that ended it, if one did, the parameters that the forward wrote to, and what of it is
    left."""

    trace: Trace
    error: Exception | None
    written: tuple[str, ...]
    remains: Remains


def record(model: nn.Module, inputs: Inputs, conditions: Conditions) -> Recording:
    """The metadata pass: one forward with hooks on every module and the dataflow tracer."""
    with _new_objects_apart():
        return _record(model, inputs, conditions, traced=True)


def record_calls(model: nn.Module, inputs: Inputs, conditions: Conditions) -> Recording:
    """The metadata pass without dataflow: module calls in order, no ops. For forwards that the tracer disturbs."""
    with _new_objects_apart():
        return _record(model, inputs, conditions, traced=False)


def _record(model: nn.Module, inputs: Inputs, conditions: Conditions, *, traced: bool) -> Recording:
    book = Book()
    error: Exception | None = None
    failure: Failure | None = None
    outputs: tuple[Leaf, ...] = ()
    result = None
    with borrowed(model, conditions) as state:
        last = Last(state.modules)
        args, kwargs, tensors = inputs.fresh()
        entries = _enter_inputs(book, inputs, tensors)
        start = time.perf_counter()
        try:
            with _watched(state, book, last, traced=traced):
                result = run(model, args, kwargs)
                with torch._C.DisableTorchFunction():
                    outputs = book.result(result)
        except Exception as raised:  # noqa: BLE001 - a model may raise anything; the caller decides
            error, failure = raised, failure_of(book, raised)
        written = state.written()
        modules = state.modules
        # Without the tracer nobody knows.
        is_private = book.provenance.is_private if traced else lambda _: False
        remains = Remains(result, last.take(), is_private, book.progress(start))
        result = args = kwargs = tensors = None  # type: ignore[assignment]
    book.forget_errors()
    if error is not None:
        traceback.clear_frames(error.__traceback__)
    if book.suspects():  # one may be what remains
        remains.take()
        gc.collect()
    book.settle()
    trace = _trace(model, modules, book, entries=entries, outputs=outputs, failure=failure)
    return Recording(trace, error, written, remains)


@contextmanager
def _new_objects_apart() -> Iterator[None]:
    """What the pass leaves in circles can be collected without a walk through all else, which takes a second where much
    is loaded. Freezing and unfreezing take no time."""
    if gc.get_freeze_count():  # somebody else's, who means to keep it so
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _watched(state: ModelState, book: Book, last: Last, *, traced: bool) -> Iterator[None]:
    if not traced:
        with watched_modules(state.modules, book, None, last):
            yield
        return
    guard = _WriteGuard(state)
    book.provenance.constants(state.tensors())
    tracer = DataflowTracer(book, guard.about_to_write)
    with watched_modules(state.modules, book, tracer, last), tracer:
        yield


class _WriteGuard:
    """Has a parameter copied before the first write to its memory."""

    def __init__(self, state: ModelState) -> None:
        self._state = state
        self._parameters: dict[int, Tensor] | None = None

    def about_to_write(self, tensor: Tensor) -> None:
        if self._parameters is None:
            self._parameters = {address(p): p for p in self._state.parameters()}
        parameter = self._parameters.get(address(tensor))
        if address(tensor) and parameter is not None:
            self._state.keep(parameter)


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


def _trace(
    model: nn.Module,
    modules: Sequence[tuple[str, nn.Module]],
    book: Book,
    *,
    entries: tuple[Leaf, ...],
    outputs: tuple[Leaf, ...],
    failure: Failure | None,
) -> Trace:
    ops = book.ops()
    describe = Describer(modules)
    calls = book.calls(describe)
    ran = {call.path for call in calls}
    return Trace(
        model_name=type_name(model),
        calls=calls,
        ops=ops,
        inputs=entries,
        outputs=outputs,
        notes=_notes(ops),
        aliases=_aliases(modules),
        uncalled=tuple(path for path, _ in modules if path and path not in ran),
        parameter_count=describe("", model)[1],
        failure=failure,
    )


def _aliases(modules: Sequence[tuple[str, nn.Module]]) -> dict[str, str]:
    """Every other name of a shared module, and of what is inside it -> the first one."""
    first = {id(module): path for path, module in modules}
    found: dict[str, str] = {}
    for path, module in modules:
        for name, child in children(module):
            other = f"{path}.{name}" if path else name
            if first.get(id(child), other) != other:
                found[other] = first[id(child)]
    for other, known in tuple(found.items()):
        if not other.startswith(f"{known}.") and known:  # else a module inside itself
            inside = (path for path, _ in modules if path.startswith(f"{known}."))
            found.update((other + path.removeprefix(known), path) for path in inside)
    return found


def _notes(ops: tuple[Op, ...]) -> tuple[Note, ...]:
    opaque = sum(op.kind == "opaque" for op in ops)
    if not opaque:
        return ()
    return (Note("opaque", f"{opaque} tensors came from code that cannot be traced; their edges are inferred."),)
