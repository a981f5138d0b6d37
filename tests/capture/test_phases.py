"""The phase of complex tensors."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nf_widget import trace
from nf_widget.records import Request


class Spectrum(nn.Module):
    def __init__(self):
        super().__init__()
        self.fft, self.rest = Transform(), nn.Flatten()

    def forward(self, x):
        return self.rest(self.fft(x).abs())


class Transform(nn.Module):
    def forward(self, x):
        return torch.fft.fft2(x)


@pytest.fixture
def x():
    return torch.randn(1, 2, 8, 12, generator=torch.Generator().manual_seed(0))


def test_the_phase_is_a_leaf_beside_the_magnitude(x):
    flow = trace(Spectrum(), x, layers=["fft", "rest"])
    assert [leaf.path for leaf in flow.stage("fft").leaves] == ["", "phase"]
    expected = torch.fft.fft2(x)
    magnitude, phase = flow.summary("fft", ""), flow.summary("fft", "phase")
    assert magnitude.statistics.maximum == pytest.approx(float(expected.abs().max()))
    assert phase.statistics.maximum == pytest.approx(float(expected.angle().max()))
    assert (phase.spec.shape, phase.spec.dtype) == ((1, 2, 8, 12), "float32")
    assert [leaf.path for leaf in flow.stage("rest").leaves] == [""]


def test_tiles_of_the_phase_are_exact(x):
    flow = trace(Spectrum(), x, layers=["fft", "rest"])
    (tile,) = flow.tiles([Request("k", 0, 0, flow.stage("fft").id, "phase", channel=1)])
    assert tile.exact
    assert (tile.data == torch.fft.fft2(x).angle()[0, 1].numpy()).all()


def test_activation_gives_the_complex_tensor_or_its_phase(x):
    flow = trace(Spectrum(), x, layers=["fft", "rest"])
    assert torch.equal(flow.activation("fft"), torch.fft.fft2(x))
    assert torch.equal(flow.activation("fft", "phase"), torch.fft.fft2(x).angle())
