"""One case of the table: a tiny net, its stages, and the edges that come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from graphs import chain, traced
from models import Do, linear

Edges = set[tuple[str, str]]
TWO = {("input", "a"), ("input", "b")}


@dataclass(frozen=True)
class Case:
    """`model` and `x` are made for each test. Edges that are `inferred` are listed there and in `edges`."""

    model: Callable[[], nn.Module]
    stages: str
    edges: Edges
    x: Callable[[], Any] = lambda: torch.randn(3, 4)
    kwargs: Callable[[], dict[str, Any]] = dict
    inferred: Edges = field(default_factory=set)
    # Edges of the law that no intervention can confirm, and why is said beside the case.
    silent: Edges = field(default_factory=set)
    # The same, and intervention sees that the value arrives.
    unread: Edges = field(default_factory=set)


def two(function: Callable[..., Any], **parts: Any) -> Callable[[], nn.Module]:
    """Two branches `a` and `b` that read the input, joined by `function(model, a's, b's)`."""
    return lambda: Do(lambda m, x: function(m, m.a(x), m.b(x)), a=linear(), b=linear(), **parts)


def joined(function: Callable[[Tensor, Tensor], Tensor]) -> Case:
    """Both branches reach the output through `function`."""
    return Case(two(lambda _, a, b: function(a, b)), "a b", TWO | {("a", "output"), ("b", "output")})


def line(function: Callable[[Tensor], Tensor]) -> Case:
    """`a`, then `function`, then the output."""
    return Case(lambda: Do(lambda m, x: function(m.a(x)), a=linear()), "a", chain("input", "a", "output"))


def written(function: Callable[[Tensor, Tensor], Any]) -> Case:
    """`function(a's, b's)` rewrites what `a` gave in place, with values of `b`'s; it is read afterwards."""

    def forward(_: nn.Module, a: Tensor, b: Tensor) -> Tensor:
        function(a, b)
        return a

    return Case(two(forward), "a b", TWO | {("a", "output"), ("b", "output")})


def check(case: Case, untouched: Callable[..., Any]) -> None:
    """The edges are those of the case, intervention confirms them, and nothing is left behind."""
    torch.manual_seed(0)
    model, x, kwargs = case.model().train(), case.x(), case.kwargs()
    with untouched(model, x if isinstance(x, tuple) else (x,), kwargs):
        run = traced(model, x, kwargs)
        stages = case.stages.split()
        assert run.edges(stages) == case.edges
        assert run.edges(stages, evidence="inferred") == case.inferred
        found = run.verified(stages)
        assert set(found.without_influence) == case.silent, found
        assert set(found.unread) == case.unread, found
        assert not found.unexplained, found
        assert not found.undecided, found
