"""Statistics, histogram and robust range against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nf_widget.capture.reducers import reduce
from tensors import MAPS, VECTOR, unnamed

SHAPES = arrays.array_shapes(min_dims=3, max_dims=3, max_side=12)
FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}


def maps_of(width, **options):
    elements = st.one_of(
        st.sampled_from([0.0, -0.0, 1.0, -1.0, 6.0]), st.floats(width=width, **options), st.floats(-4, 4, width=width)
    )
    return arrays.arrays(FLOATS[width], SHAPES, elements=elements)


any_maps = st.sampled_from([16, 32, 64]).flatmap(maps_of)
tame_maps = st.sampled_from([16, 32, 64]).flatmap(lambda width: maps_of(width, min_value=-1000, max_value=1000))


def close(found, expected, scale):
    """Equal up to the rounding of a float32 sum, relative to the largest number in it."""
    return (math.isnan(found) and math.isnan(expected)) or abs(found - expected) <= 2e-6 * scale + 1e-30


@given(any_maps)
@example(np.full((2, 3, 3), np.nan, np.float32))
@example(np.full((1, 4, 4), np.inf, np.float32))
@example(np.full((3, 5, 5), 0.1, np.float32))
@example(np.full((1, 2, 2), -3.4e38, np.float32))
@example(np.array([[[1e8, 1e8 + 8, 1e8]]], np.float32))
@example(np.array([[[4e-25, 0.0]]], np.float32))
def test_statistics_are_those_of_the_finite_values(values):
    stats = reduce(torch.from_numpy(values), MAPS, leaf="").statistics
    finite = values[np.isfinite(values)].astype(np.float64)
    assert stats.count == values.size
    assert stats.nan == np.isnan(values).sum()
    assert stats.inf == np.isinf(values).sum()
    assert stats.zeros == (finite == 0).sum() / values.size
    assert stats.negatives == (finite < 0).sum() / values.size
    if not finite.size:
        assert all(map(math.isnan, (stats.minimum, stats.maximum, stats.mean, stats.std, stats.low, stats.high)))
        return
    assert (stats.minimum, stats.maximum) == (finite.min(), finite.max())
    scale = np.abs(finite).max()
    if scale < 1e150:  # beyond, squares are infinite in float64 too
        assert close(stats.mean, finite.mean(), scale)
        assert close(stats.std, finite.std(), scale)


@given(any_maps)
@example(np.array([[[-3e38, 3e38, 0.0]]], np.float32))
@example(np.array([[[-1.7e308, 1.7e308, 0.0]]], np.float64))
@example(np.array([[[1e-45, 3e-45, 0.0]]], np.float32))
@example(np.array([[[0.5, np.nan, 0.5, np.inf]]], np.float32))
def test_every_finite_value_is_in_one_of_64_bins(values):
    found = reduce(torch.from_numpy(values), MAPS, leaf="").histogram
    finite = values[np.isfinite(values)].astype(np.float64)
    if not finite.size:
        assert found is None
        return
    assert len(found.counts) == 64
    assert found.counts.sum() == finite.size
    assert np.isfinite([found.low, found.high]).all()
    assert found.low <= finite.min()
    assert finite.max() <= found.high


@given(tame_maps)
def test_bins_are_equal_and_values_lie_in_theirs(values):
    found = reduce(torch.from_numpy(values), MAPS, leaf="").histogram
    numbers = values.astype(np.float64)
    if numbers.min() == numbers.max():
        assert found.low < numbers.min() < found.high
    if numbers.max() - numbers.min() < 1e-290:  # not even float64 tells 64 steps of it apart
        return
    assert (found.low, found.high) == (numbers.min(), numbers.max())
    edges = np.linspace(found.low, found.high, 65)
    slack = 1e-5 * (found.high - found.low) + 2e-7 * np.abs(numbers).max()
    below = np.cumsum(found.counts)[:-1]
    # A value within rounding of an edge may be counted on either side of it.
    assert (below >= [(numbers < edge - slack).sum() for edge in edges[1:-1]]).all()
    assert (below <= [(numbers <= edge + slack).sum() for edge in edges[1:-1]]).all()


@given(tame_maps)
def test_robust_range_is_that_of_the_percentiles(values):
    stats = reduce(torch.from_numpy(values), MAPS, leaf="").statistics
    numbers = values.astype(np.float64).ravel()
    bin_width = (numbers.max() - numbers.min()) / 2048 + 3e-7 * np.abs(numbers).max()
    for found, share in ((stats.low, 1), (stats.high, 99)):
        ends = [np.percentile(numbers, share, method=method) for method in ("inverted_cdf", "closest_observation")]
        assert min(ends) - 1.01 * bin_width <= found <= max(ends) + 1.01 * bin_width


@pytest.mark.parametrize("outlier", [1e3, -1e6, 3e38])
def test_robust_range_does_not_mind_an_outlier(outlier):
    values = torch.randn(8, 40, 40, generator=torch.Generator().manual_seed(1))
    expected = np.percentile(values.numpy(), [1, 99])
    values[3, 2, 1] = outlier
    stats = reduce(values, MAPS, leaf="").statistics
    assert stats.maximum == values.max()
    assert np.allclose([stats.low, stats.high], expected, atol=0.02)


def test_percentile_of_rectified_values_is_exactly_zero():
    values = torch.randn(4, 30, 30, generator=torch.Generator().manual_seed(0)).relu()
    stats = reduce(values, MAPS, leaf="").statistics
    assert stats.low == 0.0
    assert 0.4 < stats.zeros < 0.6
    assert stats.high == pytest.approx(np.percentile(values, 99), rel=0.01)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool])
def test_integers_are_measured_exactly(dtype):
    values = torch.arange(-30, 97).to(dtype).reshape(1, 127)
    stats = reduce(values, VECTOR, leaf="").statistics
    numbers = values.numpy().astype(np.float64)
    assert (stats.minimum, stats.maximum) == (numbers.min(), numbers.max())
    assert stats.mean == pytest.approx(numbers.mean(), rel=1e-6)
    assert stats.zeros == (numbers == 0).mean()


def test_large_integers_keep_their_digits():
    values = torch.tensor([[2**40, 2**40 + 1]])
    stats = reduce(values, VECTOR, leaf="").statistics
    assert (stats.minimum, stats.maximum, stats.mean) == (2**40, 2**40 + 1, 2**40 + 0.5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_added_up_in_single(dtype):
    values = torch.full((1, 300, 300), 0.1, dtype=dtype)
    stats = reduce(values, MAPS, leaf="").statistics
    assert stats.mean == pytest.approx(float(values[0, 0, 0]), rel=1e-6)
    assert stats.std == pytest.approx(0, abs=1e-6)


def test_a_small_spread_around_a_large_mean_is_kept():
    values = 1000 + 0.01 * torch.randn(2, 50, 50, generator=torch.Generator().manual_seed(2))
    stats = reduce(values, MAPS, leaf="").statistics
    assert stats.std == pytest.approx(values.double().std(correction=0).item(), rel=1e-3)


def test_sums_that_float32_cannot_hold():
    values = torch.full((2, 3, 3), torch.finfo(torch.float32).min)
    values[0, 0, 0] = 0.0
    stats = reduce(values, MAPS, leaf="").statistics
    assert stats.mean == pytest.approx(values.double().mean().item())
    assert math.isfinite(stats.std)


@given(tame_maps, st.integers(64, 4096))
def test_pieces_give_what_the_whole_gives(values, budget):
    tensor = torch.from_numpy(values)
    whole, parts = reduce(tensor, MAPS, leaf=""), reduce(tensor, MAPS, leaf="", budget=budget)
    scale = np.abs(values.astype(np.float64)).max()
    assert parts.statistics.count == whole.statistics.count
    assert parts.statistics.zeros == whole.statistics.zeros
    assert parts.statistics.negatives == whole.statistics.negatives
    assert close(parts.statistics.mean, whole.statistics.mean, scale)
    assert close(parts.statistics.std, whole.statistics.std, scale)
    assert (parts.histogram.counts == whole.histogram.counts).all()
    assert np.allclose(parts.picture.values, whole.picture.values, rtol=1e-5, atol=1e-5 * scale)


@given(any_maps, st.permutations(range(3)))
def test_strides_do_not_matter(values, order):
    tensor = torch.from_numpy(values)
    # The same values with other strides: stored in another order, and every second one of a larger tensor.
    stored = tensor.permute(*order).contiguous().permute(*np.argsort(order))
    spread = tensor.repeat_interleave(2, 2)[:, :, ::2]
    plain, budget = reduce(tensor, unnamed(3), leaf=""), 2048
    for same in (stored, spread):
        assert torch.equal(same.nan_to_num(7), tensor.nan_to_num(7))
        for other in (reduce(same, unnamed(3), leaf=""), reduce(same, unnamed(3), leaf="", budget=budget)):
            assert other.statistics.nan == plain.statistics.nan
            assert other.statistics.zeros == plain.statistics.zeros
            assert other.statistics.minimum == plain.statistics.minimum or plain.histogram is None
            shown = (getattr(s.picture, "values", s.statistics.maximum) for s in (other, plain))
            assert np.array_equal(*shown, equal_nan=True)
