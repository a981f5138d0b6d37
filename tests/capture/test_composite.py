"""The three principal components of an activation's channels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from allocations import Allocations
from nf_widget import trace
from nf_widget.capture.composite import basis_of, cut_component
from nf_widget.records import Request, StageId
from tensors import IMAGE, VECTOR, patch_tokens


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def request(channel, **more):
    return Request("k", 0, more.pop("sample", 0), StageId("s"), "pca", channel=channel, **more)


def components(tensor, axes, bases=None, **more):
    bases = {} if bases is None else bases
    return np.stack([cut_component(tensor, axes, request(i, **more), bases).data for i in range(3)])


@pytest.mark.parametrize("channels", [5, 300])
def test_components_are_those_of_numpy(channels):
    maps = randn(1, channels, 12, 14)
    found = components(maps, IMAGE)
    flat = maps[0].flatten(1).double().numpy()
    flat = flat - flat.mean(1, keepdims=True)
    left, _, _ = np.linalg.svd(flat, full_matrices=False)
    expected = (left[:, :3].T @ flat).reshape(3, 12, 14)
    signs = np.sign([left[np.abs(left[:, i]).argmax(), i] for i in range(3)])
    assert np.allclose(found, expected * signs[:, None, None], atol=1e-4)


def test_patches_have_components_over_their_grid():
    maps = randn(8, 6, 7)
    tokens = torch.cat([torch.full((1, 1, 8), 50.0), maps.flatten(1).T[None]], 1)
    assert np.allclose(components(tokens, patch_tokens(6, 7, special=1)), components(maps[None], IMAGE), atol=1e-5)


def test_directions_stay_those_of_the_first_frame():
    first, second = randn(2, 6, 20, 20), randn(1, 6, 20, 20, seed=1)
    bases = {}
    components(first, IMAGE, bases, sample=1)
    mean, directions = basis_of(first[1]).mean.float(), basis_of(first[1]).directions.float()
    expected = torch.einsum("ck,chw->khw", directions, second[0] - mean[:, None, None]).numpy()
    assert np.allclose(components(second, IMAGE, bases), expected, atol=1e-5)
    assert not np.allclose(components(second, IMAGE), expected, atol=1e-2)


def test_a_region_is_cut_out_of_it():
    maps = randn(1, 6, 20, 20)
    part = components(maps, IMAGE, region=(2, 3, 7, 11))
    assert np.array_equal(part, components(maps, IMAGE)[:, 2:7, 3:11])


@pytest.mark.parametrize(
    ("tensor", "axes", "channel", "words"),
    [
        (torch.zeros(1, 2, 8, 8), IMAGE, 0, "2 maps of 8 by 8 have no 3 components"),
        (torch.zeros(1, 8), VECTOR, 0, "this is a vector"),
        (torch.zeros(1, 8, 8, 8), IMAGE, 3, "There is no component 3"),
    ],
)
def test_what_has_no_components_says_so(tensor, axes, channel, words):
    assert words in cut_component(tensor, axes, request(channel), {}).error


def test_constant_channels_have_components_of_zero():
    assert not components(torch.ones(1, 4, 8, 8), IMAGE).any()


def test_memory_does_not_grow_with_the_channels():
    maps = torch.zeros(1, 256, 128, 128)
    with Allocations() as allocations:
        cut_component(maps, IMAGE, request(0), {})
    assert allocations.peak < maps.nbytes / 2


def test_a_stage_answers_with_its_components():
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()), randn(1, 3, 20, 20)
    flow = trace(net, x, layers=["0", "1"])
    asked = [Request(str(i), 0, 0, StageId("0"), "pca", channel=i) for i in range(3)]
    found = {tile.key: tile.data for tile in flow.tiles(asked)}
    expected = components(flow.activation("0"), IMAGE)
    assert np.allclose(np.stack([found[str(i)] for i in range(3)]), expected, atol=1e-5)
