from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from nf_widget.widget.mainthread import MainThread


def test_without_a_loop_the_calling_thread_serves() -> None:
    ran: list[str] = []
    MainThread().post(lambda: ran.append(threading.current_thread().name))
    assert ran == [threading.current_thread().name]


def test_with_a_loop_work_runs_on_its_thread_once_however_often_it_was_posted() -> None:
    ran: list[str] = []

    def work() -> None:
        ran.append(threading.current_thread().name)

    async def cell() -> None:
        main = MainThread()
        poster = threading.Thread(target=lambda: [main.post(work) for _ in range(50)])
        poster.start()
        poster.join()  # the loop is blocked, as by a running cell
        assert ran == []
        await asyncio.sleep(0.01)
        main.close()

    asyncio.run(cell())
    assert ran == [threading.current_thread().name]


def test_after_close_nothing_runs() -> None:
    ran: list[int] = []

    async def cell() -> None:
        main = MainThread()
        main.post(lambda: ran.append(1))
        main.close()
        await asyncio.sleep(0.01)

    asyncio.run(cell())
    assert ran == []


def test_it_knows_whether_a_cell_is_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython's events, without IPython's own loop."""
    events: dict[str, Callable[[], None]] = {}
    shell = SimpleNamespace(
        events=SimpleNamespace(register=events.__setitem__, unregister=lambda name, _: events.pop(name))
    )
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    ran: list[int] = []

    async def session() -> None:
        main = MainThread()
        assert main.waits
        events["post_run_cell"]()
        assert not main.waits
        events["pre_run_cell"]()
        main.post(lambda: ran.append(1))
        await asyncio.sleep(0.01)  # as a cell with a top-level `await` gives the loop away
        assert main.waits
        assert ran == []
        events["post_run_cell"]()
        await asyncio.sleep(0.01)
        assert ran == [1]
        main.close()
        assert not events

    asyncio.run(session())
