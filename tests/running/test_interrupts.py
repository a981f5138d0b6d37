"""Ctrl-C at any moment: the model is as it was, and the interrupt gets through."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models import Do, linear
from nf_widget import trace

Untouched = Callable[..., Any]
LAYERS = ["a", "norm", "b"]


def busy() -> nn.Module:
    """Counts, keeps a list, moves a buffer, writes to a parameter and draws."""

    def forward(m: nn.Module, x: Tensor) -> Tensor:
        m.calls += 1
        m.seen.append(x)
        h = m.norm(m.a(x))
        m.mean.mul_(0.9).add_(h.mean(0))
        with torch.no_grad():
            m.memory += h.mean(0)
        return m.b(torch.nn.functional.relu(h)) + m.memory + torch.rand(4)

    model = Do(forward, a=linear(), norm=nn.BatchNorm1d(4), b=linear(), calls=0, seen=[])
    model.register_buffer("mean", torch.zeros(4))
    model.memory = nn.Parameter(torch.zeros(4))
    return model.train()


def _look(model: nn.Module, x: Tensor) -> None:
    trace(model, x, layers=LAYERS, training="keep").activation("b")


def _verify(model: nn.Module, x: Tensor) -> None:
    trace(model, x, layers=LAYERS, training="keep").verify()


class InterruptAt:
    """Ctrl-C before the line number `at` of those that run in files whose path contains `part`; `came` says whether
    there were so many.

    The interpreter's own trace function raises the signal, whose handler runs at once.
    """

    def __init__(self, at: int, part: str) -> None:
        self.left = at
        self.part = part
        self.came = False

    def __enter__(self) -> Any:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, _arg: Any) -> Any:
        here = self.part in frame.f_code.co_filename.replace("\\", "/")
        if here and event == "line" and not self.came:
            self.left -= 1
            if self.left < 0:
                self.came = True
                signal.raise_signal(signal.SIGINT)
        return self._trace if here else None


@pytest.mark.parametrize(
    ("action", "part", "steps"),
    [
        pytest.param(_look, "/nf_widget/running/", 12, id="ours, looking"),
        pytest.param(_verify, "/nf_widget/running/", 4, id="ours, verifying"),
        pytest.param(_look, "/torch/overrides.py", 24, id="torch's handling of modes"),
    ],
)
def test_an_interrupt_at_any_moment_leaves_nothing_behind(
    action: Callable[[nn.Module, Tensor], None], part: str, steps: int, untouched: Untouched
) -> None:
    x, handler = torch.randn(3, 4), signal.getsignal(signal.SIGINT)
    at, came, raised = 0, True, False
    while came:
        model = busy()
        with untouched(model, (x,)):
            try:
                with InterruptAt(at, part) as interrupt:
                    action(model, x)
                raised = False
            except KeyboardInterrupt:
                raised = True
        came = interrupt.came
        assert raised == came
        assert signal.getsignal(signal.SIGINT) is handler
        at += 1 + at // steps  # later lines are those of later passes
    assert at > 50


@pytest.mark.parametrize("at", [0, 1])
def test_an_interrupt_while_torch_has_a_mode_off_its_stack(
    at: int, untouched: Untouched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when the context manager that puts the mode back was entered, and no `with` knows of that yet."""
    left = [at]

    def entered(name: str) -> None:
        if name == "_pop_mode_temporarily":
            left[0] -= 1
            if left[0] == -1:
                signal.raise_signal(signal.SIGINT)

    code = "def __enter__(self):\n    value = next(self.gen)\n    entered(self.gen.__name__)\n    return value"
    names: dict[str, Any] = {"entered": entered}
    exec(compile(code, contextlib.__file__, "exec"), names)
    monkeypatch.setattr(contextlib._GeneratorContextManager, "__enter__", names["__enter__"])
    model, x = busy(), torch.randn(3, 4)
    kept = None
    with untouched(model, (x,)):
        try:
            _look(model, x)
        except KeyboardInterrupt as error:
            kept = error  # as a console keeps the last one
    assert kept is not None
    del kept
    assert torch._C._len_torch_function_stack() == 0


def test_an_interrupt_ends_a_forward_at_once() -> None:
    reached: list[str] = []

    def forward(m: nn.Module, x: Tensor) -> Tensor:
        signal.raise_signal(signal.SIGINT)
        reached.append("the line after")
        return m.a(x)

    with pytest.raises(KeyboardInterrupt):
        trace(Do(forward, a=linear()), torch.randn(3, 4))
    assert not reached


def test_an_interrupt_is_given_to_whoever_handles_it(untouched: Untouched) -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: told.append(number))
    try:
        model, x = busy(), torch.randn(3, 4)
        with untouched(model, (x,)), InterruptAt(300, "/nf_widget/running/") as interrupt:
            _look(model, x)
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupt.came
    assert told == [signal.SIGINT]


def test_other_threads_borrow_without_handlers(untouched: Untouched) -> None:
    model, x, failed = busy(), torch.randn(3, 4), []

    def work() -> None:
        try:
            _look(model, x)
        except BaseException as error:  # noqa: BLE001 - it is looked at below
            failed.append(error)

    with untouched(model, (x,)):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not failed
