"""What holds for every model: random trees of modules, drawn by hypothesis."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nf_widget.records import CallId, Trace
from nf_widget.selection import children, expand, select, stage_id
from selection.traces import check, ids, traced

WIDTH = 4


class Residual(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return x + self.inner(x)


class Joined(nn.Module):
    """Branches side by side, concatenated along the tokens."""

    def __init__(self, branches: list[nn.Module]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Again(nn.Module):
    """One module, called several times."""

    def __init__(self, inner: nn.Module, times: int) -> None:
        super().__init__()
        self.inner, self.times = inner, times

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            x = self.inner(x)
        return x


class Pool(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.avg_pool1d(x.transpose(1, 2), 2, ceil_mode=True).transpose(1, 2)


class Constant(nn.Module):
    """Gives the same for every input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, 1, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight.expand(x.shape)


class Mute(nn.Module):
    """Calls a layer and throws its result away."""

    def __init__(self) -> None:
        super().__init__()
        self.aside = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        self.aside(x)
        return x


LEAVES: list[Callable[[], nn.Module]] = [
    lambda: nn.Linear(WIDTH, WIDTH), lambda: nn.LayerNorm(WIDTH), nn.ReLU, nn.Identity, nn.Dropout, Pool, Constant,
    Mute,
]  # fmt: skip


def _wrapped(inner: st.SearchStrategy[nn.Module]) -> st.SearchStrategy[nn.Module]:
    several = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        several.map(lambda parts: nn.Sequential(*parts)),
        several.map(lambda parts: nn.Sequential(*(nn.Sequential(part) for part in parts))),
        several.map(Joined),
        st.builds(Again, inner, st.integers(1, 5)),
        st.builds(lambda n: nn.Sequential(*(Residual(nn.Linear(WIDTH, WIDTH)) for _ in range(n))), st.integers(1, 15)),
    )


MODELS = st.recursive(st.sampled_from(LEAVES).map(lambda make: make()), _wrapped, max_leaves=12)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(MODELS, st.integers(1, 16), st.integers(1, 3), st.data())
def test_any_tree(model: nn.Module, most: int, batch: int, data: st.DataObject) -> None:
    trace = traced(nn.Sequential(model, nn.Linear(WIDTH, 2)).eval(), torch.ones(batch, 3, WIDTH))
    base = select(trace, max_stages=most)
    check(trace, base)
    assert 1 <= len(base.stages) <= max(1, most - 2)
    assert not base.groups
    assert all(trace.calls[call].outputs for call in base.stages)
    assert select(trace, max_stages=most) == base
    _expands(trace, data)
    check(trace, select(trace, layers="leaves"))


def _expands(trace: Trace, data: st.DataObject) -> None:
    """Any set of ids may be expanded, in any order, and collapsing is leaving out."""
    base = select(trace)
    every = [str(stage_id(trace, call.id)) for call in trace.calls]
    wanted = data.draw(st.lists(st.sampled_from(every), unique=True))
    expanded = expand(trace, base, wanted)
    check(trace, expanded)
    assert expand(trace, base, wanted[::-1]) == expanded
    assert set(ids(trace, expanded.groups)) <= set(wanted)
    for call in expanded.stages:
        inside = children(trace, call)
        assert (call in expanded.expandable) == bool(inside)
        assert not inside or str(stage_id(trace, call)) not in wanted
    whole = expand(trace, base, every)
    check(trace, whole)
    assert not whole.expandable


class Stream(nn.Module):
    """A residual stream: each layer reads what all before it gave."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


FAMILIES: dict[str, Callable[[int], nn.Module]] = {
    "chain": lambda n: nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(n))),
    "stream": Stream,
    "branches": lambda n: Joined([nn.Linear(WIDTH, WIDTH) for _ in range(n)]),
    "blocks": lambda n: nn.Sequential(
        *(nn.Sequential(*(Residual(nn.Linear(WIDTH, WIDTH)) for _ in range(10))) for _ in range(n // 10))
    ),
    "containers": lambda n: nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(n))),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_work_grows_with_the_calls_and_not_with_their_square(name: str) -> None:
    small, large = (_work(FAMILIES[name](size)) for size in (200, 800))
    assert large < 5 * small


def _work(model: nn.Module) -> int:
    """Python and C functions called by a selection, by name and automatic, with everything inside opened."""
    trace = traced(model.eval(), torch.ones(1, 3, WIDTH))
    count = 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        base = select(trace)
        leaves = select(trace, layers="leaves", exclude=["re:nothing"], labels={"0": "first"})
        expand(trace, base, [str(stage_id(trace, call)) for call in base.stages])
        for call in leaves.stages:
            children(trace, CallId(call))
    finally:
        sys.setprofile(before)
    return count
