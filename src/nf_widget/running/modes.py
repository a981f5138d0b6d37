"""Torch's stack of function modes, which an interrupt inside torch's own handling of a mode can leave in disorder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import torch
from torch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    _pop_mode,
    _push_mode,
)

# Newer torch only.
_read_state: Any = getattr(torch._C, "_get_torch_function_state", None)
_set_state: Any = getattr(torch._C, "_set_torch_function_state", None)


class PassMode(TorchFunctionMode):
    """A mode for the length of a pass, whose end is quiet when the mode is off the stack already."""

    def __exit__(self, *error: object) -> None:
        if _get_current_function_mode() is self:
            _pop_mode()


@contextmanager
def function_modes_kept() -> Iterator[None]:
    """The modes are afterwards those of before."""
    before = _get_current_function_mode_stack()
    state = None if _read_state is None else _read_state()
    try:
        yield
    finally:
        if _get_current_function_mode_stack() != before:
            while _get_current_function_mode() is not None:
                _pop_mode()
            for mode in before:
                _push_mode(mode)
        if _set_state is not None and _read_state() != state:
            _set_state(state)


def close_what_waits(_kind: Any, _error: BaseException | None, trace: TracebackType | None) -> None:
    """End the context managers that an interrupt caught while they were entered: no `with` is going to, and they would
    undo at a later time, whenever the exception is let go."""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == contextlib.__file__:
            with suppress(RuntimeError):  # it runs still
                trace.tb_frame.clear()
        trace = trace.tb_next
