"""Ops, properties and in-place writes between two stages: which edges they make."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphs import chain
from models import (
    Do,
    InPlaceReLU,
    Residual,
    linear,
)
from topology.case import TWO, Case, check, joined, line, two, written


def _set_rows(a: Tensor, b: Tensor) -> None:
    a[:, 0] = b[:, 1]


def _iadd(a: Tensor, b: Tensor) -> None:
    a += b


def _into_fresh(m: nn.Module, x: Tensor) -> Tensor:
    fresh = x.new_zeros(x.shape[0], 8)
    fresh[:, :4] = m.a(x)
    fresh[:, 4:] = m.b(x)
    return m.head(fresh)


def _read_half(m: nn.Module, x: Tensor) -> Tensor:
    fresh = x.new_zeros(x.shape[0], 8)
    fresh[:, :4] = m.a(x)
    fresh[:, 4:] = m.b(x)
    return fresh[:, 5:]


def _write_view_read_base(_: nn.Module, a: Tensor, b: Tensor) -> Tensor:
    part = a[:, 0]
    part.add_(b[:, 0])
    return a


def _write_view_read_other_view(_: nn.Module, a: Tensor, b: Tensor) -> Tensor:
    left = a[:, :3]
    a[:, 1:].add_(b[:, 1:])
    return left


def _write_view_read_apart(_: nn.Module, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    left, right = a.chunk(2, 1)
    right.add_(b[:, 2:])
    return left, right


def _overwritten(_: nn.Module, a: Tensor, b: Tensor) -> Tensor:
    a.copy_(b)
    return a


def _out(_: nn.Module, a: Tensor, b: Tensor) -> Tensor:
    into = torch.empty_like(a)
    torch.mul(b, 2, out=into)
    return into


def _unpack(_: nn.Module, a: Tensor, b: Tensor) -> Tensor:
    first, *_rest = torch.stack([a, b])
    return first + 1


CASES: dict[str, Case] = {
    # every operand's source is a source
    "residual": Case(Residual, "a b", {*chain("input", "a", "b", "output"), ("a", "output")}),
    "cat": joined(lambda a, b: torch.cat([a, b], 1)),
    "stack": joined(lambda a, b: torch.stack([a, b])),
    "where": joined(lambda a, b: torch.where(a > 0, a, b)),
    "where by mask": joined(lambda a, b: a.masked_fill(b > 0, 0.5)),
    "einsum": joined(lambda a, b: torch.einsum("ij,kj->ik", a, b)),
    "einsum of a list": joined(lambda a, b: torch.einsum("ij,kj->ik", [a, b])),
    "index by a tensor": joined(lambda a, b: a[torch.arange(3), (b.abs() * 9).long()[:, 0] % 4]),
    "gather": joined(lambda a, b: a.gather(1, b.argsort(1))),
    "maximum": joined(torch.maximum),
    "attention": joined(lambda a, b: F.scaled_dot_product_attention(a, b, b, is_causal=True)),
    "sum of a generator": joined(lambda a, b: sum(t for t in (a, b))),
    "broadcast": joined(lambda a, b: torch.broadcast_tensors(a, b[:1])[0] + b),
    "foreach": joined(lambda a, b: torch._foreach_add([a], [b])[0]),
    "keyword operands": joined(lambda a, b: torch.addcmul(input=a, tensor1=b, tensor2=b)),
    "unpacking a tensor": Case(two(_unpack), "a b", TWO | {("a", "output"), ("b", "output")}, silent={("b", "output")}),
    "pairwise results": Case(
        two(lambda _, a, b: torch.meshgrid(a[:, 0], b[:, 0], indexing="ij")[0]), "a b", TWO | {("a", "output")}
    ),
    "chunk and gate": line(lambda h: h.chunk(2, 1)[0] * h.chunk(2, 1)[1].sigmoid()),
    "split": line(lambda h: h.split([1, 3], 1)[1]),
    "unbind": line(lambda h: h.unbind(1)[2]),
    "iteration": line(lambda h: torch.stack(list(h))),
    "select": line(lambda h: h[:, 0]),
    "reversed": line(lambda h: torch.stack(list(reversed(h)))),
    # properties
    "T": line(lambda h: h.T),
    "mT": line(lambda h: h.mT),
    "real": line(lambda h: torch.complex(h, h).real),
    "imag": line(lambda h: torch.view_as_complex(h.view(3, 2, 2)).imag),
    "data": line(lambda h: h.data),
    "detach": line(lambda h: h.detach()),
    "contiguous": line(lambda h: h.contiguous()),
    "to": line(lambda h: h.to(torch.float32)),
    "double": line(lambda h: h.double()),
    # writes
    "iadd": written(_iadd),
    "add_": written(lambda a, b: a.add_(b)),
    "set item": written(_set_rows),
    "index_put_": written(lambda a, b: a.index_put_((torch.tensor([0, 2]),), b[:2])),
    "index_copy_": written(lambda a, b: a.index_copy_(0, torch.tensor([0, 2]), b[:2])),
    "masked_scatter_": written(lambda a, b: a.masked_scatter_(torch.eye(3, 4) > 0, b)),
    "lerp_": written(lambda a, b: a.lerp_(b, 0.5)),
    "data add_": written(lambda a, b: a.data.add_(b)),
    "foreach in place": written(lambda a, b: torch._foreach_mul_([a], [b])),
    "copy_": Case(two(_overwritten), "a b", TWO | {("b", "output")}),
    "out=": Case(two(_out), "a b", TWO | {("b", "output")}),
    "slices of a fresh tensor": Case(
        lambda: Do(_into_fresh, a=linear(), b=linear(), head=linear(8, 2)),
        "a b head",
        TWO | {("a", "head"), ("b", "head"), ("head", "output")},
    ),
    "the other half is read": Case(lambda: Do(_read_half, a=linear(), b=linear()), "a b", TWO | {("b", "output")}),
    "a view is written, the base read": Case(
        two(_write_view_read_base), "a b", TWO | {("a", "output"), ("b", "output")}
    ),
    "a view is written, another read": Case(
        two(_write_view_read_other_view), "a b", TWO | {("a", "output"), ("b", "output")}
    ),
    "a view is written, one apart read": Case(
        two(_write_view_read_apart),
        "a b",
        TWO | {("a", "output:0"), ("a", "output:1"), ("b", "output:1")},
    ),
    "relu in place": Case(InPlaceReLU, "a act b", {*chain("input", "a", "act", "b", "output"), ("act", "output")}),
}


@pytest.mark.parametrize("name", CASES)
def test_edges(name: str, untouched: Any) -> None:
    check(CASES[name], untouched)
