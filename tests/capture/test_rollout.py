"""What tokens are made of after several attentions."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from nf_widget import StageError, trace


class Layer(nn.Module):
    def __init__(self, heads=2):
        super().__init__()
        self.qkv, self.heads = nn.Linear(8, 24), heads

    def weights(self, x):
        q, k, _ = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return (q @ k.mT * q.shape[-1] ** -0.5).softmax(-1)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


class Net(nn.Module):
    def __init__(self, pool=False):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.layers, self.pool = nn.Linear(4, 8), nn.ModuleList(Layer() for _ in range(3)), pool

    def forward(self, x):
        x = self.embed(x)
        for number, layer in enumerate(self.layers):
            x = x[:, ::2] if self.pool and number == 2 else x
            x = layer(x)
        return x


@pytest.fixture
def x():
    return torch.randn(2, 6, 4, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def reference(net, x, sample, layers):
    total, x = torch.eye(6), net.embed(x)
    for layer in net.layers[:layers]:
        mean = layer.weights(x)[sample].mean(0)
        total = (0.5 * mean + 0.5 * torch.eye(6)) @ total
        x = layer(x)
    return total


@pytest.mark.parametrize(("stage", "layers"), [(None, 3), ("layers.2", 3), ("layers.1", 2), ("layers.0", 1)])
@pytest.mark.parametrize("sample", [0, 1])
def test_rollout_is_the_product_over_all_stages_up_to_there(x, stage, layers, sample):
    net = Net().eval()
    found = trace(net, x).rollout(stage, sample=sample)
    assert torch.allclose(found, reference(net, x, sample, layers), atol=1e-6)
    assert torch.allclose(found.sum(1), torch.ones(6))


def test_it_counts_attention_that_is_no_stage_of_its_own(x):
    net = Net().eval()
    flow = trace(net, x, layers=["layers.2"])
    assert torch.allclose(flow.rollout(), reference(net, x, 0, 3), atol=1e-6)


def test_it_starts_anew_where_the_number_of_tokens_changes(x):
    found = trace(Net(pool=True).eval(), x).rollout()
    assert found.shape == (3, 3)


def test_without_attention_it_says_so(x):
    flow = trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), x)
    with pytest.raises(StageError, match="The model computes no attention"):
        flow.rollout()
    flow = trace(Net(), x, layers=["embed", "layers.0"])
    with pytest.raises(StageError, match="embed computes no attention"):
        flow.rollout("embed")


def test_the_model_is_as_before(x, untouched):
    net = Net()
    flow = trace(net, x)
    with untouched(net):
        flow.rollout()
