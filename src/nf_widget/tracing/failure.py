"""Where a forward stopped."""

from __future__ import annotations

import traceback

from ..records import Failure
from .book import Book


def failure_of(book: Book, error: Exception) -> Failure:
    """The innermost module call that `error` ended, and the op that raised it, if one did."""
    call = book.ended_by(error)
    op = book.raised_by(error)
    return Failure(
        error_type=type(error).__name__,
        message=str(error),
        call=None if call is None else call.id,
        op_name="" if op is None else op[0],
        operands=op[1] if op is not None else call.inputs if call is not None else (),
        location=_location(error),
    )


def _location(error: Exception) -> str:
    """The user's own line: the last one that is neither torch's nor ours."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/nf_widget/" not in f.filename and "/torch/" not in f.filename]
    return f"{own[-1].filename}:{own[-1].lineno}: {own[-1].line}" if own else ""
