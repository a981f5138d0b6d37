"""Stages that give out several tensors: each leaf has a name, a summary, tiles and a whole tensor of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutputWithPooling

from nf_widget import StageError, trace
from nf_widget.records import Request


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@dataclass
class Result:
    mean: torch.Tensor
    count: int


def parts(x):
    return x.mean((2, 3)), x * 2


KINDS = {
    "a tuple": (parts, ["0", "1"]),
    "a list": (lambda x: [*parts(x)], ["0", "1"]),
    "a dict": (lambda x: dict(zip("ab", parts(x), strict=True)), ["a", "b"]),
    "nested": (lambda x: {"a": parts(x), "b": [x[:, :1]]}, ["a.0", "a.1", "b.0"]),
    "a named tuple": (lambda x: Pair(*parts(x)), ["first", "second"]),
    "a dataclass": (lambda x: Result(parts(x)[0], 3), ["mean"]),
    "a model output": (
        lambda x: BaseModelOutputWithPooling(last_hidden_state=x * 2, pooler_output=x.mean((2, 3))),
        ["last_hidden_state", "pooler_output"],
    ),
}


class Give(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x)


class Net(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.give = Give(make)

    def forward(self, x):
        self.give(x)
        return x.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_each_leaf_can_be_chosen(kind):
    make, names = KINDS[kind]
    x = torch.randn(1, 3, 6, 5, generator=torch.Generator().manual_seed(0))
    flow = trace(Net(make), x, layers=["give"])
    stage = flow.stage("give")
    assert [leaf.path for leaf in stage.leaves] == names
    for leaf in stage.leaves:
        whole = flow.activation("give", leaf.path)
        summary = flow.summary("give", leaf.path)
        assert tuple(whole.shape) == leaf.spec.shape == summary.spec.shape
        assert summary.statistics.maximum == pytest.approx(float(whole.max()))
        channel = 0 if whole.ndim == 4 else None
        (tile,) = flow.tiles([Request(leaf.path, 0, 0, stage.id, leaf.path, channel)])
        assert (tile.error, tile.exact) == ("", True)
        expected = whole[0, 0] if whole.ndim == 4 else whole
        assert torch.equal(torch.from_numpy(tile.data), expected)
    with pytest.raises(StageError, match="give has no leaf 'other'"):
        flow.activation("give", "other")
