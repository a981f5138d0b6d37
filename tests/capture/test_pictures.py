"""Pictures: what is shown of an activation, how large, and from which values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nf_widget.capture.detail import cut
from nf_widget.capture.reducers import reduce
from nf_widget.records import Axes, FeatureMaps, Request, Scalar, StageId, TokenStrip, VectorStrip
from tensors import (
    ATTENTION,
    IMAGE,
    MAPS,
    SCALAR,
    SEQUENCE,
    TOKENS,
    VECTOR,
    VOLUME,
    area_means,
    patch_tokens,
    unnamed,
)


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("shape", "maps", "rows", "columns"),
    [
        ((1, 3, 7, 7), 3, 7, 7),
        ((1, 64, 14, 14), 16, 14, 14),
        ((1, 64, 28, 28), 16, 28, 28),
        ((1, 64, 48, 48), 9, 48, 48),
        ((1, 64, 56, 56), 10, 40, 40),
        ((1, 64, 112, 80), 13, 40, 29),
        ((1, 4, 1, 300), 4, 1, 40),
        ((1, 4, 1000, 30), 4, 40, 8),
    ],
)
def test_maps_are_small_enough_to_send_and_keep_their_aspect(shape, maps, rows, columns):
    picture = reduce(randn(*shape), IMAGE, leaf="").picture
    assert picture.values.shape == (maps, rows, columns)
    assert picture.size == shape[2:]
    assert picture.pooled == (shape[2:] != (rows, columns))


def test_maps_that_fit_are_exact_and_named_by_channel():
    values = randn(2, 24, 20, 11)
    picture = reduce(values, IMAGE, leaf="", sample=1).picture
    assert np.array_equal(picture.values, values[1, list(picture.channels)])


@settings(max_examples=15)
@given(arrays.arrays(np.float32, (2, 61, 53), elements=st.floats(-9, 9, width=32)), st.booleans())
def test_larger_maps_are_pooled_by_area(maps, channels_last):
    tensor = torch.from_numpy(maps)
    if channels_last:
        tensor = tensor.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    for budget in (4096, 64 << 20):
        picture = reduce(tensor, MAPS, leaf="", budget=budget).picture
        expected = area_means(maps[list(picture.channels)], *picture.values.shape[1:])
        assert np.allclose(picture.values, expected, atol=1e-5)


def test_a_cell_with_a_nan_in_it_is_nan():
    values = randn(1, 2, 80, 80)
    values[0, 1, 3, 3] = float("nan")
    picture = reduce(values, IMAGE, leaf="").picture
    shown = picture.values[picture.channels.index(1)]
    assert np.isnan(shown[1, 1])
    assert np.isnan(shown).sum() == 1


def test_class_indices_are_sampled_not_averaged():
    labels = torch.randint(0, 20, (1, 1, 200, 120), generator=torch.Generator().manual_seed(0)) * 1000
    picture = reduce(labels, IMAGE, leaf="").picture
    assert picture.pooled
    assert set(np.unique(picture.values)) <= set(range(0, 20000, 1000))
    assert picture.values[0, 0, 0] == labels[0, 0, 2, 2]


def test_masks_are_averaged():
    mask = torch.zeros(1, 1, 100, 100, dtype=torch.bool)
    mask[..., :50] = True
    picture = reduce(mask, IMAGE, leaf="").picture
    assert picture.values.mean() == pytest.approx(0.5)


def test_a_short_vector_is_exact():
    values = randn(3, 2048)
    picture = reduce(values, VECTOR, leaf="", sample=2).picture
    assert isinstance(picture, VectorStrip)
    assert np.array_equal(picture.values, values[2])
    assert not picture.pooled


@given(arrays.arrays(np.float32, st.integers(2049, 9000), elements=st.floats(-9, 9, width=32), fill=st.just(0)))
def test_a_long_vector_keeps_what_is_farthest_from_zero(values):
    picture = reduce(torch.from_numpy(values)[None], VECTOR, leaf="").picture
    run = -(-len(values) // 2048)
    runs = [values[i : i + run] for i in range(0, len(values), run)]
    assert picture.size == len(values)
    assert picture.pooled
    assert len(picture.values) <= 2048
    expected = [part.min() if -part.min() > part.max() else part.max() for part in runs]
    assert np.array_equal(picture.values, np.asarray(expected, np.float32))


@pytest.mark.parametrize(("shape", "rows", "columns"), [((1, 12, 64), 12, 64), ((1, 300, 768), 64, 96)])
def test_tokens_are_a_strip(shape, rows, columns):
    values = randn(*shape)
    picture = reduce(values, TOKENS, leaf="").picture
    assert isinstance(picture, TokenStrip)
    assert picture.size == shape[1:]
    assert picture.maps is None
    assert np.allclose(picture.values, area_means(values.numpy(), rows, columns)[0], atol=1e-5)


def test_patch_tokens_have_maps_over_their_grid():
    values = randn(1, 1 + 7 * 5, 40)
    picture = reduce(values, patch_tokens(7, 5, special=1), leaf="").picture
    assert (picture.grid, picture.special) == ((7, 5), 1)
    expected = values[0, 1:].T.reshape(40, 7, 5)[list(picture.maps.channels)]
    assert np.array_equal(picture.maps.values, expected)
    assert picture.values.size + picture.maps.values.size <= 16_000


def test_a_grid_that_does_not_fit_is_left_out():
    picture = reduce(randn(1, 20, 8), patch_tokens(4, 4, special=1), leaf="").picture
    assert picture.grid is None
    assert reduce(randn(1, 3, 8), patch_tokens(4, 4, special=5), leaf="").picture.special == 0


def test_windows_of_tokens_are_shown_one_after_the_other():
    axes = TOKENS.__class__(("other", "token", "feature"), "tokens", "test")
    values = randn(3, 4, 5)
    assert np.array_equal(reduce(values, axes, leaf="").picture.values, values.reshape(12, 5))


def test_a_sequence_has_time_for_rows():
    values = randn(1, 6, 30)
    assert np.array_equal(reduce(values, SEQUENCE, leaf="").picture.values, values[0].T)


def test_a_waveform_is_a_strip():
    assert isinstance(reduce(randn(1, 1, 16000), SEQUENCE, leaf="").picture, VectorStrip)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("budget", [1 << 12, 64 << 20])
def test_a_volume_is_cut_through_its_peak(sign, budget):
    values = randn(1, 3, 9, 10, 11)
    values[0, 2, 4, 7, 1] = 100.0 * sign
    picture = reduce(values, VOLUME, leaf="", budget=budget).picture
    assert picture.channel == 2
    assert [(plane.axis, plane.index) for plane in picture.planes] == [(0, 4), (1, 7), (2, 1)]
    for plane in picture.planes:
        assert np.array_equal(plane.values, values[0, 2].select(plane.axis, plane.index))


def test_a_volume_stays_cut_where_it_was():
    volume = torch.randn(1, 3, 4, 5, 6, generator=torch.Generator().manual_seed(0))
    picture = reduce(volume, VOLUME, leaf="", pinned=(2, 3, 0, 1)).picture
    assert (picture.channel, [plane.index for plane in picture.planes]) == (2, [3, 0, 1])
    assert np.array_equal(picture.planes[1].values, volume[0, 2, :, 0].numpy())
    elsewhere = reduce(volume, VOLUME, leaf="", pinned=(2, 4, 0, 1)).picture
    assert [plane.index for plane in elsewhere.planes] == [
        plane.index for plane in reduce(volume, VOLUME, leaf="", pinned=(2,)).picture.planes
    ]


def test_planes_of_a_large_volume_are_pooled():
    picture = reduce(randn(1, 1, 130, 20, 70), VOLUME, leaf="").picture
    assert picture.pooled
    assert picture.size == (130, 20, 70)
    assert [plane.values.shape for plane in picture.planes] == [(18, 64), (64, 34), (64, 10)]


def test_attention_is_one_map_for_each_head():
    weights = randn(1, 12, 20, 20).softmax(-1)
    picture = reduce(weights, ATTENTION, leaf="").picture
    assert np.array_equal(picture.values, weights[0])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.tensor(0.123456789), "0.123457"),
        (torch.tensor(2**60 + 1), str(2**60 + 1)),
        (torch.ones((), dtype=torch.bool), "True"),
    ],
)
def test_a_scalar_is_a_number_with_its_text(value, text):
    picture = reduce(value, SCALAR, leaf="").picture
    assert isinstance(picture, Scalar)
    assert picture.text == text


@given(arrays.array_shapes(min_dims=0, max_dims=6, min_side=0, max_side=5))
def test_there_is_a_picture_for_any_shape(shape):
    values = torch.arange(float(np.prod(shape))).reshape(shape)
    summary = reduce(values, unnamed(len(shape)), leaf="a.0")
    assert summary.leaf == "a.0"
    assert summary.spec.shape == shape
    if values.numel() == 0:
        assert summary.picture.reason == f"empty: {'×'.join(map(str, shape))}"
    elif len(shape) > 1 and values.numel() > max(shape):
        assert isinstance(summary.picture, FeatureMaps)
        assert summary.picture.size == shape[-2:]
    else:
        assert summary.picture.kind in {"scalar", "vector"}


def test_patches_of_a_volume_are_cut_like_one():
    block = torch.randn(2, 3, 4, 5, 6, generator=torch.Generator().manual_seed(0))
    tokens = torch.cat([torch.full((2, 1, 3), 99.0), block.flatten(2).transpose(1, 2)], 1)
    axes = Axes(("batch", "token", "feature"), "tokens", "test", special=1, block=(4, 5, 6))
    picture = reduce(tokens, axes, leaf="", sample=1).picture
    expected = block[1, picture.channel].numpy()
    assert (picture.kind, picture.size) == ("volume", (4, 5, 6))
    for plane in picture.planes:
        assert np.array_equal(plane.values, expected.take(plane.index, plane.axis))
    tile = cut(tokens, axes, Request("k", 0, 1, StageId("s"), "", channel=2, slice=(1, 3)))
    assert np.array_equal(tile.data, block[1, 2, :, 3].numpy())
