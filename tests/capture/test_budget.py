"""Memory: no copy of a large activation is made, and what is kept stays within `capture_budget`."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from allocations import Allocations
from nf_widget import trace
from nf_widget.records import Request


class Widen(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, channels).view(-1, 1, 1, 1))

    def forward(self, x):
        return x * self.weight


class Scale(nn.Module):
    def forward(self, x):
        return x * 1.5


class Net(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.wide, self.narrow = Widen(channels), nn.Identity()

    def forward(self, x):
        return self.narrow(self.wide(x).amax((2, 3, 4)))


@pytest.fixture
def x():
    return torch.randn(1, 1, 24, 48, 48, generator=torch.Generator().manual_seed(0))


def peak(run):
    with Allocations() as allocations:
        run()
    return allocations.peak


def tile(flow, key="k", stage="wide"):
    (found,) = flow.tiles([Request(key, 0, 0, flow.stage(stage).id, "", channel=3, slice=(0, 5))])
    return found


@torch.no_grad()
def test_a_large_volume_goes_through_without_a_copy_of_itself(x):
    net = Net(128)
    size = 128 * x.nbytes  # 28 MB
    plain = peak(lambda: net(x))
    flow = trace(net, x, layers=["wide", "narrow"], capture_budget=1 << 20)
    flow._summaries.clear()
    assert plain >= size
    assert peak(flow.overview) - plain < size / 2
    assert peak(lambda: tile(flow)) - plain < size / 20
    expected = net.wide(x)[0, 3, 5]
    assert torch.equal(torch.from_numpy(tile(flow).data), expected)


def test_a_tile_of_what_is_too_large_to_keep_is_exact_and_nothing_is_kept(x):
    flow = trace(Net(8), x, layers=["wide", "narrow"], capture_budget=0)
    with torch.no_grad():
        expected = flow.model.wide(x)[0, 3, 5]
    found = tile(flow)
    assert (found.exact, found.error) == (True, "")
    assert torch.equal(torch.from_numpy(found.data), expected)
    assert flow._activations.bytes == 0


def test_what_is_kept_for_tiles_stays_within_the_budget(x):
    budget = 9 * x.nbytes
    layers = ["0", "1", "2", "3"]
    flow = trace(
        nn.Sequential(*(Scale() for _ in layers)), x.expand(1, 4, -1, -1, -1), layers=layers, capture_budget=budget
    )
    for layer in layers:
        assert tile(flow, layer, layer).exact
        assert 0 < flow._activations.bytes <= budget
