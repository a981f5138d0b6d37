"""Ctrl-C while a model is borrowed: it ends the forward, and waits while things are set up or put back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeAlias

_Handler: TypeAlias = "Callable[[int, FrameType | None], Any]"


class _Held:
    """Stands in for a handler, and remembers that it was called."""

    def __init__(self, handler: _Handler) -> None:
        self.handler = handler
        self._late: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._late = (number, frame)

    def release(self) -> None:
        """Call the handler now, if it should have been called before."""
        late, self._late = self._late, None
        if late is not None:
            self.handler(*late)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """An interrupt comes after the body, or in an `interruptible` part of it. Only the main thread gets any."""
    handler = _handler()
    if handler is None or isinstance(handler, _Held):
        yield
        return
    held = _Held(handler)
    signal.signal(signal.SIGINT, held)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        held.release()


@contextmanager
def interruptible() -> Iterator[None]:
    """An interrupt comes at once in the body, and one that was held before it."""
    held = _handler()
    if not isinstance(held, _Held):
        yield
        return
    signal.signal(signal.SIGINT, held.handler)
    try:
        held.release()
        yield
    finally:
        signal.signal(signal.SIGINT, held)


def _handler() -> _Handler | None:
    """Who is called on an interrupt of this thread; None where nobody in Python is."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    return handler if callable(handler) else None
