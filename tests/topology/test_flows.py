"""Modules, containers, and ways around arguments: which edges they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from graphs import chain
from models import (
    Box,
    Cached,
    Do,
    Holder,
    Hyper,
    Loop,
    Pair,
    Recursive,
    Result,
    SharedReLU,
    SkipsByHook,
    StraightThrough,
    Tagged,
    linear,
)
from topology.case import TWO, Case, check, two


def _grow(m: nn.Module, x: Tensor) -> Tensor:
    features = m.back(x)
    features.append(m.extra(features[-1]))
    return torch.cat(m.neck(features), -1)


def _numpy(m: nn.Module, x: Tensor) -> Tensor:
    return m.b(torch.from_numpy(m.a(x).numpy() * 2))


def _listed(m: nn.Module, x: Tensor) -> Tensor:
    return m.b(torch.tensor(m.a(x).tolist()))


def _keep(m: nn.Module, x: Tensor) -> Tensor:
    m.last = x.sin()
    return x + 1


def _closed_over() -> nn.Module:
    table = torch.randn(4)
    return Do(lambda m, x: m.a(x) + table, a=linear())


def _cached(m: nn.Module, x: Tensor, cache: dict[str, Tensor]) -> Tensor:
    m.fill(x, cache)
    return m.read(cache)


def _fill(_: nn.Module, x: Tensor, cache: dict[str, Tensor]) -> None:
    cache["key"] = x * 2


def _branch(m: nn.Module, x: Tensor) -> Tensor:
    h = m.a(x)
    return m.b(h) if bool((h.abs() >= 0).all()) else m.c(h)


def _gives(kind: Callable[[Tensor, Tensor], Any], take: Callable[[Any], Tensor]) -> Case:
    """`part` gives a container; `b` reads one tensor of it."""
    return Case(
        lambda: Do(
            lambda m, x: m.b(take(m.part(m.a(x)))), a=linear(), b=linear(), part=Do(lambda _, h: kind(h * 2, h + 1))
        ),
        "a part b",
        chain("input", "a", "part", "b", "output"),
    )


CASES: dict[str, Case] = {
    # modules
    "identity is a stage": Case(
        lambda: Do(lambda m, x: m.b(m.idn(h := m.a(x))) + h, a=linear(), idn=nn.Identity(), b=linear()),
        "a idn b",
        {*chain("input", "a", "idn", "b", "output"), ("a", "output")},
    ),
    "dropout in eval is a stage": Case(
        lambda: nn.Sequential(linear(), nn.Dropout(), nn.Dropout(), linear()),
        "0 1 2 3",
        chain("input", "0", "1", "2", "3", "output"),
    ),
    "an input is passed on": Case(
        lambda: Do(lambda m, x: (x, m.a(x)), a=linear()),
        "a",
        {("input", "a"), ("input", "output:0"), ("a", "output:1")},
    ),
    "one module, two parents": Case(
        SharedReLU,
        "first.0 first.1 second.0",
        {
            *chain("input", "first.0", "first.1#0", "second.0", "first.1#1", "output"),
            ("first.1#0", "output"),
        },
    ),
    "a module calls itself": Case(
        lambda: Recursive(3), "layer", chain("input", "layer#0", "layer#1", "layer#2", "output")
    ),
    "a loop": Case(
        Loop,
        "cell head",
        {*chain("cell#0", "cell#1", "cell#2", "head", "output")} | {("input", f"cell#{i}") for i in range(3)},
        x=lambda: torch.randn(2, 3, 4),
    ),
    "forward is called directly": Case(
        lambda: Do(lambda m, x: m.c(m.b.forward(m.a(x))), a=linear(), b=linear(), c=linear()),
        "a b c",
        chain("input", "a", "c", "output"),
    ),
    "called out of order": Case(
        lambda: Do(
            lambda m, x: m.join(torch.maximum(m.left(t := m.top(x)), m.right(t)) - t),
            join=linear(),
            right=linear(),
            left=linear(),
            top=linear(),
        ),
        "top left right join",
        {("input", "top"), ("join", "output")}
        | {
            (a, b) for a, b in (("top", "left"), ("top", "right"), ("top", "join"), ("left", "join"), ("right", "join"))
        },
    ),
    "lstm": Case(
        lambda: Do(
            lambda m, x: (m.head(m.rnn(x)[0][:, -1]), m.rnn(x)[1][1][-1]),
            rnn=nn.LSTM(4, 4, batch_first=True),
            head=linear(),
        ),
        "rnn head",
        {
            ("input", "rnn#0"),
            ("input", "rnn#1"),
            *chain("rnn#0", "head", "output:0"),
            ("rnn#1", "output:1"),
        },
        x=lambda: torch.randn(2, 3, 4),
    ),
    "multi-head attention": Case(
        lambda: Do(
            lambda m, x: dict(zip(("y", "w"), m.mha(m.q(x), x, m.v(x)), strict=True)),
            q=linear(),
            v=linear(),
            mha=nn.MultiheadAttention(4, 2, batch_first=True),
        ),
        "q v mha",
        {
            ("input", "q"),
            ("input", "v"),
            ("input", "mha"),
            ("q", "mha"),
            ("v", "mha"),
            ("mha", "output:y"),
            ("mha", "output:w"),
        },
        x=lambda: torch.randn(2, 3, 4),
    ),
    "encoder layers": Case(
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2, enable_nested_tensor=False
        ),
        "layers.0 layers.1",
        chain("input", "layers.0", "layers.1", "output"),
        x=lambda: torch.randn(2, 3, 4),
    ),
    "inside an encoder layer": Case(
        lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
        "self_attn norm1 linear1 linear2 norm2",
        {
            *chain("input", "self_attn", "norm1", "linear1", "linear2", "norm2", "output"),
            ("input", "norm1"),
            ("norm1", "norm2"),
        },
        x=lambda: torch.randn(2, 3, 4),
    ),
    # containers
    "tuple": _gives(lambda p, q: (p, q), lambda r: r[1]),
    "list": _gives(lambda p, q: [p, [q]], lambda r: r[1][0]),
    "dict with None": _gives(lambda p, q: {"p": p, "none": None, "q": [q]}, lambda r: r["q"][0]),
    "named tuple": _gives(lambda p, q: Pair(p, None), lambda r: r.value),
    "dataclass": _gives(lambda p, q: Box(q), lambda r: r.value),
    "keys as attributes": _gives(lambda p, q: Result(logits=p, aux=q), lambda r: r.logits),
    "outputs of all kinds": Case(
        two(lambda _, a, b: {"first": a, "more": [b, None, (a + b,)], "count": 3, "kind": "demo"}),
        "a b",
        TWO | {("a", "output:first"), ("b", "output:more.0"), ("a", "output:more.2.0"), ("b", "output:more.2.0")},
    ),
    "a tuple is one argument": Case(
        lambda: Do(lambda m, xs: m.a(xs[0]) + m.b(xs[1]), a=linear(), b=linear()),
        "a b",
        {("input:args.0", "a"), ("input:args.1", "b"), ("a", "output"), ("b", "output")},
        x=lambda: ((torch.randn(3, 4), torch.randn(3, 4)),),
    ),
    "keywords": Case(
        lambda: Do(
            lambda m, *, ids, mask: m.a(m.emb(ids)).masked_fill(~mask[..., None], 0.0),
            emb=nn.Embedding(9, 4),
            a=linear(),
        ),
        "emb a",
        {*chain("input:ids", "emb", "a", "output"), ("input:mask", "output")},
        x=lambda: None,
        kwargs=lambda: {"ids": torch.arange(6).view(2, 3), "mask": torch.eye(2, 3) > 0},
    ),
    "a list grows after it was given": Case(
        lambda: Do(
            _grow,
            back=Do(lambda m, x: [x * 2, m.c(x)], c=linear()),
            extra=linear(),
            neck=Do(lambda m, feats: [m.fc(f) for f in feats], fc=linear()),
        ),
        "back extra neck",
        {*chain("input", "back", "extra", "neck", "output"), ("back", "neck")},
    ),
    "a cache is filled by one and read by another": Case(
        lambda: Do(_cached, fill=Do(_fill), read=Do(lambda m, cache: cache["key"] + 1)),
        "fill read",
        chain("input", "fill", "read", "output"),
        x=lambda: (torch.randn(3, 4), {}),
    ),
    "a plain object is given": Case(
        lambda: Do(lambda m, x: m.read(Holder(h=m.a(x), n=3)), a=linear(), read=Do(lambda _, holder: holder.h * 2)),
        "a read",
        chain("input", "a", "read", "output"),
    ),
    "a cache of all layers is given to each": Case(
        Cached,
        "layers.0 layers.1 layers.2",
        chain("input", "layers.0", "layers.1", "layers.2", "output"),
    ),
    # past arguments
    "left on an attribute": Case(
        lambda: Do(lambda m, x: m.a(m.keep(x)) + m.keep.last, keep=Do(_keep), a=linear()),
        "a keep",
        {*chain("input", "keep", "a", "output"), ("keep", "output")},
    ),
    "stored by a hook of the user's": Case(
        SkipsByHook, "down middle up", {*chain("input", "down", "middle", "up", "output"), ("down", "up")}
    ),
    "weights made by another stage": Case(
        Hyper,
        "hyper base head",
        {("input:condition", "hyper"), ("input:x", "base"), *chain("hyper", "base", "head", "output")},
        x=lambda: (torch.randn(3, 4), torch.randn(2, 3)),
    ),
    # no source
    "a constant": Case(_closed_over, "a", chain("input", "a", "output")),
    "shape and dtype make no edge": Case(
        two(lambda _, a, b: a + torch.zeros_like(b) + b.new_ones(b.shape)), "a b", TWO | {("a", "output")}
    ),
    "Python numbers make no edge": Case(
        two(lambda _, a, b: a * float(b.sum()) + b.mean().item()), "a b", TWO | {("a", "output")}
    ),
    "the branch that was taken": Case(
        lambda: Do(_branch, a=linear(), b=linear(), c=linear()), "a b c", chain("input", "a", "b", "output")
    ),
    # unusual tensors
    "integers and booleans": Case(
        lambda: Do(
            lambda m, ids: m.head(m.table(m.pick(h := m.emb(ids))) * m.gate(h)),
            emb=nn.Embedding(9, 4),
            pick=Do(lambda _, h: h.argmax(-1)),
            gate=Do(lambda _, h: h > 0),
            table=nn.Embedding(4, 4),
            head=linear(),
        ),
        "emb pick gate table head",
        {*chain("input", "emb", "pick", "table", "head", "output"), *chain("emb", "gate", "head")},
        x=lambda: torch.arange(6).view(2, 3),
    ),
    "sparse": Case(
        lambda: Do(lambda m, x, adj: m.norm(adj) @ m.a(x), norm=Do(lambda _, adj: (adj * 0.5).coalesce()), a=linear()),
        "norm a",
        {*chain("input:args.1", "norm", "output"), *chain("input:args.0", "a", "output")},
        x=lambda: (torch.randn(3, 4), torch.eye(3).to_sparse()),
    ),
    "half precision and autocast": Case(
        lambda: Do(
            lambda m, x: m.b(m.a(x.bfloat16()).float()).half(), a=nn.Linear(4, 4, dtype=torch.bfloat16), b=linear()
        ),
        "a b",
        chain("input", "a", "b", "output"),
    ),
    "complex": Case(
        lambda: Do(lambda m, x: m.wave(m.a(x)).abs(), a=linear(), wave=Do(lambda _, h: torch.fft.fft(h))),
        "a wave",
        chain("input", "a", "wave", "output"),
    ),
    "not finite": Case(
        lambda: Do(lambda m, x: m.bad(m.a(x)), a=linear(), bad=Do(lambda _, h: h / (h * 0))),
        "a bad",
        chain("input", "a", "bad", "output"),
        unread={("a", "bad")},
    ),
    "a subclass of tensors": Case(
        lambda: Do(lambda m, x: m.b(torch.relu(m.a(x)) + x), a=linear(), b=linear()),
        "a b",
        {*chain("input", "a", "b", "output"), ("input", "b")},
        x=lambda: torch.randn(3, 4).as_subclass(Tagged),
    ),
    # unseen code
    "own gradient": Case(
        lambda: Do(lambda m, x: m.b(StraightThrough.apply(m.a(x) * 3)), a=linear(), b=linear()),
        "a b",
        chain("input", "a", "b", "output"),
    ),
    "through NumPy": Case(
        lambda: Do(_numpy, a=linear(), b=linear()), "a b", chain("input", "a", "b", "output"), inferred={("a", "b")}
    ),
    "through a list": Case(
        lambda: Do(_listed, a=linear(), b=linear()), "a b", chain("input", "a", "b", "output"), inferred={("a", "b")}
    ),
    # ends
    "a stage that feeds nothing": Case(
        lambda: Do(lambda m, x: (m.aux(h := m.a(x)), h)[1], a=linear(), aux=linear()),
        "a aux",
        {*chain("input", "a", "output"), ("a", "aux")},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_edges(name: str, untouched: Any) -> None:
    check(CASES[name], untouched)
