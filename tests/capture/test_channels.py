"""Which channels come first, and which are counted as dead or saturated."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nf_widget.capture.reducers import reduce
from tensors import ATTENTION, IMAGE, MAPS, SEQUENCE, TOKENS, VOLUME, area_means, patch_tokens


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def blob(row, column, size=56, width=12):
    rows, columns = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    return torch.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * width**2))


def test_structure_comes_before_noise_and_flat_channels():
    noise = 3 * torch.randn(56, 56, generator=generator())
    flat = torch.full((56, 56), 50.0) + 0.1 * torch.randn(56, 56, generator=generator(1))
    maps = torch.stack([noise, flat, 6 * blob(20, 30)])
    assert maps.var((1, 2)).argmax() == 0
    assert maps.square().mean((1, 2)).argmax() == 1
    assert reduce(maps, MAPS, leaf="").ranking.order[0] == 2


def test_a_channel_like_one_already_taken_goes_behind():
    left, right = blob(28, 10), blob(28, 45)
    maps = torch.stack([3 * left, -2.9 * left + 1, 2 * right, 2 * (left + 0.02 * right)])
    assert reduce(maps, MAPS, leaf="").ranking.order.tolist() == [0, 2, 1, 3]


def test_a_weak_channel_goes_behind_a_strong_copy():
    left, right = blob(28, 10), blob(28, 45)
    maps = torch.stack([0.01 * right, left, 0.9 * left])
    assert reduce(maps, MAPS, leaf="").ranking.order.tolist() == [1, 2, 0]


def test_equal_channels_are_ranked_by_index():
    maps = blob(20, 20).repeat(40, 1, 1)
    assert reduce(maps, MAPS, leaf="").ranking.order.tolist() == list(range(40))


@given(arrays.arrays(np.float32, (5, 30, 17), elements=st.floats(-8, 8, width=32)))
def test_score_is_the_variance_after_pooling(maps):
    scores = reduce(torch.from_numpy(maps), MAPS, leaf="").ranking.scores
    assert np.allclose(scores, area_means(maps, 14, 14).var((1, 2)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("shape", [(9, 28, 28), (9, 56, 112), (3, 28, 42), (9, 112, 113), (5, 14, 14), (20, 15, 14)])
def test_score_is_the_variance_after_pooling_for_windows_of_any_size(shape, channels_last):
    maps = torch.randn(1, *shape, generator=generator())
    maps = maps.to(memory_format=torch.channels_last) if channels_last else maps
    scores = reduce(maps, IMAGE, leaf="").ranking.scores
    assert np.allclose(scores, area_means(maps[0].numpy(), 14, 14).var((1, 2)), rtol=1e-4, atol=1e-6)


@given(arrays.arrays(np.float32, (9, 6, 6), elements=st.sampled_from([0, 1, 2, np.nan, np.inf])))
def test_every_channel_is_ranked_once(maps):
    ranking = reduce(torch.from_numpy(maps), MAPS, leaf="").ranking
    assert sorted(ranking.order.tolist()) == list(range(9))
    assert ranking.order.dtype == np.int32
    assert ranking.scores.dtype == np.float32


def test_distinct_channels_lead_where_there_are_more_than_are_compared():
    patterns = torch.randn(30, 14, 14, generator=generator())
    # Every strong channel is a copy of one of thirty, the copies stronger than the last patterns.
    maps = torch.cat([patterns * (3 - 0.05 * torch.arange(30).view(-1, 1, 1)), patterns[:1].repeat(600, 1, 1) * 2.9])
    order = reduce(maps, MAPS, leaf="").ranking.order
    first = order[:16].tolist()
    assert sum(channel >= 30 or channel == 0 for channel in first) == 1
    assert sorted(order.tolist()) == list(range(630))


@pytest.mark.parametrize("budget", [1 << 12, 1 << 16, 64 << 20])
def test_ranking_does_not_depend_on_the_budget(budget):
    maps = torch.randn(70, 40, 33, generator=generator(3)) * torch.rand(70, 1, 1, generator=generator(4))
    whole = reduce(maps, MAPS, leaf="").ranking
    ranking = reduce(maps, MAPS, leaf="", budget=budget).ranking
    assert (ranking.order == whole.order).all()
    assert np.allclose(ranking.scores, whole.scores, rtol=1e-4)


def test_dead_channels_are_those_that_say_the_same_everywhere():
    maps = torch.randn(6, 10, 10, generator=generator())
    maps[1] = 0
    maps[4] = 0.7
    ranking = reduce(maps, MAPS, leaf="").ranking
    assert ranking.dead == 2
    assert set(ranking.order[-2:].tolist()) == {1, 4}


def test_a_map_of_one_pixel_is_not_dead():
    stacked = torch.randn(1, 4, 1, 1, 2, generator=generator())
    assert reduce(stacked, VOLUME, leaf="").ranking.dead == 0


@pytest.mark.parametrize(("function", "bound"), [(torch.sigmoid, 1), (torch.tanh, -1), (lambda x: x.clamp(0, 6), 6)])
def test_saturated_channels_are_those_that_lie_at_a_bound(function, bound):
    maps = torch.randn(5, 20, 20, generator=generator())
    maps[2] += 20 * bound
    maps[3, :12] += 20 * bound
    maps[4, :8] += 20 * bound
    ranking = reduce(function(maps), MAPS, leaf="").ranking
    assert (ranking.saturated, ranking.dead) == (2, 0)


def test_a_background_at_the_least_value_is_not_saturation():
    maps = torch.full((1, 28, 28), -0.4242)
    maps[0, 8:20, 10:18] = 2.8
    assert reduce(maps, MAPS, leaf="").ranking.saturated == 0


def test_tokens_are_ranked_by_spread_not_by_size():
    tokens = 0.1 * torch.randn(1, 12, 20, generator=generator())
    tokens[..., 7] = 1000
    tokens[..., 3] *= 30
    ranking = reduce(tokens, TOKENS, leaf="").ranking
    assert ranking.measure == "spread"
    assert ranking.order[0] == 3
    assert np.allclose(ranking.scores, tokens[0].std(0, correction=0), rtol=1e-4, atol=1e-5)


def test_special_tokens_do_not_decide_the_spread():
    tokens = torch.randn(1, 17, 8, generator=generator())
    tokens[0, 0, 5] = 500
    tokens[0, 1:, 2] *= 4
    ranking = reduce(tokens, patch_tokens(4, 4, special=1), leaf="").ranking
    assert ranking.order[0] == 2
    assert np.allclose(ranking.scores, tokens[0, 1:].std(0, correction=0), rtol=1e-4)


def test_volumes_and_sequences_have_a_measure_of_their_own():
    volume = reduce(torch.randn(1, 3, 4, 5, 6, generator=generator()), VOLUME, leaf="")
    sequence = reduce(torch.randn(1, 3, 40, generator=generator()), SEQUENCE, leaf="")
    assert (volume.ranking.measure, sequence.ranking.measure) == ("variance", "spread")


def test_heads_keep_their_order():
    weights = torch.rand(1, 4, 6, 6, generator=generator()).softmax(-1)
    summary = reduce(weights, ATTENTION, leaf="")
    assert summary.ranking is None
    assert summary.picture.channels == (0, 1, 2, 3)


def test_pinned_channels_are_shown_in_their_order():
    maps = torch.randn(1, 30, 8, 8, generator=generator())
    summary = reduce(maps, IMAGE, leaf="", pinned=(9, 4, 99, 21))
    assert summary.picture.channels == (9, 4, 21)
    assert np.array_equal(summary.picture.values, maps[0, [9, 4, 21]])


@pytest.mark.parametrize("budget", [64, 1 << 20])
def test_scores_that_differ_by_rounding_alone_come_by_index(budget):
    maps = torch.full((2, 3, 6), 6.0, dtype=torch.float16)
    maps[0, 0, 0] = maps[1, 1, 0] = 0
    assert reduce(maps, MAPS, leaf="", budget=budget).ranking.order.tolist() == [0, 1]
