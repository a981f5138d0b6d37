"""Where a forward stopped, read from the traceback of its exception."""

from __future__ import annotations

import traceback
from types import FrameType

import torch
from torch import nn

from ..records import Failure
from .book import Book, OpenCall
from .dataflow import DataflowTracer

_CALL = nn.Module._call_impl.__code__  # noqa: SLF001
_OP = frozenset(function.__code__ for function in DataflowTracer.RUNS)


def failure_of(book: Book, error: BaseException) -> Failure:
    """The innermost module call that `error` went through, and the op under way there, if one was."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    call = _failed_call(book, frames)
    op_name, operands = "", call.inputs if call is not None else ()
    for frame in reversed(frames):
        if frame.f_code in _OP:
            op_name = frame.f_locals["rule"].shown
            with torch._C.DisableTorchFunction():
                operands = book.leaves(frame.f_locals.get("operands", ()))
            break
        if frame.f_code is _CALL:
            break
    return Failure(
        error_type=type(error).__name__,
        message=str(error),
        call=None if call is None else call.id,
        op_name=op_name,
        operands=operands,
        location=_location(error),
    )


def _failed_call(book: Book, frames: list[FrameType]) -> OpenCall | None:
    for frame in reversed(frames):
        if frame.f_code is _CALL:
            call = book.unfinished(frame.f_locals["self"])
            if call is not None:
                return call
    return None


def _location(error: BaseException) -> str:
    """The user's own line: the last one that is neither torch's nor ours."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/nf_widget/" not in f.filename and "/torch/" not in f.filename]
    return f"{own[-1].filename}:{own[-1].lineno}: {own[-1].line}" if own else ""
