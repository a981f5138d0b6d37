"""Modules of random programs: what torch runs, and what the law's machine makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from topology.program_ops import WIDTH, Fits, apart_for_sure, either, may_write, mixed_rows, same_shapes, wide
from topology.taint import Machine, Mirror


@dataclass(frozen=True, slots=True)
class Kind:
    """`make(model)` builds the module; `mirror` does what its forward does; `inner` are the paths of its children."""

    arity: int
    make: Callable[[nn.Module], nn.Module]
    call: Callable[[Any, list[Tensor]], list[Tensor]]
    mirror: Callable[[Machine, list[Mirror], dict[int, Mirror], Callable[..., Any]], list[Mirror]]
    fits: Fits = lambda m, n: True
    inner: tuple[str, ...] = ()
    result: bool = True


def _one(module: Any, t: list[Tensor]) -> list[Tensor]:
    return [module(*t)]


def _dense(k: Machine, m: list[Mirror], *_: Any) -> list[Mirror]:
    return [k.compute(m[0].shape, m, mixed_rows)]


def _entrywise(k: Machine, m: list[Mirror], *_: Any) -> list[Mirror]:
    return [k.compute(m[0].shape, m, either)]


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.norm(x)


class Pair(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.sin(), x + 1


class Both(nn.Module):
    """Passes its argument on beside something new."""

    def forward(self, x: Tensor) -> dict[str, Any]:
        return {"same": x, "new": [x.sin(), None]}


class Look(nn.Module):
    """Gives a view."""

    def forward(self, x: Tensor) -> Tensor:
        return x[..., ::2]


class FirstRow(nn.Module):
    """Rewrites a part of its argument and gives nothing."""

    def forward(self, x: Tensor) -> None:
        x[0].mul_(2)


class Accumulate(nn.Module):
    """Rewrites one argument, passes the other on."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x.add_(y)
        return y


class SumList(nn.Module):
    def forward(self, tensors: list[Tensor]) -> Tensor:
        return torch.stack([t.sin() for t in tensors]).sum(0)


class Append(nn.Module):
    """Lengthens the list that it is given."""

    def forward(self, tensors: list[Tensor]) -> None:
        tensors.append(tensors[0].sin())


class Keep(nn.Module):
    """Leaves one tensor of its own, and its argument, on attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.own: Tensor | None = None
        self.given: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        self.own, self.given = x.sin(), x
        return x * 2


class Recall(nn.Module):
    """Reads what the first `Keep` of the model left, by attribute alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.keeper = [model]

    def forward(self, x: Tensor) -> Tensor:
        left = [m for m in self.keeper[0].children() if isinstance(m, Keep)]
        if not left or left[0].own is None or left[0].own.shape != x.shape:
            return x.sin()
        return x + left[0].own.sin() + left[0].given


class Stir(nn.Module):
    """Rewrites what the first `Keep` left, by attribute alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.keeper = [model]

    def forward(self, x: Tensor) -> None:
        left = [m for m in self.keeper[0].children() if isinstance(m, Keep)]
        if left and left[0].own is not None and left[0].own.shape == x.shape:
            left[0].own.add_(x)


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.act = nn.LeakyReLU(0.1, inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.first(x)) + x


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(self.inner(x).sin())


def _mirror_pair(k: Machine, m: list[Mirror], *_: Any) -> list[Mirror]:
    return [k.compute(m[0].shape, m, either), k.compute(m[0].shape, m, either)]


def _mirror_both(k: Machine, m: list[Mirror], *_: Any) -> list[Mirror]:
    return [m[0], k.compute(m[0].shape, m, either)]


def _mirror_inplace(k: Machine, m: list[Mirror], *_: Any) -> list[Mirror]:
    k.write(m[0], [], entries=either)
    return [m[0]]


def _mirror_first_row(k: Machine, m: list[Mirror], *_: Any) -> list[Mirror]:
    k.receive([m[0]])
    k.write(Mirror(m[0].taint[0:1], m[0].stamp[0:1], m[0].over), [], entries=either)
    return []


def _mirror_accumulate(k: Machine, m: list[Mirror], *_: Any) -> list[Mirror]:
    k.write(m[0], [m[1]], entries=either)
    return [m[1]]


def _mirror_keep(k: Machine, m: list[Mirror], memory: dict[int, Mirror], *_: Any) -> list[Mirror]:
    memory[-1], memory[-2] = k.compute(m[0].shape, m, either), m[0]
    return [k.compute(m[0].shape, m, either)]


def _mirror_recall(k: Machine, m: list[Mirror], memory: dict[int, Mirror], *_: Any) -> list[Mirror]:
    if 0 in memory and memory[0].shape == m[0].shape:
        return [k.compute(m[0].shape, [m[0], memory[0], memory[1]], either)]
    return [k.compute(m[0].shape, m, either)]


def _mirror_stir(k: Machine, m: list[Mirror], memory: dict[int, Mirror], *_: Any) -> list[Mirror]:
    if 0 in memory and memory[0].shape == m[0].shape:
        k.write(memory[0], [m[0]], entries=either)
    return []


def _mirror_nested(k: Machine, m: list[Mirror], _memory: Any, inner: Callable[..., Any]) -> list[Mirror]:
    (first,) = inner("first", m, lambda given: _dense(k, given))
    (acted,) = inner("act", [first], lambda given: _mirror_inplace(k, given))
    return [k.compute(m[0].shape, [acted, m[0]], either)]


def _mirror_twice(k: Machine, m: list[Mirror], _memory: Any, inner: Callable[..., Any]) -> list[Mirror]:
    (once,) = inner("inner", m, lambda given: _dense(k, given))
    (again,) = inner("inner", [k.compute(once.shape, [once], either)], lambda given: _dense(k, given))
    return [again]


def _call_append(module: Any, t: list[Tensor]) -> list[Tensor]:
    tensors = [t[0], t[1]]
    module(tensors)
    return tensors[2:]


def _call_both(module: Any, t: list[Tensor]) -> list[Tensor]:
    result = module(t[0])
    return [result["same"], result["new"][0]]


def _call_none(module: Any, t: list[Tensor]) -> list[Tensor]:
    module(*t)
    return []


MODULES: dict[str, Kind] = {
    "Linear": Kind(1, lambda _: nn.Linear(WIDTH, WIDTH), _one, _dense, wide),
    "Norm": Kind(1, lambda _: Norm(), _one, _dense, wide),
    "Leaky": Kind(1, lambda _: nn.LeakyReLU(0.1), _one, _entrywise),
    "LeakyInPlace": Kind(1, lambda _: nn.LeakyReLU(0.1, inplace=True), _one, _mirror_inplace, may_write),
    "Identity": Kind(1, lambda _: nn.Identity(), _one, lambda k, m, *_: [m[0]]),
    "Dropout": Kind(1, lambda _: nn.Dropout(), _one, lambda k, m, *_: [m[0]]),
    "Pair": Kind(1, lambda _: Pair(), lambda mod, t: list(mod(t[0])), _mirror_pair),
    "Both": Kind(1, lambda _: Both(), _call_both, _mirror_both),
    "Look": Kind(
        1, lambda _: Look(), _one, lambda k, m, *_: [k.view(m[0], lambda a: a[..., ::2])], lambda m, n: m[0].shape != ()
    ),
    "FirstRow": Kind(
        1, lambda _: FirstRow(), _call_none, _mirror_first_row, lambda m, n: m[0].writable and len(m[0].shape) >= 1
    ),
    "Accumulate": Kind(2, lambda _: Accumulate(), _one, _mirror_accumulate, apart_for_sure),
    "SumList": Kind(2, lambda _: SumList(), lambda mod, t: [mod(t)], _entrywise, same_shapes),
    "Append": Kind(2, lambda _: Append(), _call_append, lambda k, m, *_: [k.compute(m[0].shape, [m[0]], either)]),
    "Keep": Kind(1, lambda _: Keep(), _one, _mirror_keep),
    "Recall": Kind(1, Recall, _one, _mirror_recall),
    "Stir": Kind(1, Stir, _call_none, _mirror_stir),
    "Nested": Kind(1, lambda _: Nested(), _one, _mirror_nested, wide, ("first", "act")),
    "Twice": Kind(1, lambda _: Twice(), _one, _mirror_twice, wide, ("inner",)),
}
