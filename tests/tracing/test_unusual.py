"""Models that are hard to trace: deep, lazy, compiled, scripted, quantised, parametrised, threaded, without values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from graphs import chain, traced
from models import (
    Do,
    Hyper,
    Residual,
    Threads,
    linear,
    nest,
    quantised,
)
from nf_widget.running import runnable

Untouched = Callable[..., Any]


def test_nested_three_hundred_deep(untouched: Untouched) -> None:
    model, x = nest(300), torch.randn(3, 4)
    with untouched(model, (x,)):
        trace = traced(model, x).trace
    assert len(trace.calls) == 301
    assert trace.calls[-1].path == ".".join(["0"] * 300)


def test_lazy_modules_of_the_users_stay_lazy(untouched: Untouched) -> None:
    model, x = nn.Sequential(nn.LazyLinear(3), nn.ReLU()), torch.randn(2, 4)
    with untouched(model, (x,)), pytest.warns(UserWarning, match="lazy"):
        trace = traced(runnable(model), x).trace
    assert [call.type_name for call in trace.calls] == ["Sequential", "Linear", "ReLU"]
    assert trace.parameter_count == 15


def test_a_compiled_child_is_run_as_it_was_written(untouched: Untouched) -> None:
    model = Do(lambda m, x: m.b(m.a(x)), a=torch.compile(linear(), backend="eager"), b=linear())
    x = torch.randn(3, 4)
    with untouched(model, (x,)):
        run = traced(model, x)
    assert run.edges(["a", "b"]) == chain("input", "a", "b", "output")
    assert run.edges(["a._orig_mod", "b"]) == chain("input", "a._orig_mod", "b", "output")


def test_a_compiled_model() -> None:
    run = traced(torch.compile(Residual(), backend="eager"), torch.randn(3, 4))
    assert run.edges(["_orig_mod.a", "_orig_mod.b"]) == {
        *chain("input", "_orig_mod.a", "_orig_mod.b", "output"),
        ("_orig_mod.a", "output"),
    }


def test_data_parallel_on_the_cpu() -> None:
    run = traced(nn.DataParallel(Residual()), torch.randn(3, 4))
    assert run.edges(["module.a", "module.b"]) == {
        *chain("input", "module.a", "module.b", "output"),
        ("module.a", "output"),
    }


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm", "orthogonal"])
@pytest.mark.parametrize("training", ["eval", "keep"])
def test_parametrised_weights_have_no_source(kind: str, training: Any, untouched: Untouched) -> None:
    model = nn.Sequential(getattr(parametrizations, kind)(linear()), linear()).train()
    x = torch.randn(3, 4)
    with untouched(model, (x,)):
        run = traced(model, x, training=training)
        assert run.edges(["0", "1"]) == chain("input", "0", "1", "output")


def test_weights_made_by_another_stage_come_from_it(untouched: Untouched) -> None:
    model, x = Hyper(), (torch.randn(3, 4), torch.randn(2, 3))
    with untouched(model, x):
        assert ("hyper", "base") in traced(model, x).edges(["hyper", "base"])


def test_scripted_children_are_opaque_calls(untouched: Untouched) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.script(nn.Sequential(linear(), nn.ReLU()))
    model, x = Do(lambda m, x: m.b(m.mid(m.a(x))), a=linear(), mid=scripted, b=linear()), torch.randn(3, 4)
    with untouched(model, (x,)):
        run = traced(model, x)
    assert run.edges(["a", "mid", "b"]) == chain("input", "a", "mid", "b", "output")
    assert [op.kind for op in run.trace.ops if op.evidence == "inferred"] == ["opaque"]
    assert [note.kind for note in run.trace.notes] == ["opaque"]


def test_quantised_modules_are_opaque_calls() -> None:
    run = traced(quantised(), torch.randn(3, 4))
    assert run.edges(["0", "1", "2"]) == chain("input", "0", "1", "2", "output")


def test_code_that_is_not_seen_reads_what_was_made_and_not_used_yet() -> None:
    def hidden(x: Tensor) -> Tensor:
        with torch._C.DisableTorchFunction():
            return x * 2

    run = traced(Do(lambda m, x: m.b(hidden(m.a(x))), a=linear(), b=linear()), torch.randn(3, 4))
    assert ("a", "b") in run.edges(["a", "b"], evidence="inferred")
    assert ("b", "output") in run.edges(["a", "b"], evidence="traced")


def test_threads_are_traced_through(untouched: Untouched) -> None:
    model, x = Threads(), torch.randn(3, 4)
    with untouched(model, (x,)):
        run = traced(model, x)
    assert run.edges(["left", "right", "head"]) >= {
        ("input", "left"),
        ("input", "right"),
        ("left", "head"),
        ("right", "head"),
        ("head", "output"),
    }
    assert {call.path: call.parent for call in run.trace.calls} == {"": None, "left": 0, "right": 0, "head": 0}


def test_checkpointing_runs_a_block_once(untouched: Untouched) -> None:
    model = Do(lambda m, x: m.b(checkpoint(m.a, x, use_reentrant=False)), a=linear(), b=linear()).train()
    x = torch.randn(3, 4, requires_grad=True)
    with untouched(model, (x,)):
        run = traced(model, x, training="keep")
    assert [call.path for call in run.trace.calls] == ["", "a", "b"]
    assert run.edges(["a", "b"]) == chain("input", "a", "b", "output")


def test_models_and_inputs_made_in_inference_mode(untouched: Untouched) -> None:
    with torch.inference_mode():
        model, x = Do(lambda m, x: m.b(m.a(x).relu_()), a=linear(), b=linear()), torch.randn(3, 4)
    with untouched(model, (x,)):
        assert traced(model, x).edges(["a", "b"]) == chain("input", "a", "b", "output")
        with torch.inference_mode():
            assert traced(model, x).edges(["a", "b"]) == chain("input", "a", "b", "output")


def test_the_tensors_of_an_inference_forward_are_followed_through_writes() -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        with torch.inference_mode():
            h = m.a(x)
            h[:, 0] = m.b(x)[:, 0]
            h.mul_(2)
            return h

    run = traced(Do(forward, a=linear(), b=linear()), torch.randn(3, 4))
    assert run.edges(["a", "b"]) == {("input", "a"), ("input", "b"), ("a", "output"), ("b", "output")}


def test_meta_tensors_have_edges() -> None:
    run = traced(nn.Sequential(nn.Linear(4, 4, device="meta"), nn.ReLU()), torch.empty(3, 4, device="meta"))
    assert run.edges(["0", "1"]) == chain("input", "0", "1", "output")
