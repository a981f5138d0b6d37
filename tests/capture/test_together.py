"""Small activations that are reduced together come out as alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nf_widget.capture.reducers import Reduction, is_small, reduce, reduce_together
from nf_widget.records import Axes, Nothing
from tensors import ATTENTION, IMAGE, MAPS, SCALAR, SEQUENCE, TOKENS, VECTOR, VOLUME, patch_tokens, unnamed


def randn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


PATCHES_OF_A_VOLUME = Axes(("batch", "token", "feature"), "tokens", "", special=2, block=(3, 4, 5))
KINDS = {
    "image": (IMAGE, (2, 9, 20, 17)),
    "image of the grid's size": (IMAGE, (1, 30, 14, 14)),
    "volume": (VOLUME, (1, 2, 6, 7, 8)),
    "vector": (VECTOR, (3, 40)),
    "tokens": (TOKENS, (1, 12, 20)),
    "patches": (patch_tokens(4, 5, special=2), (1, 22, 16)),
    "patches of a volume": (PATCHES_OF_A_VOLUME, (1, 2 + 3 * 4 * 5, 16)),
    "sequence": (SEQUENCE, (1, 6, 30)),
    "attention": (ATTENTION, (1, 3, 8, 8)),
    "generic": (unnamed(3), (4, 5, 6)),
    "scalar": (SCALAR, ()),
    "axes that do not fit": (IMAGE, (4, 5)),
    "no such sample": (IMAGE, (2, 1, 3, 3)),
}


def arrays_of(picture):
    found = [getattr(picture, "values", None), getattr(getattr(picture, "maps", None), "values", None)]
    return [a for a in found if a is not None] + [plane.values for plane in getattr(picture, "planes", ())]


def assert_alike(found, expected):
    assert (found.leaf, found.spec, found.axes) == (expected.leaf, expected.spec, expected.axes)
    assert type(found.picture) is type(expected.picture)
    for one, other in zip(arrays_of(found.picture), arrays_of(expected.picture), strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    if expected.statistics is None:
        assert found.statistics is None
        return
    names = ("count", "minimum", "maximum", "zeros", "negatives", "nan", "inf")
    for name in names:
        assert getattr(found.statistics, name) == pytest.approx(getattr(expected.statistics, name), nan_ok=True)
    scale = max(abs(expected.statistics.minimum), abs(expected.statistics.maximum), 1e-6)
    for name in ("mean", "std"):
        close = pytest.approx(getattr(expected.statistics, name), abs=4e-6 * scale, nan_ok=True)
        assert getattr(found.statistics, name) == close
    step = (expected.statistics.maximum - expected.statistics.minimum) / 1000
    for name in ("low", "high"):
        assert getattr(found.statistics, name) == pytest.approx(
            getattr(expected.statistics, name), abs=step + 1e-6 * scale, nan_ok=True
        )
    assert (found.histogram is None) == (expected.histogram is None)
    if expected.histogram is not None:
        assert (found.histogram.low, found.histogram.high) == (expected.histogram.low, expected.histogram.high)
        assert found.histogram.counts.sum() == expected.histogram.counts.sum()
    assert (found.ranking is None) == (expected.ranking is None)
    if expected.ranking is not None:
        assert (found.ranking.dead, found.ranking.saturated) == (expected.ranking.dead, expected.ranking.saturated)
        scores = (each.ranking.scores.astype(np.float64) for each in (found, expected))
        assert np.allclose(*scores, rtol=1e-3, atol=1e-5 * scale**2)


def both(reductions):
    together = reduce_together(reductions)
    alone = [reduce(r.tensor, r.axes, leaf=r.leaf, sample=r.sample, pinned=r.pinned) for r in reductions]
    return zip(together, alone, strict=True)


@pytest.mark.parametrize("function", [lambda x: x, torch.relu, torch.tanh, lambda x: x * 0 + 3])
def test_all_kinds_at_once(function):
    reductions = [
        Reduction(function(randn(*shape, seed=number)), axes, kind, number % 2)
        for number, (kind, (axes, shape)) in enumerate(KINDS.items())
    ]
    for found, expected in both(reductions):
        assert_alike(found, expected)


def test_one_alone_and_none():
    assert reduce_together([]) == []
    (found,) = reduce_together([Reduction(randn(1, 7), VECTOR, "")])
    assert_alike(found, reduce(randn(1, 7), VECTOR, leaf=""))


def test_a_sample_that_is_not_there_says_so():
    found, other = reduce_together([Reduction(randn(2, 7), VECTOR, "a", 5), Reduction(randn(2, 7), VECTOR, "b", 1)])
    assert isinstance(found.picture, Nothing)
    assert other.statistics.count == 7


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf"), 3e38])
def test_what_is_not_finite_stays_with_its_own(wrong):
    bad = randn(1, 3, 5, 5)
    bad[0, 1, 2, :] = wrong
    reductions = [Reduction(randn(1, 9), VECTOR, ""), Reduction(bad, IMAGE, ""), Reduction(randn(1, 6), VECTOR, "")]
    for found, expected in both(reductions):
        assert_alike(found, expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    for found, expected in both([Reduction(randn(1, 4, 6, 6, seed=i).to(dtype), IMAGE, "") for i in range(3)]):
        assert_alike(found, expected)


def test_pinned_channels_are_shown():
    summaries = reduce_together([Reduction(randn(1, 6, 5, 5, seed=i), IMAGE, "", 0, (4, 1)) for i in range(3)])
    assert [summary.picture.channels for summary in summaries] == [(4, 1)] * 3


@given(
    st.lists(
        arrays.arrays(
            np.float32,
            arrays.array_shapes(min_dims=3, max_dims=3, max_side=9),
            elements=st.one_of(st.sampled_from([0.0, -0.0, 1.0, 6.0]), st.floats(-1000, 1000, width=32)),
        ),
        min_size=2,
        max_size=4,
    )
)
def test_any_maps_together(values):
    # Channels that differ by rounding alone may be ranked either way.
    for found, expected in both([Reduction(torch.from_numpy(v), MAPS, "", 0, tuple(range(len(v)))) for v in values]):
        assert_alike(found, expected)


def test_what_is_small():
    assert is_small(randn(1, 3, 8, 8))
    assert not is_small(randn(1, 64, 64, 64))
    assert not is_small(torch.arange(5))
    assert not is_small(torch.empty(0))
    assert not is_small(torch.nn.Parameter(randn(3)).to_sparse())
    assert not is_small(randn(3).to(torch.complex64))
    assert not is_small(torch.empty(3, device="meta"))


@pytest.mark.parametrize("form", ["patches", "patches of a volume"])
def test_numbers_are_those_of_all_tokens_the_special_ones_too(form):
    axes, shape = KINDS[form]
    tokens = randn(*shape)
    tokens[:, 0] += 50
    for summary in (reduce(tokens, axes, leaf=""), *reduce_together([Reduction(tokens, axes, "")])):
        assert summary.statistics.count == summary.histogram.counts.sum() == tokens.numel()
        assert summary.statistics.maximum == pytest.approx(tokens.max().item())
        assert summary.statistics.mean == pytest.approx(tokens.mean().item(), rel=1e-4)
