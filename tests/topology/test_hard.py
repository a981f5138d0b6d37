"""Models that trip up other tools, as a user meets them: edges, values and warnings, and everything as it was."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from graphs import chain
from models import Do, InPlaceReLU, linear
from nf_widget import Flow, trace
from nf_widget.errors import NotRunWarning, StateWarning

Untouched = Callable[..., Any]
AB = chain("input", "a", "b", "output")


def edges(flow: Flow) -> set[tuple[str, str]]:
    return {(str(edge.source), str(edge.target)) for edge in flow.graph.edges}


def two(function: Callable[..., Any], **parts: Any) -> nn.Module:
    return Do(function, **{"a": linear(), "b": linear(), **parts})


# ---- values are those of the moment at which a stage gave them


def test_a_picture_shows_the_value_before_the_next_stage_rewrites_it(untouched: Untouched) -> None:
    model, x = InPlaceReLU(), torch.randn(3, 4)
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["a", "act", "b"])
        found = flow.activation("a")
    assert torch.equal(found, model.a(x))
    assert torch.equal(flow.activation("act"), model.a(x).relu())
    assert edges(flow) == {*chain("input", "a", "act", "b", "output"), ("act", "output")}


def test_a_list_that_grows_later_is_as_long_as_it_was_given() -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        features = m.back(x)
        features.append(m.b(features[-1]))
        return m.neck(features)

    back = Do(lambda _, x: [x * 2, x + 1])
    model, x = two(forward, back=back, neck=Do(lambda _, given: torch.cat(given))), torch.randn(3, 4)
    flow = trace(model, x, layers=["back", "b", "neck"])
    assert list(flow.activation("back")) == ["0", "1"]
    assert edges(flow) == {*chain("input", "back", "b", "neck", "output"), ("back", "neck")}


# ---- hooks of the user's


@pytest.mark.parametrize("everywhere", [False, True], ids=["on modules", "on all modules"])
def test_hooks_that_change_values_count_and_stay(everywhere: bool, untouched: Untouched) -> None:
    def before(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return (args[0] * 3,) if module is model.b else None

    def after(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor | None:
        return output + args[0] if module is model.a else None

    model, x = two(lambda m, x: m.b(m.a(x))), torch.randn(3, 4)
    if everywhere:
        handles = [
            nn.modules.module.register_module_forward_pre_hook(before),
            nn.modules.module.register_module_forward_hook(after),
        ]
    else:
        handles = [model.b.register_forward_pre_hook(before), model.a.register_forward_hook(after)]
    try:
        with untouched(model, (x,)):
            flow = trace(model, x, layers=["a", "b"])
            shown = flow.activation("a"), flow.activation("b"), flow.verify()
        with torch.no_grad():
            output = model(x)
    finally:
        for handle in handles:
            handle.remove()
    assert edges(flow) == AB
    assert shown[2].ok
    assert torch.equal(shown[0], model.a(x) + x)
    assert torch.equal(shown[1], output)


# ---- what did not run


def test_a_module_run_by_its_forward_is_named_and_its_ops_belong_to_the_caller() -> None:
    model = two(lambda m, x: m.b(m.mid.forward(m.a(x))), mid=linear())
    with pytest.warns(NotRunWarning, match="mid"):
        flow = trace(model, torch.randn(3, 4), layers=["a", "mid", "b"])
    assert edges(flow) == AB
    assert flow.edge("a", "b").via == ("linear",)


def test_a_projection_whose_weight_alone_is_used_is_named() -> None:
    model = two(lambda m, x: m.b(m.att(h := m.a(x), h, h)[0]), att=nn.MultiheadAttention(4, 2, batch_first=True))
    with pytest.warns(NotRunWarning, match=r"att\.out_proj"):
        flow = trace(model, torch.randn(2, 3, 4), layers=["a", "att.out_proj", "b"])
    assert edges(flow) == AB


@pytest.mark.parametrize("ask", [lambda m: m.training, lambda m: torch.is_grad_enabled()], ids=["training", "grad"])
def test_a_branch_that_was_not_taken_is_named(ask: Callable[[nn.Module], bool], untouched: Untouched) -> None:
    model, x = two(lambda m, x: {"main": m.a(x), **({"aux": m.b(x)} if ask(m) else {})}).train(), torch.randn(3, 4)
    with untouched(model, (x,)), pytest.warns(NotRunWarning, match="b"):
        flow = trace(model, x, layers=["a", "b"])
    assert edges(flow) == chain("input", "a", "output")


# ---- two names, many modules, strict forwards


def test_an_encoder_shared_with_another_model_under_two_names(untouched: Untouched) -> None:
    encoder = nn.Sequential(linear(), nn.BatchNorm1d(4))
    model = Do(lambda m, x: m.head(m.also(x)), enc=encoder, also=encoder, head=linear()).eval()
    other = nn.Sequential(encoder, linear()).train()
    x = torch.randn(3, 4)
    with untouched(model, (x,)), untouched(other):
        flow = trace(model, x, layers=["also", "head"])
    assert edges(flow) == chain("input", "enc", "head", "output")


def test_of_fifteen_hundred_modules_a_dozen_are_shown(untouched: Untouched) -> None:
    blocks = (Do(lambda m, x: x + m.body(x), body=nn.Sequential(linear(), nn.ReLU(), linear())) for _ in range(300))
    model, x = nn.Sequential(*blocks), torch.randn(3, 4)
    with untouched(model, (x,)):
        flow = trace(model, x)
    assert 2 < len(flow.graph.stages) <= 14
    assert all(edge.evidence == "traced" for edge in flow.graph.edges)


def test_a_forward_that_insists_on_exact_types(untouched: Untouched) -> None:
    def strict(m: nn.Module, x: Tensor, options: dict[str, float]) -> Tensor:
        h = m.a(x)
        if not (type(x) is type(h) is Tensor and type(options) is dict and type(options["scale"]) is float):
            raise TypeError(f"{type(x)}, {type(h)}, {type(options)}")
        return m.b(h) * options["scale"]

    model, x = two(strict), (torch.randn(3, 4), {"scale": 2.0})
    with untouched(model, x):
        assert edges(trace(model, x, layers=["a", "b"])) == chain("input", "a", "b", "output")


def test_a_forward_that_takes_from_the_users_dict_and_writes_to_its_tensor(untouched: Untouched) -> None:
    def forward(m: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        x = batch.pop("x")
        x -= x.mean()
        return m.b(m.a(x))

    model, batch = two(forward), {"x": torch.randn(3, 4)}
    with untouched(model, (batch,)):
        flow = trace(model, (batch,), layers=["a", "b"])
        assert edges(flow) == chain("input", "a", "b", "output")
        assert flow.verify().ok


# ---- gradients inside


def _hooked(m: nn.Module, x: Tensor) -> Tensor:
    h = m.a(x)
    h.register_hook(lambda gradient: gradient * 2)
    return m.b(h)


def _asserted(m: nn.Module, x: Tensor) -> Tensor:
    h = m.a(x)
    assert h.requires_grad
    return m.b(h)


def _by_hand(m: nn.Module, x: Tensor) -> Tensor:
    h = m.a(x)
    h.retain_grad()
    m.b(h).sum().backward()
    return h - h.grad


def _penalty(m: nn.Module, x: Tensor) -> Tensor:
    x = x.detach().requires_grad_()
    y = m.b(m.a(x).tanh())
    if y.grad_fn is not None:
        y.sum().backward()
    return y + x.grad.norm()


@pytest.mark.parametrize("forward", [_hooked, _asserted, _by_hand, _penalty])
def test_a_forward_that_needs_gradients_is_given_them(forward: Callable[..., Tensor], untouched: Untouched) -> None:
    model, x = two(forward), torch.randn(3, 4)
    model(x)  # runs as the user runs it
    model.zero_grad()
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["a", "b"])
        assert edges(flow) >= {("input", "a"), ("a", "b")}
        assert torch.isfinite(flow.activation("a")).all()


def test_a_forward_that_fails_with_gradients_too_gives_its_own_exception(untouched: Untouched) -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        assert x.shape[1] == 5, "five features"
        return m.a(x)

    model, x = two(forward), torch.randn(3, 4)
    with untouched(model, (x,)), pytest.raises(AssertionError, match="five features"):
        trace(model, x)


# ---- tensors that are no plain ones


class Boxed(torch.Tensor):
    """Keeps its values in another tensor, and has no memory of its own."""

    @staticmethod
    def __new__(cls, inner: Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        taken, named = torch.utils._pytree.tree_map_only(cls, lambda t: t.inner, (args, kwargs or {}))
        return torch.utils._pytree.tree_map_only(Tensor, cls, func(*taken, **named))


def test_tensors_that_keep_their_values_in_others(untouched: Untouched) -> None:
    model, x = two(lambda m, x: m.b(m.a(Boxed(x)).relu().inner)), torch.randn(3, 4)
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["a", "b"])
        found = flow.verify()
    assert edges(flow) >= AB
    assert found.ok, found


def test_a_stage_inside_of_vmap(untouched: Untouched) -> None:
    model, x = two(lambda m, x: m.b(torch.func.vmap(m.a)(x))), torch.randn(3, 4)
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["a", "b"])
        assert torch.equal(flow.activation("a"), model.a(x))
        assert flow.summary("a").spec.shape == (3, 4)
        found = flow.verify()
    assert edges(flow) == {*AB, ("input", "a"), ("b", "output")}
    assert found.ok, found
    assert ("input", "b") in found.undecided  # it runs through what cannot be held


def test_an_error_inside_of_vmap_can_be_shown(untouched: Untouched) -> None:
    model = two(lambda m, x: m.b(torch.func.vmap(lambda row: m.a(row) @ torch.ones(5, 5))(x)))
    x = torch.randn(3, 4)
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["a"], errors="show")
    assert flow.trace.failure is not None
    assert flow.trace.failure.op_name == "matmul"
    assert ("input", "a") in edges(flow)


def test_ragged_tensors(untouched: Untouched) -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        ragged = torch.nested.as_nested_tensor([x[:1], x], layout=torch.jagged)
        return m.b(m.a(ragged).values())

    model, x = two(forward), torch.randn(3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls them a prototype
        with untouched(model, (x,)):
            flow = trace(model, x, layers=["a", "b"])
            found = flow.verify()
    assert edges(flow) == AB
    assert found.ok, found


def test_a_packed_sequence_has_sizes_that_stay_as_they_are(untouched: Untouched) -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        packed = pack_padded_sequence(m.a(x), torch.tensor([3, 2]), batch_first=True)
        return m.b(pad_packed_sequence(m.rnn(packed)[0], batch_first=True)[0])

    model, x = two(forward, rnn=nn.GRU(4, 4, batch_first=True)), torch.randn(2, 3, 4)
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["a", "rnn", "b"])
        found = flow.verify()
    assert edges(flow) == chain("input", "a", "rnn", "b", "output")
    assert found.confirmed == 4, found


def test_a_function_with_two_results(untouched: Untouched) -> None:
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
            return x * 2, x + 1

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> Tensor:
            return grads[0] * 2 + grads[1]

    def forward(m: nn.Module, x: Tensor) -> Tensor:
        first, second = Two.apply(m.a(x))
        return m.b(first) + m.c(second)

    model, x = two(forward, c=linear()), torch.randn(3, 4)
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["a", "b", "c"])
    assert edges(flow) == {("input", "a"), ("a", "b"), ("a", "c"), ("b", "output"), ("c", "output")}


def test_experts_that_rows_are_sent_to(untouched: Untouched) -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        weights = m.gate(x).softmax(-1)
        best, out = weights.argmax(-1), torch.zeros_like(x)
        for index, expert in enumerate(m.experts):
            rows = (best == index).nonzero().squeeze(-1)
            if rows.numel():
                out.index_add_(0, rows, expert(x[rows]) * weights[rows, index, None])
        return out

    torch.manual_seed(0)
    model, x = Do(forward, gate=linear(4, 2), experts=nn.ModuleList([linear(), linear()])), torch.randn(6, 4)
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["gate", "experts.0", "experts.1"])
        found = flow.verify()
    experts = {"experts.0", "experts.1"}
    assert edges(flow) == {
        ("input", "gate"),
        ("gate", "output"),
        *((source, expert) for source in ("input", "gate") for expert in experts),
        *((expert, "output") for expert in experts),
    }
    assert found.ok, found


def test_lazy_modules_with_lazy_buffers(untouched: Untouched) -> None:
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Conv2d(4, 2, 1))
    x = torch.randn(2, 3, 8, 8)
    with untouched(model, (x,)), pytest.warns(StateWarning, match="lazy"):
        flow = trace(model, x, layers=["0", "1", "2"])
    assert edges(flow) == chain("input", "0", "1", "2", "output")
    assert flow.stage("1").parameter_count == 8


# ---- nothing is left behind


def test_verifying_puts_back_parameters_whose_memory_is_exchanged(untouched: Untouched) -> None:
    def forward(m: nn.Module, x: Tensor) -> Tensor:
        h = m.a(x)
        m.b.weight.data = h.T @ h
        return m.b(x)

    model, x = two(forward), torch.randn(3, 4)
    with untouched(model, (x,)):
        flow = trace(model, x, layers=["a", "b"])
        assert edges(flow) == {("input", "a"), ("input", "b"), ("a", "b"), ("b", "output")}
        assert flow.verify().ok


def test_traces_that_are_let_go_leave_no_tensor_alive() -> None:
    alive: list[weakref.ref[Tensor]] = []
    model = two(lambda m, x: m.b(m.a(x)))
    model.a.register_forward_hook(lambda _module, _args, output: alive.append(weakref.ref(output)))
    x = torch.randn(3, 4, requires_grad=True)
    x.grad = torch.ones(3, 4)
    before = x.grad.clone()
    for _ in range(5):
        flow = trace(model, x, layers=["a", "b"])
        flow.activation("a"), flow.verify()
        assert not flow.activation("a").requires_grad
        del flow
    gc.collect()
    assert alive
    assert not any(tensor() is not None for tensor in alive)
    assert torch.equal(x.grad, before)
    assert not x._backward_hooks


def test_weights_that_are_learnt_in_the_forward_come_from_what_they_were_learnt_on() -> None:
    def forward(self: Do, x: Tensor) -> Tensor:
        with torch.enable_grad():
            weights = {name: p.detach().clone().requires_grad_() for name, p in self.fast.named_parameters()}
            loss = (functional_call(self.fast, weights, (self.key(x).detach(),)) - self.value(x).detach()).pow(2).mean()
            steps = torch.autograd.grad(loss, list(weights.values()))
            weights = {name: (p - g).detach() for (name, p), g in zip(weights.items(), steps, strict=True)}
        return self.out(functional_call(self.fast, weights, (x,)))

    model = Do(forward, fast=linear(), key=linear(), value=linear(), out=linear()).eval()
    flow = trace(model, torch.randn(3, 4), layers=["fast", "key", "value", "out"])
    assert {("key", "fast#1"), ("value", "fast#1"), ("fast#0", "fast#1")} < edges(flow)
    assert flow.verify().ok


def test_a_backward_pass_and_an_optimiser_in_the_forward() -> None:
    def forward(self: Do, x: Tensor) -> Tensor:
        with torch.enable_grad():
            optimiser = torch.optim.SGD(self.fast.parameters(), lr=0.1)
            loss = self.fast(self.key(x).detach()).pow(2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return self.out(self.fast(x))

    model = Do(forward, fast=linear(), key=linear(), out=linear()).eval()
    before = model.fast.weight.clone()
    flow = trace(model, torch.randn(3, 4), layers=["fast", "key", "out"])
    assert {("key", "fast#1"), ("fast#0", "fast#1")} < edges(flow)
    assert flow.verify().ok
    assert torch.equal(model.fast.weight, before)
    assert model.fast.weight.grad is None


def test_collecting_what_a_pass_left_does_not_unfreeze_what_the_user_froze() -> None:
    outside = torch.ones(4)
    model = Do(lambda self, x: self.a(x) * outside, a=linear()).eval()
    trace(model, torch.randn(3, 4))
    assert gc.get_freeze_count() == 0
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        trace(model, torch.randn(3, 4))
        assert gc.get_freeze_count() > frozen / 2
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("out_dims", [0, 1])
def test_what_vmap_gives_out_comes_from_what_was_computed_inside(out_dims: int) -> None:
    def forward(self: Do, x: Tensor) -> Tensor:
        first, second = self.a(x), self.b(x)
        return first + self.c(torch.vmap(torch.sin, in_dims=out_dims, out_dims=out_dims)(second))

    flow = trace(Do(forward, a=linear(), b=linear(), c=linear()).eval(), torch.randn(3, 4), layers=["a", "b", "c"])
    assert {edge for edge in edges(flow) if edge[1] == "c"} == {("b", "c")}
    assert flow.verify().ok
