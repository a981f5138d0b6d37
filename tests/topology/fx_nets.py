"""Nets of a few lines for symbolic tracing, named by what they do."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Split(NamedTuple):
    low: torch.Tensor
    high: torch.Tensor


@dataclasses.dataclass
class Record:
    first: torch.Tensor
    second: object = None


class Net(nn.Module):
    """Linear layers `a`, `b`, `c` of width 4 around a function of (self, *inputs)."""

    def __init__(self, function, **modules):
        super().__init__()
        self.function = function
        for name in "abc":
            self.add_module(name, modules.pop(name, None) or nn.Linear(4, 4))
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, *args, **kwargs):
        return self.function(self, *args, **kwargs)


class Pair(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.make(self.layer(x), x * 2)


class Halves(nn.Module):
    """Gives views of its argument."""

    def forward(self, x):
        return x.chunk(2, 1)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, *, by=(), keep=True):
        y = self.layer(x)
        return sum(by, y) if keep else y


class PreActivated(nn.Module):
    """Rewrites its argument before it reads it."""

    def __init__(self):
        super().__init__()
        self.act = nn.ReLU(inplace=True)
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(self.act(x)) + x


class Leaves(nn.Module):
    """Leaves a tensor on an attribute."""

    def __init__(self):
        super().__init__()
        self.left = None

    def forward(self, x):
        self.left = x.sin()
        return x.cos()


class Takes(nn.Module):
    """Reads what another module left."""

    def __init__(self, other):
        super().__init__()
        self.other = [other]

    def forward(self, x):
        return x + self.other[0].left


def residual(net, x):
    y = net.a(x)
    z = torch.relu(net.b(y))
    return net.c(torch.cat([y, z], 1)[:, :4] + x)


def operators(net, x):
    y = net.a(x)
    z = 1 - y / 2 + 2 / (y.abs() + 1) - (y**2 @ y.T.exp()).sum() * -y // 3 % 2
    return net.b(z * (y > 0) + 2**y)


def shapes_alone(net, x):
    y = net.a(x)
    like = torch.zeros_like(y) + y.new_ones(y.shape[0], y.size(1)) * y.dim() + torch.rand_like(y)
    return net.b(x.view_as(y).expand_as(y).to(y.dtype) * y.shape[1] + like)


def pieces(net, x):
    low, high = net.a(x).chunk(2, -1)
    q, k, v = (t.tanh() for t in net.b(x).split([1, 1, 2], 1))
    first, *others = torch.unbind(net.c(x), 1)[:2]
    best, places = low.max(dim=1)
    return low + q, torch.cat([high, v * best[:, None]], 1), first + others[0], k, places


def grids(net, x):
    rows, columns = torch.meshgrid(net.a(x)[:, 0], net.b(x)[0], indexing="ij")
    return net.c(rows), net.c(columns)


def shortcuts(net, x):
    """Functions that may give their operand itself."""
    y = net.a(x).contiguous().float().to(x.device)
    y = F.dropout(y, 0.5, training=False)
    return net.b(y.t().contiguous().t() + y.double().float())


def inside_layers(net, x):
    h, (state, _) = net.lstm(x)
    y, weights = net.attend(net.a(h), net.b(h), net.c(h))
    return net.drop(net.norm(y)), weights, state


def rewritten(net, x):
    y = net.a(x)
    kept = y
    y += net.b(x)
    z = net.c(y)
    z.mul_(x).add_(1)
    return kept, torch.relu_(z)


def in_place_functions(net, x):
    y = net.a(x)
    F.relu(y, True)
    F.leaky_relu(y, 0.1, inplace=True)
    return net.b(y), net.act(net.c(x)), y


def written_items(net, x):
    out = x.new_zeros(x.shape[0], 8)
    out[:, :4] = net.a(x)
    out[:, 4:] = net.b(x)
    return out * 2, out


def written_constant(net, x):
    out = torch.zeros(2, 4)
    out[:, 1:] = net.a(x)[:, 1:]
    doubled = out * 2
    return net.b(doubled), out.T


def written_view(net, x):
    y = net.a(x)
    y.view(-1)[:].copy_(net.b(x).view(-1))
    return net.c(y)


def written_parts(net, x):
    """The first row, then the first element of the whole in one line."""
    y = net.a(x)
    y[0] = net.b(x)[0]
    y.view(-1)[0] = net.c(x)[0, 0]
    return y


def written_out(net, x):
    y, z = net.a(x), net.b(x)
    torch.add(y, z, out=y)
    torch.neg(x, out=z)
    return y, z


def written_buffer(net, x):
    net.memory.copy_(net.a(x))
    return net.b(net.memory + 1)


def moved_data(net, x):
    y, z = net.a(x), net.b(x)
    y.data = z
    return net.c(y)


def containers(net, x):
    pair = net.a(x)
    return net.b(pair[0]) + net.c(pair[1])


def read_after(net, x):
    y = net.c(x)
    return net.b(y) + y


NETS = {
    "residual": (residual, {}, "abc"),
    "operators": (operators, {}, "ab"),
    "shapes alone": (shapes_alone, {}, "ab"),
    "pieces": (pieces, {}, "abc"),
    "grids": (grids, {}, "abc"),
    "operand itself": (shortcuts, {}, "ab"),
    "layers between stages": (
        inside_layers,
        {
            "lstm": nn.LSTM(4, 4),
            "attend": nn.MultiheadAttention(4, 2),
            "drop": nn.Dropout(),
            "norm": nn.BatchNorm1d(4),
        },
        "abc",
    ),
    "rewritten": (rewritten, {}, "abc"),
    "in-place functions": (in_place_functions, {"act": nn.ReLU(inplace=True)}, "abc"),
    "in-place layer": (lambda net, x: (net.act(net.a(x)), net.b(x)), {"act": nn.ReLU(inplace=True)}, ["act", "b"]),
    "written items": (written_items, {}, "ab"),
    "written constant": (written_constant, {}, "ab"),
    "written view": (written_view, {}, "abc"),
    "written parts": (written_parts, {}, "abc"),
    "written out=": (written_out, {}, "ab"),
    "moved data": (moved_data, {}, "abc"),
    "tuple": (containers, {"a": Pair(lambda y, z: (y, z))}, "abc"),
    "pieces handed out": (
        lambda net, x: [t * 2 for t in net.a(x)],
        {"a": Pair(lambda y, z: y.add_(1).chunk(2, 1))},
        "a",
    ),
    "pieces of an argument": (
        lambda net, x: net.b(torch.cat(net.halves(net.a(x)), 1).mul_(2)),
        {"halves": Halves()},
        ["a", "b", "halves"],
    ),
    "list": (lambda net, x: [t + 1 for t in net.a(x)], {"a": Pair(lambda y, z: [y, z])}, "a"),
    "None in a tuple": (containers, {"a": Pair(lambda y, z: (y, z, None))}, "abc"),
    "dict": (lambda net, x: net.b(net.a(x)["y"]) + net.a(x).get("z"), {"a": Pair(lambda y, z: {"y": y, "z": z})}, "ab"),
    "named tuple": (lambda net, x: net.b(net.a(x).high) + net.a(x)[0], {"a": Pair(Split)}, "ab"),
    "dataclass": (lambda net, x: net.b(net.a(x).first), {"a": Pair(lambda y, z: Record(y, 3))}, "ab"),
    "nested": (lambda net, x: net.b(net.a(x)["deep"][1]), {"a": Pair(lambda y, z: {"deep": [y, (z,)[0]]})}, "ab"),
    "keywords": (lambda net, x: net.b(net.a(x, by=[x * 2], keep=x.shape[0] is not None)), {"a": Scale()}, "ab"),
    "reused": (lambda net, x: net.b(net.a(net.a(torch.tanh(net.a(x))))), {}, "ab"),
    "one call of a reused module": (lambda net, x: net.b(net.a(net.a(net.a(x)).exp())), {}, ["a#1", "b"]),
    "checkpoint": (lambda net, x: net.b(checkpoint(net.a, x, use_reentrant=False)), {}, "ab"),
    "argument rewritten inside a stage": (
        read_after,
        {"b": PreActivated()},
        "bc",
    ),
    "weight norm": (
        lambda net, x: net.b(net.a(x)),
        {"a": nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))},
        "ab",
    ),
    "root alone": (residual, {}, [""]),
    "no stages": (residual, {}, []),
}
