"""Tiny nets, named by the feature that makes them hard. `Do` has its forward written where it is used."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

FEATURES = 4


def linear(features: int = FEATURES, out: int | None = None) -> nn.Linear:
    return nn.Linear(features, features if out is None else out)


class Do(nn.Module):
    """`forward(*args, **kwargs)` is `function(self, *args, **kwargs)`; keywords become children or attributes."""

    def __init__(self, function: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self, *args, **kwargs)


class Residual(nn.Module):
    """`x -> a -> b`, and what `a` gave is added to what `b` gives."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = linear(), linear()

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        return self.b(h) + h


class InPlaceReLU(nn.Module):
    """A ReLU rewrites what `a` gave; the skip then reads what the ReLU wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.act, self.b = linear(), nn.ReLU(inplace=True), linear()

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        return self.b(self.act(h)) + h


class SharedReLU(nn.Module):
    """One activation under two names in two blocks, called by each."""

    def __init__(self) -> None:
        super().__init__()
        act = nn.Tanh()
        self.first = nn.Sequential(linear(), act)
        self.second = nn.Sequential(linear(), act)

    def forward(self, x: Tensor) -> Tensor:
        h = self.first(x)
        return self.second(h) + h


class Loop(nn.Module):
    """One cell, called once for each step of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.LSTMCell(FEATURES, FEATURES), linear()

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[0], FEATURES)
        for step in range(x.shape[1]):
            h, c = self.cell(x[:, step], (h, c))
        return self.head(h)


class Recursive(nn.Module):
    """A module that calls itself."""

    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layer, self.depth = linear(), depth

    def forward(self, x: Tensor, left: int | None = None) -> Tensor:
        left = self.depth if left is None else left
        return self(self.layer(x), left=left - 1) if left else x


class Raises(nn.Module):
    """Raises between `a` and `b`, after batch norm has changed its statistics."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.a, self.norm, self.bad, self.b = linear(), nn.BatchNorm1d(FEATURES), Do(self._raise), linear()
        self.__dict__["error"] = error

    def _raise(self, _module: nn.Module, x: Tensor) -> Tensor:
        raise self.error

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.bad(self.norm(self.a(x))))


class Catches(nn.Module):
    """Goes on after a child has raised."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.bad, self.b = linear(), Do(lambda _, x: x @ x.new_ones(7, 7)), linear()

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        try:
            h = self.bad(h)
        except RuntimeError:
            h = h * 2
        return self.b(h)


class Hyper(nn.Module):
    """The weights of `base` are made by `hyper`: data flows through parameters, not arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.hyper, self.base, self.head = linear(3, FEATURES**2 + FEATURES), linear(), linear(FEATURES, 2)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        made = self.hyper(condition).mean(0)
        weights = {"weight": made[: FEATURES**2].view(FEATURES, FEATURES), "bias": made[FEATURES**2 :]}
        return self.head(torch.func.functional_call(self.base, weights, (x,)))


class SkipsByHook(nn.Module):
    """The user's own hook stores what `down` gave; `up` takes it from the list."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle, self.up = linear(), linear(), linear(2 * FEATURES, 2)
        self.skips: list[Tensor] = []
        self.down.register_forward_hook(lambda _module, _args, output: self.skips.append(output))

    def forward(self, x: Tensor) -> Tensor:
        h = self.middle(self.down(x))
        return self.up(torch.cat([h, self.skips.pop()], 1))


class Remembers(nn.Module):
    """Counts its calls, keeps a list and a dict, and moves a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.a = linear()
        self.calls, self.seen, self.cache = 0, [], {}
        self.register_buffer("mean", torch.zeros(FEATURES))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        h = self.a(x) + self.mean
        self.seen.append(h)
        self.cache[self.calls] = {"h": h}
        self.mean.mul_(0.9).add_(h.mean(0))
        self.last = h
        return h


class WritesParameter(nn.Module):
    """Spends its own weight as a memory."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.memory = linear(), nn.Parameter(torch.zeros(FEATURES))

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        with torch.no_grad():
            self.memory += h.mean(0).detach()
        return h + self.memory


class Forces(nn.Module):
    """Energy, and its gradient by the positions, taken inside the forward."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.energy = linear(3, FEATURES), linear(FEATURES, 1)

    def forward(self, positions: Tensor) -> dict[str, Tensor]:
        positions = positions.detach().requires_grad_()
        energy = self.energy(self.embed(positions).tanh()).sum()
        (gradient,) = torch.autograd.grad(energy, positions)
        return {"energy": energy, "forces": -gradient}


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return grads[0]


class Threads(nn.Module):
    """Two branches, each in a thread of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.head = linear(), linear(), linear()

    def forward(self, x: Tensor) -> Tensor:
        done: dict[str, Tensor] = {}

        def work(name: str) -> None:
            done[name] = self.get_submodule(name)(x * 2)

        threads = [threading.Thread(target=work, args=(name,)) for name in ("left", "right")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.head(done["left"] + done["right"])


class Pair(NamedTuple):
    value: Tensor
    other: Tensor | None


@dataclass
class Box:
    value: Tensor
    name: str = "box"


class Result(dict):
    """Keys that are attributes too, as results of well-known libraries are."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Holder:
    """A plain object with tensors on attributes."""

    def __init__(self, **tensors: Any) -> None:
        self.__dict__.update(tensors)


class Cached(nn.Module):
    """Each layer leaves something in a cache that all layers are given, and reads nothing of the others'."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Do(self._layer, inner=linear()) for _ in range(3))

    @staticmethod
    def _layer(module: nn.Module, x: Tensor, cache: Holder) -> Tensor:
        h = module.inner(x)
        cache.kept.append(Holder(key=h * 2))
        return h + cache.kept[-1].key

    def forward(self, x: Tensor) -> Tensor:
        cache = Holder(kept=[])
        for layer in self.layers:
            x = layer(x, cache=cache)
        return x


class Tagged(torch.Tensor):
    """A tensor with an attribute, which it hands on to results."""

    spacing: tuple[float, ...]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_function__(func, types, args, kwargs or {})
        for arg in args:
            if isinstance(arg, Tagged) and isinstance(result, Tagged) and hasattr(arg, "spacing"):
                result.spacing = arg.spacing
        return result


def nest(depth: int) -> nn.Module:
    """A Linear inside `depth` containers."""
    module: nn.Module = linear()
    for _ in range(depth):
        module = nn.Sequential(module)
    return module


def quantised() -> nn.Module:
    """Linear layers with packed weights, which are no tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on its way out of torch
        return torch.ao.quantization.quantize_dynamic(nn.Sequential(linear(), nn.GELU(), linear()).eval(), {nn.Linear})
