"""A borrowed model comes back as it was, whatever was done with it."""

from __future__ import annotations

import random
import sys
import threading
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from models import Do, Holder, Residual, linear, nest
from nf_widget import trace
from nf_widget.errors import StateWarning
from nf_widget.running import ModelState, borrowed, hooked, named_modules, record_conditions, run, runnable
from nf_widget.running.conditions import random_state

Untouched = Callable[..., Any]
CPU = torch.device("cpu")


def lent(model: nn.Module, **changes: Any) -> Any:
    """A context: the model is borrowed."""
    return borrowed(model, replace(record_conditions(model, CPU, "eval", grad=False), **changes))


class Full(nn.Module):
    """Has everything that can be changed."""

    def __init__(self) -> None:
        super().__init__()
        self.a = linear()
        self.register_buffer("mean", torch.zeros(4))
        self.plain = torch.zeros(4)
        self.count, self.name = 0, "full"
        self.items, self.table, self.names = [torch.zeros(2)], {"x": torch.zeros(2)}, {"a", "b"}
        self.queue, self.ordered = deque([1, 2]), OrderedDict(a=1, b=2)
        self.groups: dict[str, list[int]] = defaultdict(list, a=[1])
        self.pair = ([1], {"k": [2]})
        self.cache = Holder(layers=[Holder(key=None)], length=0)
        self.generator = torch.Generator().manual_seed(3)


CHANGES: dict[str, Callable[[Full], Any]] = {
    "buffer in place": lambda m: m.mean.add_(1),
    "buffer without a new version": lambda m: m.mean.data.add_(1),
    "buffer replaced": lambda m: setattr(m, "mean", torch.ones(4)),
    "buffer exchanged": lambda m: setattr(m.mean, "data", torch.ones(4)),
    "buffer resized": lambda m: m.mean.resize_(7),
    "buffer deleted": lambda m: delattr(m, "mean"),
    "attribute tensor": lambda m: m.plain.mul_(0).add_(2),
    "attribute": lambda m: setattr(m, "count", 5),
    "new attribute": lambda m: setattr(m, "fresh", 5),
    "attribute deleted": lambda m: delattr(m, "name"),
    "list": lambda m: m.items.append(torch.ones(1)),
    "tensor in a list": lambda m: m.items[0].add_(1),
    "list sorted": lambda m: m.pair[0].insert(0, 9),
    "dict": lambda m: m.table.update(y=1),
    "tensor in a dict": lambda m: m.table["x"].add_(1),
    "order of a dict": lambda m: m.ordered.move_to_end("a"),
    "set": lambda m: m.names.add("c"),
    "deque": lambda m: m.queue.popleft(),
    "default dict": lambda m: m.groups["b"].append(1),
    "list in a dict in a tuple": lambda m: m.pair[1]["k"].append(3),
    "object": lambda m: setattr(m.cache, "length", 4),
    "object in an object": lambda m: setattr(m.cache.layers[0], "key", torch.ones(2)),
    "generator": lambda m: torch.rand(2, generator=m.generator),
    "child replaced": lambda m: setattr(m, "a", linear()),
    "child added": lambda m: m.add_module("b", linear()),
    "parameter replaced": lambda m: setattr(m.a, "bias", None),
    "requires_grad": lambda m: m.a.weight.requires_grad_(False),
    "grad": lambda m: setattr(m.a.weight, "grad", torch.ones(4, 4)),
    "flags": lambda m: m.train(),
    "child added to a leaf": lambda m: m.a.add_module("b", linear()),
    "buffer added to a leaf": lambda m: m.a.register_buffer("extra", torch.zeros(1)),
    "hook": lambda m: m.a.register_forward_hook(lambda *_: None),
    "forward patched": lambda m: setattr(m.a, "forward", lambda x: x),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_undone(change: str, untouched: Untouched) -> None:
    model = Full().train()
    model.a.eval()
    with untouched(model), lent(model, flags=(True, False)):
        CHANGES[change](model)


@pytest.mark.parametrize("error", [ValueError(), KeyboardInterrupt()])
def test_changes_are_undone_when_the_body_raises(error: BaseException, untouched: Untouched) -> None:
    model = Full().train()

    def spoil() -> None:
        with lent(model):
            for change in CHANGES.values():
                change(model)
            raise error

    with untouched(model), pytest.raises(type(error)):
        spoil()


def test_a_parameter_that_is_kept_comes_back_in_its_own_memory(untouched: Untouched) -> None:
    model = linear()
    view = model.weight.detach()
    with untouched(model), lent(model) as state:
        state.keep(model.weight)
        state.keep(model.bias)
        model.weight.data = torch.zeros(4, 4)
        with torch.no_grad():
            model.bias.zero_()
        assert state.written() == ("weight", "bias")
    assert model.weight.data_ptr() == view.data_ptr()


def test_a_write_that_nobody_announced_is_warned_of() -> None:
    model = linear()
    with pytest.warns(StateWarning, match="wrote to weight; it could not be put back"), lent(model), torch.no_grad():
        model.weight.zero_()


def test_gradients_that_a_backward_adds_to_are_put_back(untouched: Untouched) -> None:
    model = linear()
    model.weight.grad = torch.ones(4, 4)
    with untouched(model), lent(model, grad=True):
        model(torch.randn(3, 4)).sum().backward()


@pytest.mark.parametrize("size", [4, 30_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float8_e4m3fn])
def test_buffers_that_were_written_unseen_are_put_back(size: int, dtype: torch.dtype, untouched: Untouched) -> None:
    model = linear()
    for name in ("first", "second", "third"):
        model.register_buffer(name, torch.ones(size).to(dtype))
    with untouched(model), lent(model, flags=(False,)):
        model.first.data.view(torch.uint8)[0] += 1
        model.second.view(torch.uint8).numpy()[0] += 1
        model.third.data = torch.zeros(2).to(dtype)


def test_buffers_that_are_not_written_keep_their_version() -> None:
    model = nn.BatchNorm1d(4).eval()
    version = model.running_mean._version
    with lent(model):
        model(torch.randn(3, 4))
    assert model.running_mean._version == version


def test_statistics_of_batch_norm_in_training(untouched: Untouched) -> None:
    model = nn.BatchNorm1d(4).train()
    with untouched(model), lent(model, flags=(True,)):
        model(torch.randn(3, 4))


def test_process_wide_settings_are_put_back(untouched: Untouched) -> None:
    model = Residual()
    with untouched(model), lent(model):
        torch.rand(3), random.random(), np.random.rand()
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(True)
        torch.use_deterministic_algorithms(True, warn_only=True)
        sys.setrecursionlimit(5_000)


def test_a_later_pass_runs_under_the_first_ones_conditions() -> None:
    torch.manual_seed(1)
    model = nn.Dropout()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        conditions = record_conditions(model, CPU, "keep", grad=True)
    state = random_state(CPU)
    torch.manual_seed(2)
    model.eval()
    with borrowed(model, conditions):
        assert torch.equal(torch.get_rng_state(), state.devices["cpu"])
        assert torch.is_autocast_enabled("cpu")
        assert torch.is_grad_enabled()
        assert model.training
    assert not model.training
    assert not torch.is_autocast_enabled("cpu")


def test_flags_are_those_of_each_module() -> None:
    model = nn.Sequential(linear(), nn.Dropout(), nn.Sequential(nn.Dropout())).train()
    model[2].eval()
    assert record_conditions(model, CPU, "keep", grad=False).flags == (True, True, True, False, False)
    with lent(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, True, True, False, False]


def test_train_and_eval_of_the_model_are_never_called() -> None:
    class Refuses(nn.Linear):
        def train(self, mode: bool = True) -> nn.Module:
            raise AssertionError("train was called")

    model = Refuses(4, 4)
    with lent(model):
        assert not model.training
    assert model.training


def test_one_borrower_at_a_time() -> None:
    model, order = linear(), []
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with lent(model):
            inside.set()
            go_on.wait(10)
            order.append("first")

    def second() -> None:
        inside.wait(10)
        with lent(model):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    inside.wait(10)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert order == ["first", "second"]


def test_a_borrower_may_borrow_again(untouched: Untouched) -> None:
    model = Full()
    with untouched(model), lent(model):
        model.count = 1
        with lent(model):
            model.count = 2
        assert model.count == 1


def test_modules_are_listed_as_torch_lists_them() -> None:
    shared = linear()
    model = Do(lambda m, x: x, a=nn.Sequential(shared, nn.ReLU()), b=nn.Sequential(nn.Sequential(shared), linear()))
    model.none = None
    model.register_module("missing", None)
    assert named_modules(model) == list(model.named_modules())
    deep = nest(50)
    assert named_modules(deep) == list(deep.named_modules())


def test_a_link_back_to_the_owner_gives_no_module_a_second_name() -> None:
    model = Do(lambda m, x: m.b(m.a(x)), a=linear(), b=linear())
    model.a.owner = weakref.proxy(model)  # torch takes it for a child
    assert [path for path, _ in named_modules(model)] == [path for path, _ in model.named_modules()]
    assert trace(model, torch.randn(3, 4), layers=["a", "b"]).verify().ok


_OUTSIDE: dict[str, tuple[Callable[[], Any], Callable[[Any], object], Callable[[Any], Any]]] = {
    "array": (lambda: np.zeros(3), lambda a: a.__iadd__(1), lambda a: a.tolist()),
    "generator": (lambda: np.random.default_rng(0), lambda g: g.random(), lambda g: g.bit_generator.state),
    "old generator": (lambda: np.random.RandomState(0), lambda g: g.rand(), lambda g: g.get_state()[2]),
    "Python's": (lambda: random.Random(0), lambda g: g.random(), lambda g: g.getstate()),
    "torch's": (torch.Generator, lambda g: torch.rand(1, generator=g), lambda g: g.get_state().tolist()),
}


@pytest.mark.parametrize("kind", _OUTSIDE)
def test_state_of_other_libraries_is_put_back(kind: str) -> None:
    make, change, state = _OUTSIDE[kind]
    held = make()
    model = Do(lambda m, x: m.b(m.a(x) * float(change(m.held) is not None)), a=linear(), b=linear(), held=held)
    before = state(held)
    flow = trace(model, torch.randn(3, 4), layers=["a", "b"])
    assert state(held) == before
    assert flow.verify().ok
    assert state(held) == before
    change(held)
    assert state(held) != before


def test_hooks_come_last_and_go(untouched: Untouched) -> None:
    model, x, order = Residual(), torch.randn(3, 4), []
    model.a.register_forward_pre_hook(lambda *_: order.append("user before"))
    model.a.register_forward_hook(lambda *_: order.append("user after"))
    with (
        untouched(model),
        hooked(
            [("a", model.a)],
            lambda path, _module, args, kwargs: order.append(f"enter {path} {len(args)} {sorted(kwargs)}"),
            lambda path, _module, args, kwargs, output: order.append(f"leave {path}"),
        ),
    ):
        model.a(input=x)
    assert order == ["user before", "enter a 0 ['input']", "user after", "leave a"]


def test_a_hook_may_give_another_output() -> None:
    model = Residual()
    with hooked([("a", model.a)], lambda *_: None, lambda _p, _m, _a, _k, output: output * 0):
        assert model.a(torch.randn(3, 4)).eq(0).all()


def test_a_lazy_model_is_run_as_a_copy() -> None:
    lazy = nn.LazyLinear(3)
    with pytest.warns(StateWarning, match="lazy modules"):
        copy = runnable(lazy)
    conditions = record_conditions(copy, CPU, "eval", grad=False)
    for _ in range(2):
        with borrowed(copy, conditions):
            assert run(copy, (torch.randn(2, 4),), {}).shape == (2, 3)
    assert lazy.has_uninitialized_params()
    assert runnable(copy) is copy


def test_a_snapshot_of_much_stays_bounded() -> None:
    model = linear()
    model.history = list(range(20_000))
    model.objects = [Holder(n=i) for i in range(50)]
    state = ModelState(model)
    model.history.append(1)
    model.objects[3].n = -1
    assert state.restore() == ()
    assert len(model.history) == 20_000
    assert model.objects[3].n == 3


@pytest.mark.parametrize("before", [lambda: None, np.random.randn, lambda: np.random.seed(5)])
@pytest.mark.parametrize(
    "drawn", [np.random.rand, np.random.randn, lambda: np.random.seed(3), lambda: np.random.permutation(700)]
)
def test_numbers_of_numpy_are_the_same_in_each_pass_and_afterwards_those_of_before(
    before: Callable[[], Any], drawn: Callable[[], Any]
) -> None:
    model, x = linear(), torch.zeros(1, 4)
    conditions = record_conditions(model, torch.device("cpu"), "eval", grad=False)
    before()
    first, kept = [], np.random.get_state()
    for _ in range(2):
        with borrowed(model, conditions):
            drawn()
            first.append(np.random.randn(3).tolist())
            model(x)
        after = np.random.get_state()
        assert all(np.array_equal(one, other) for one, other in zip(kept, after, strict=True))
    assert first[0] == first[1]
