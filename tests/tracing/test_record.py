"""What a trace says of calls, leaves and ops, and that recording leaves nothing behind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from graphs import chain, traced
from models import (
    Catches,
    Do,
    Forces,
    Raises,
    Recursive,
    Remembers,
    Residual,
    SharedReLU,
    Threads,
    WritesParameter,
    linear,
    nest,
    quantised,
)
from nf_widget.running import may_need_grad, record_conditions
from nf_widget.tracing.record import record_calls

Untouched = Callable[..., Any]


# ---- calls


def test_calls_are_numbered_in_order_of_their_start_and_know_their_parents() -> None:
    trace = traced(SharedReLU(), torch.randn(3, 4)).trace
    assert [(c.path, c.index, None if c.parent is None else trace.calls[c.parent].path) for c in trace.calls] == [
        ("", 0, None),
        ("first", 0, ""),
        ("first.0", 0, "first"),
        ("first.1", 0, "first"),
        ("second", 0, ""),
        ("second.0", 0, "second"),
        ("first.1", 1, "second"),
    ]
    assert trace.aliases == {"second.1": "first.1"}
    assert all(call.finished for call in trace.calls)


def test_parameters_are_counted_once_with_everything_inside() -> None:
    tied = Do(lambda m, x: m.b(m.a(x)), a=linear(), b=linear())
    tied.b.weight = tied.a.weight
    counts = {call.path: call.parameter_count for call in traced(tied, torch.randn(3, 4)).trace.calls}
    assert counts == {"": 24, "a": 20, "b": 20}
    nested = traced(nest(3), torch.randn(3, 4)).trace
    assert {call.parameter_count for call in nested.calls} == {20}
    assert nested.parameter_count == 20
    assert traced(quantised(), torch.randn(3, 4)).trace.parameter_count == 32


def test_what_never_ran_is_listed() -> None:
    assert traced(Do(lambda m, x: m.a(x), a=linear(), b=linear()), torch.randn(3, 4)).trace.uncalled == ("b",)


def test_modules_say_what_they_are() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Flatten(), linear(18, 2))
    details = [call.detail for call in traced(model, torch.randn(1, 1, 7, 7)).trace.calls]
    assert details == ["", "3×3 /2", "", "18 → 2"]


def test_a_module_that_gives_none_has_finished() -> None:
    trace = traced(Do(lambda m, x: (m.quiet(x), x)[1], quiet=Do(lambda _, x: None)), torch.randn(3, 4)).trace
    assert [call.finished for call in trace.calls] == [True, True]


def test_a_child_that_raised_has_not_finished_and_the_forward_goes_on() -> None:
    run = traced(Catches(), torch.randn(3, 4))
    assert {call.path: call.finished for call in run.trace.calls} == {"": True, "a": True, "bad": False, "b": True}
    assert run.trace.failure is None
    assert run.edges(["a", "b"]) == chain("input", "a", "b", "output")


def test_none_given_while_an_exception_is_handled() -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        try:
            raise KeyError("handled")
        except KeyError:
            m.quiet(x)
        return x * 2

    trace = traced(Do(forward, quiet=Do(lambda _, x: None)), torch.randn(3, 4)).trace
    assert all(call.finished for call in trace.calls)


def test_a_hook_of_the_users_that_raises_before_ours() -> None:
    def refuse(_module: nn.Module, _args: Any) -> None:
        raise ValueError("not today")

    def forward(m: nn.Module, x: Tensor) -> Tensor:
        h = m.a(x)
        try:
            h = m.guarded(h)
        except ValueError:
            h = h * 2
        return m.b(h)

    model = Do(forward, a=linear(), guarded=linear(), b=linear())
    model.guarded.register_forward_pre_hook(refuse)
    run = traced(model, torch.randn(3, 4))
    assert [call.path for call in run.trace.calls if call.finished] == ["", "a", "b"]
    assert run.edges(["a", "b"]) == chain("input", "a", "b", "output")


def test_leaves_name_their_place() -> None:
    model = Do(
        lambda m, x, *, mask: m.part({"x": x, "more": [mask, None]}), part=Do(lambda _, d: (d["x"] * 2, {"n": 1}))
    )
    trace = traced(model, (torch.randn(3, 4),), {"mask": torch.ones(3)}).trace
    assert [leaf.path for leaf in trace.inputs] == ["args", "mask"]
    assert [leaf.path for leaf in trace.calls[1].inputs] == ["x", "more.0"]
    assert [leaf.path for leaf in trace.calls[1].outputs] == ["0"]
    assert trace.calls[1].outputs[0].spec.shape == (3, 4)


def test_ops_are_named_as_the_user_writes_them() -> None:
    model = Do(lambda m, x: torch.cat([m.a(x)[:, 0].relu(), x.T[0]], dim=0) + 1, a=linear())
    edges = {(e.source, e.target): e for e in traced(model, torch.randn(3, 4)).graph(["a"]).edges}
    assert edges["a", "output"].via == ("getitem", "relu", "cat", "add")
    assert edges["input", "output"].via == ("T", "getitem", "cat", "add")
    trace = traced(model, torch.randn(3, 4)).trace
    assert [op.detail for op in trace.ops if op.name == "cat"] == ["dim=0"]


# ---- the values are those of a plain run


@pytest.mark.parametrize(
    "model",
    [Residual(), SharedReLU(), Recursive(3), Remembers(), WritesParameter(), Threads(), quantised()],
    ids=lambda m: type(m).__name__,
)
def test_the_forward_computes_what_it_computes_alone(model: nn.Module) -> None:
    seen: list[Tensor] = []
    model.eval().register_forward_hook(lambda _module, _args, output: seen.append(output.clone()))
    x = torch.randn(3, 4)
    assert traced(model, x).recording.error is None
    with torch.no_grad():
        model(x)
    assert torch.equal(seen[0], seen[1])


# ---- exceptions


def test_an_exception_is_kept_and_nothing_is_left_behind(untouched: Untouched) -> None:
    error = ValueError("bad shape")
    model, x = Raises(error).train(), torch.randn(3, 4)
    with untouched(model, (x,)):
        run = traced(model, x, training="keep")
    assert run.recording.error is error
    failure = run.recording.trace.failure
    assert failure is not None
    assert (failure.error_type, failure.message) == ("ValueError", "bad shape")
    assert failure.call is not None
    assert run.recording.trace.calls[failure.call].path == "bad"
    assert [leaf.spec.shape for leaf in failure.operands] == [(3, 4)]
    assert "raise self.error" in failure.location


def test_an_op_that_raises_is_named_with_its_operands() -> None:
    model = Do(lambda m, x: m.bad(m.a(x)), a=linear(), bad=Do(lambda _, x: x @ torch.ones(7, 2)))
    failure = traced(model, torch.randn(3, 4)).recording.trace.failure
    assert failure is not None
    assert failure.op_name == "matmul"
    assert [leaf.spec.shape for leaf in failure.operands] == [(3, 4), (7, 2)]


def test_the_exception_of_the_root_is_not_put_on_a_child_that_failed_before() -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        try:
            m.bad(x)
        except ZeroDivisionError:
            raise RuntimeError("gave up") from None

    def divide(_: nn.Module, x: Tensor) -> Tensor:
        raise ZeroDivisionError

    run = traced(Do(forward, bad=Do(divide)), torch.randn(3, 4))
    assert run.recording.trace.failure is not None
    assert run.recording.trace.failure.call == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_gets_through_and_nothing_is_left_behind(error: BaseException, untouched: Untouched) -> None:
    model, x = Raises(error).train(), torch.randn(3, 4)
    with pytest.raises(type(error)), untouched(model, (x,)):
        traced(model, x, training="keep")


def test_a_forward_that_needs_gradients_says_so() -> None:
    run = traced(Forces(), torch.randn(3, 3))
    assert run.recording.error is not None
    assert may_need_grad(run.recording.error)
    assert not may_need_grad(RuntimeError("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x4)"))


# ---- nothing is left behind


def test_state_of_the_model_is_put_back(untouched: Untouched) -> None:
    model, x = Remembers(), torch.randn(3, 4)
    with untouched(model, (x,)):
        assert traced(model, x).trace.calls[1].path == "a"


def test_written_parameters_are_put_back_and_named(untouched: Untouched) -> None:
    model, x = WritesParameter(), torch.randn(3, 4)
    with untouched(model, (x,)):
        assert traced(model, x).recording.written == ("memory",)


def test_arguments_that_the_forward_changes(untouched: Untouched) -> None:
    def forward(m: nn.Module, batch: dict[str, Any]) -> Tensor:
        x = batch.pop("x")
        batch["more"] = [x]
        x.sub_(x.mean())
        return m.a(x)

    model, batch = Do(forward, a=linear()), {"x": torch.randn(3, 4), "id": 7}
    with untouched(model, (batch,)):
        assert traced(model, (batch,)).edges(["a"]) == chain("input", "a", "output")


def test_input_gradients_and_hooks_stay(untouched: Untouched) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    x.grad = torch.ones(3, 4)
    x.register_hook(lambda grad: grad)
    model = Residual()
    model.a.weight.grad = torch.ones(4, 4)
    with untouched(model, (x,)):
        traced(model, x, grad=True)


def test_no_tensor_of_the_pass_is_kept_alive() -> None:
    kept: list[weakref.ref[Tensor]] = []
    model = Do(lambda m, x: (h := m.a(x), kept.append(weakref.ref(h)), h.relu())[2], a=linear())
    run = traced(model, torch.randn(3, 4, requires_grad=True), grad=True)
    gc.collect()
    assert run.recording.error is None
    assert [reference() for reference in kept] == [None]


def test_a_failed_pass_keeps_no_tensor_alive() -> None:
    kept: list[weakref.ref[Tensor]] = []
    model = Do(lambda m, x: (h := m.a(x), kept.append(weakref.ref(h)), h @ h)[2], a=linear())
    run = traced(model, torch.randn(3, 4))
    gc.collect()
    assert run.recording.error is not None
    assert [reference() for reference in kept] == [None]


def test_calls_without_dataflow(untouched: Untouched) -> None:
    model, x = Residual(), torch.randn(3, 4)
    run = traced(model, x)
    with untouched(model, (x,)):
        again = record_calls(model, run.inputs, record_conditions(model, torch.device("cpu"), "eval", grad=False))
    assert [call.path for call in again.trace.calls] == ["", "a", "b"]
    assert [leaf.spec.shape for leaf in again.trace.calls[1].outputs] == [(3, 4)]


class Probe(nn.Module):
    """Notes the strides of what it is given."""

    def __init__(self) -> None:
        super().__init__()
        seen: list[tuple[int, ...]] = []
        self.seen = lambda: seen

    def forward(self, x: Tensor) -> Tensor:
        self.seen().append(x.stride())
        return x + 1


def test_what_passes_through_a_module_keeps_its_strides() -> None:
    """Torch chooses kernels by them, and other kernels round otherwise."""
    probe = Probe()
    model = nn.Sequential(nn.Dropout(), nn.Identity(), probe).eval()
    x = torch.randn(1, 4, 5, 6).contiguous(memory_format=torch.channels_last)
    model(x)
    traced(model, x)
    assert len(probe.seen()) > 1
    assert set(probe.seen()) == {x.stride()}
