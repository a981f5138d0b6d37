"""Run work on the kernel's main thread, between cells.

Comm handlers may be called in another thread while a cell runs. Model passes must not: they would run beside the
user's training loop. So a handler leaves its work here; it is done by the main thread's event loop once no cell runs.
Where there is no event loop (a plain script), the calling thread serves.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any


class MainThread:
    """Made on the main thread. `post(work)` coalesces: work posted again before it ran is run once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Callable[[], None], None] = {}
        self._in_cell = False
        self._shell: Any = None
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None
        if self._loop is not None:
            self._watch_cells()

    @property
    def immediate(self) -> bool:
        """Whether posted work runs at once, in the calling thread."""
        return self._loop is None or self._loop.is_closed()

    @property
    def waits(self) -> bool:
        """Whether posted work must wait for a cell to end."""
        return self._in_cell

    @property
    def queued(self) -> int:
        """Pieces of work that wait."""
        return len(self._waiting)

    def post(self, work: Callable[[], None]) -> None:
        if self.immediate:
            work()
            return
        with self._lock:
            first = not self._waiting
            self._waiting[work] = None
        if first and self._loop is not None:
            self._loop.call_soon_threadsafe(self._drain)

    def close(self) -> None:
        with self._lock:
            self._waiting.clear()
        if self._shell is not None:
            self._shell.events.unregister("pre_run_cell", self._cell_starts)
            self._shell.events.unregister("post_run_cell", self._cell_ends)
            self._shell = None

    def _watch_cells(self) -> None:
        """A cell with a top-level `await` gives the loop away in its middle: that is no time for a pass either."""
        module = sys.modules.get("IPython")
        shell = module.get_ipython() if module is not None else None
        if shell is not None:
            # Made inside of a cell, as a rule.
            self._in_cell = True
            self._shell = shell
            shell.events.register("pre_run_cell", self._cell_starts)
            shell.events.register("post_run_cell", self._cell_ends)

    def _cell_starts(self, *_info: Any) -> None:
        self._in_cell = True

    def _cell_ends(self, *_info: Any) -> None:
        self._in_cell = False
        if self._waiting and self._loop is not None:
            self._loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        """One piece of work, then the loop's other business: a cell that was started meanwhile comes first."""
        if self._in_cell:
            return
        with self._lock:
            if not self._waiting:
                return
            work = next(iter(self._waiting))
            del self._waiting[work]
        try:
            work()
        finally:
            if self._waiting and self._loop is not None:
                self._loop.call_soon(self._drain)
