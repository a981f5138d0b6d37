"""Attention that a function of the user's changes or hides."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from nf_widget import trace

# torch 2.4 has none.
flex = pytest.importorskip("torch.nn.attention.flex_attention")
create_block_mask, flex_attention = flex.create_block_mask, flex.flex_attention

# Outside `torch.compile` torch says that it takes the slow road.
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")

BIAS = torch.linspace(-1, 1, 30)


class Attend(nn.Module):
    def __init__(self, how):
        super().__init__()
        torch.manual_seed(0)
        self.qkv, self.how = nn.Linear(8, 24), how

    def forward(self, x):
        q, k, v = (part.unflatten(2, (2, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.how(q, k, v).transpose(1, 2).flatten(2)


class Net(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.attend, self.out = Attend(how), nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.attend(x))


def near(score, batch, head, query, key):
    return score - (query - key).abs() * 0.1 * (head + 1)


def biased(score, batch, head, query, key):
    return score + BIAS[key] * (batch + 1)


def causal(batch, head, query, key):
    return query >= key


def hidden(batch, head, query, key):
    return query > key


def masked(rule):
    return create_block_mask(rule, None, None, 30, 30, device="cpu")


WAYS = {
    "plain": (flex_attention, None, None),
    "changed": (lambda q, k, v: flex_attention(q, k, v, score_mod=near, scale=0.3), near, None),
    "by a tensor": (lambda q, k, v: flex_attention(q, k, v, score_mod=biased), biased, None),
    "causal": (lambda q, k, v: flex_attention(q, k, v, block_mask=masked(causal)), None, causal),
    "a blind query": (lambda q, k, v: flex_attention(q, k, v, block_mask=masked(hidden)), None, hidden),
}


@pytest.fixture
def x():
    return torch.randn(2, 30, 8, generator=torch.Generator().manual_seed(1))


def reference(net, x, change, show, scale):
    with torch.no_grad():
        q, k, _ = (part.unflatten(2, (2, 4)).transpose(1, 2) for part in net.attend.qkv(x).chunk(3, -1))
    scores = q @ k.mT * scale
    at = torch.meshgrid(*(torch.arange(size) for size in scores.shape), indexing="ij")
    scores = scores if change is None else change(scores, *at)
    scores = scores if show is None else scores.masked_fill(~show(*at), -math.inf)
    return scores.softmax(-1).nan_to_num(0)


@pytest.mark.parametrize("way", WAYS)
def test_weights_equal_the_reference(way, x):
    how, change, show = WAYS[way]
    net = Net(how).eval()
    flow = trace(net, x, layers=["attend", "out"])
    expected = reference(net, x, change, show, 0.3 if way == "changed" else 0.5)
    assert torch.allclose(flow.activation("attend", "attention"), expected, atol=1e-5)
    assert flow.summary("attend", "attention").axes.names == ("batch", "head", "query", "key")


def test_the_output_is_the_same_with_and_without(x):
    net = Net(WAYS["changed"][0]).eval()
    with torch.no_grad():
        expected = net(x)
    assert torch.equal(trace(net, x, layers=["attend", "out"]).activation("output"), expected)
