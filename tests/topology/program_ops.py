"""Ops of random programs: what torch runs, and what the law's machine makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from topology.taint import Bits, Machine, Mirror

WIDTH = 6
INDEX = [0, 2]
_WEIGHT = torch.linspace(-1, 1, WIDTH * WIDTH, dtype=torch.float64).reshape(WIDTH, WIDTH).sin()

Fits = Callable[[Sequence[Mirror], Sequence[int]], bool]


@dataclass(frozen=True, slots=True)
class Op:
    """`run` in torch, `mirror` on the machine: both give the new tensors. `fits` says which operands will do."""

    arity: int
    run: Callable[[list[Tensor], tuple[int, ...]], list[Tensor]]
    mirror: Callable[[Machine, list[Mirror], tuple[int, ...]], list[Mirror]]
    fits: Fits = lambda m, n: True
    numbers: int = 0


def same_shapes(m: Sequence[Mirror], _n: Sequence[int]) -> bool:
    return all(x.shape == m[0].shape for x in m)


def _apart(target: Mirror, others: Sequence[Mirror]) -> bool:
    """Nothing but the very same region may share memory with what is written: torch refuses, or leaves it open."""
    return all(
        not target.overlaps(o)
        or (
            o.taint.__array_interface__["data"] == target.taint.__array_interface__["data"]
            and o.taint.strides == target.taint.strides
            and o.shape == target.shape
        )
        for o in others
    )


def may_write(m: Sequence[Mirror], _n: Sequence[int]) -> bool:
    return m[0].writable and same_shapes(m, _n) and _apart(m[0], m[1:])


def apart_for_sure(m: Sequence[Mirror], _n: Sequence[int]) -> bool:
    return m[0].writable and same_shapes(m, _n) and not any(m[0].overlaps(o) for o in m[1:])


def either(*arrays: Bits) -> Bits:
    out = arrays[0]
    for array in arrays[1:]:
        out = out | array
    return out


def _each(function: Callable[..., Tensor], arity: int) -> Op:
    """Entry by entry, shapes equal."""
    return Op(arity, lambda t, n: [function(*t)], lambda k, m, n: [k.compute(m[0].shape, m, either)], same_shapes)


def _in_place(function: Callable[..., Any], arity: int) -> Op:
    def run(t: list[Tensor], n: tuple[int, ...]) -> list[Tensor]:
        function(*t)
        return []

    def mirror(k: Machine, m: list[Mirror], n: tuple[int, ...]) -> list[Mirror]:
        k.write(m[0], m[1:], entries=either)
        return []

    return Op(arity, run, mirror, may_write)


def _overwrite(function: Callable[..., Any], arity: int, fits: Fits = apart_for_sure) -> Op:
    def run(t: list[Tensor], n: tuple[int, ...]) -> list[Tensor]:
        function(*t)
        return []

    def mirror(k: Machine, m: list[Mirror], n: tuple[int, ...]) -> list[Mirror]:
        k.write(m[0], m[1:], overwrite=True, entries=lambda *a: either(*a) if a else np.zeros(m[0].shape, np.int64))
        return []

    return Op(arity, run, mirror, fits)


def _view(
    look: Callable[[Any, tuple[int, ...]], Any],
    fits: Fits = lambda m, n: True,
    *,
    numbers: int = 0,
    numpy: Callable[[Any, tuple[int, ...]], Any] | None = None,
    writable: bool = True,
) -> Op:
    mirror_look = numpy or look
    return Op(
        1,
        lambda t, n: [look(t[0], n)],
        lambda k, m, n: [k.view(m[0], lambda a: mirror_look(a, n), writable=writable)],
        fits,
        numbers,
    )


def _parts(look: Callable[[Any], list[Any]], numpy: Callable[[Any], list[Any]], fits: Fits) -> Op:
    def mirror(k: Machine, m: list[Mirror], n: tuple[int, ...]) -> list[Mirror]:
        count = len(numpy(m[0].taint))
        return [k.view(m[0], lambda a, i=i: numpy(a)[i]) for i in range(count)]

    return Op(1, lambda t, n: look(t[0]), mirror, fits)


def _set_rows(t: list[Tensor], n: tuple[int, ...]) -> list[Tensor]:
    t[0][n[0] % 2 : n[0] % 2 + 2] = t[1]
    return []


def _mirror_set_rows(k: Machine, m: list[Mirror], n: tuple[int, ...]) -> list[Mirror]:
    low = n[0] % 2
    part = Mirror(m[0].taint[low : low + 2], m[0].stamp[low : low + 2], m[0].over)
    k.write(part, [m[1]], overwrite=True, entries=either)
    return []


def _mirror_put(k: Machine, m: list[Mirror], n: tuple[int, ...]) -> list[Mirror]:
    def rows(target: Bits, value: Bits) -> Bits:
        out = target.copy()
        out[INDEX] = value
        return out

    k.write(m[0], [m[1]], entries=rows)
    return []


def _put(t: list[Tensor], n: tuple[int, ...]) -> list[Tensor]:
    t[0].index_put_((torch.tensor(INDEX),), t[1])
    return []


def _set_listed(t: list[Tensor], n: tuple[int, ...]) -> list[Tensor]:
    t[0][INDEX] = t[1]
    return []


def _two_rows(m: Sequence[Mirror], n: Sequence[int]) -> bool:
    target, value = m
    if not (target.writable and len(target.shape) == len(value.shape) >= 1 and target.shape[0] >= 3):
        return False
    return value.shape == (2, *target.shape[1:]) and not target.overlaps(value)


def _foreach(t: list[Tensor], n: tuple[int, ...]) -> list[Tensor]:
    torch._foreach_add_(t[:2], t[2:])
    return []


def _mirror_foreach(k: Machine, m: list[Mirror], n: tuple[int, ...]) -> list[Mirror]:
    k.write(m[0], [m[2]], entries=either)
    k.write(m[1], [m[3]], entries=either)
    return []


def _foreach_fits(m: Sequence[Mirror], n: Sequence[int]) -> bool:
    written, read = m[:2], m[2:]
    return (
        same_shapes(m, n)
        and all(w.writable for w in written)
        and not written[0].overlaps(written[1])
        and not any(w.overlaps(r) for w in written for r in read)
    )


def _where(t: list[Tensor], n: tuple[int, ...]) -> list[Tensor]:
    return [torch.where(torch.from_numpy(_checks(t[0].shape)), t[0], t[1])]


def _checks(shape: Sequence[int]) -> np.ndarray:
    return np.asarray(np.indices(tuple(shape)).sum(axis=0) % 2 == 0).reshape(tuple(shape))


def _mirror_where(k: Machine, m: list[Mirror], n: tuple[int, ...]) -> list[Mirror]:
    return [k.compute(m[0].shape, m, lambda a, b: np.where(_checks(a.shape), a, b))]


def wide(m: Sequence[Mirror], _n: Sequence[int]) -> bool:
    return len(m[0].shape) >= 1 and m[0].shape[-1] == WIDTH


def _axes(count: int) -> Fits:
    return lambda m, n: len(m[0].shape) >= count and min(m[0].shape) >= 2


def _flat(m: Sequence[Mirror], _n: Sequence[int]) -> bool:
    return m[0].is_flat and m[0].writable


def _stackable(m: Sequence[Mirror], _n: Sequence[int]) -> bool:
    return same_shapes(m, _n) and 1 <= len(m[0].shape) <= 2


def _leaky(t: Tensor) -> None:
    F.leaky_relu(t, 0.1, inplace=True)


def _iadd(a: Tensor, b: Tensor) -> None:
    a += b


def _set_all(a: Tensor, b: Tensor) -> None:
    a[...] = b


def _halves(a: Any) -> list[Any]:
    middle = -(-a.shape[-1] // 2)
    return [a[..., :middle], a[..., middle:]]


OPS: dict[str, Op] = {
    "sin": _each(torch.sin, 1),
    "add": _each(lambda a, b: a + b, 2),
    "modulate": _each(lambda a, b: a + b.sin(), 2),
    "lerp": _each(lambda a, b: torch.lerp(a, b, 0.3), 2),
    "sum of list": _each(lambda *t: sum(t[1:], t[0]), 3),
    "clone": _each(torch.clone, 1),
    "where": Op(2, _where, _mirror_where, same_shapes),
    "linear": Op(
        1, lambda t, n: [F.linear(t[0], _WEIGHT)], lambda k, m, n: [k.compute(m[0].shape, m, mixed_rows)], wide
    ),
    "mean": Op(1, lambda t, n: [t[0].mean(0)], lambda k, m, n: [k.compute(m[0].shape[1:], m, _down)], _axes(1)),
    "cat": Op(
        2,
        lambda t, n: [torch.cat(t)],
        lambda k, m, n: [k.compute((2 * m[0].shape[0], *m[0].shape[1:]), m, lambda *a: np.concatenate(a))],
        _stackable,
    ),
    "stack": Op(
        2,
        lambda t, n: [torch.stack(t)],
        lambda k, m, n: [k.compute((2, *m[0].shape), m, lambda *a: np.stack(a))],
        _stackable,
    ),
    "einsum": Op(
        2,
        lambda t, n: [torch.einsum("ij,kj->ik", t[0], t[1].sin())],
        lambda k, m, n: [k.compute((m[0].shape[0], m[1].shape[0]), m, _outer)],
        lambda m, n: all(len(x.shape) == 2 for x in m) and m[0].shape[1] == m[1].shape[1],
    ),
    # views
    "T": _view(lambda a, n: a.T, lambda m, n: len(m[0].shape) == 2),
    "row": _view(lambda a, n: a[n[0] % 2, ...], _axes(1), numbers=1),
    "rows": _view(lambda a, n: a[n[0] % 2 : n[0] % 2 + 2], _axes(1), numbers=1),
    "columns": _view(lambda a, n: a[..., n[0] % 2 :: 2], _axes(1), numbers=1),
    "column": _view(lambda a, n: a[:, n[0] % 2, ...], _axes(2), numbers=1),
    "flatten": _view(lambda a, n: a.view(-1), _flat, numpy=lambda a, n: a.reshape(-1)),
    "unsqueeze": _view(lambda a, n: a[None], lambda m, n: len(m[0].shape) < 3),
    "detach": _view(lambda a, n: a.detach(), numpy=lambda a, n: a[...]),
    "data": _view(lambda a, n: a.data, numpy=lambda a, n: a[...]),
    "expand": _view(
        lambda a, n: a.expand(2, *a.shape),
        lambda m, n: len(m[0].shape) < 3,
        numpy=lambda a, n: np.broadcast_to(a, (2, *a.shape)),
        writable=False,
    ),
    "chunk": _parts(lambda t: list(t.chunk(2, -1)), _halves, _axes(1)),
    "split": _parts(lambda t: list(t.split([1, t.shape[0] - 1])), lambda a: [a[:1], a[1:]], _axes(1)),
    "unbind": _parts(lambda t: list(t.unbind(0))[:2], lambda a: [a[0, ...], a[1, ...]], _axes(1)),
    # writes
    "add_": _in_place(lambda a, b: a.add_(b), 2),
    "iadd": _in_place(_iadd, 2),
    "mul_": _in_place(lambda a, b: a.mul_(b.sin() + 1.5), 2),
    "sin_": _in_place(lambda a: a.sin_(), 1),
    "leaky_relu_": _in_place(_leaky, 1),
    "data add_": _in_place(lambda a, b: a.data.add_(b), 2),
    "copy_": _overwrite(lambda a, b: a.copy_(b), 2),
    "set all": _overwrite(_set_all, 2),
    "fill_": _overwrite(lambda a: a.fill_(0.5), 1),
    "out=": _overwrite(lambda a, b, c: torch.add(b, c, out=a), 3),
    "set rows": Op(2, _set_rows, _mirror_set_rows, _two_rows, 1),
    "index_put_": Op(2, _put, _mirror_put, _two_rows),
    "set listed rows": Op(2, _set_listed, _mirror_put, _two_rows),
    "_foreach_add_": Op(4, _foreach, _mirror_foreach, _foreach_fits),
}


def mixed_rows(a: Bits) -> Bits:
    return np.broadcast_to(np.bitwise_or.reduce(a, axis=-1, keepdims=True), a.shape)


def _down(a: Bits) -> Bits:
    return np.bitwise_or.reduce(a, axis=0)


def _outer(a: Bits, b: Bits) -> Bits:
    return np.bitwise_or.reduce(a, axis=1)[:, None] | np.bitwise_or.reduce(b, axis=1)[None]
