"""Tiles hold the exact values of what was asked for, or say why there are none."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nf_widget.capture.detail import cut
from nf_widget.records import Request, StageId
from tensors import ATTENTION, IMAGE, SCALAR, SEQUENCE, TOKENS, VECTOR, VOLUME, area_means, patch_tokens, unnamed


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def ask(sample=0, **which):
    return Request(key="key", frame=0, sample=sample, stage=StageId("stage"), leaf="", **which)


VALUES = randn(2, 5, 9, 7)


@given(st.data())
def test_any_region_of_any_channel_is_exact(data):
    sample, channel = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 4))
    top, left = data.draw(st.integers(0, 8)), data.draw(st.integers(0, 6))
    bottom, right = data.draw(st.integers(top + 1, 9)), data.draw(st.integers(left + 1, 7))
    tile = cut(VALUES, IMAGE, ask(sample, channel=channel, region=(top, left, bottom, right)))
    expected = VALUES[sample, channel, top:bottom, left:right].numpy()
    assert tile.exact
    assert tile.error == ""
    assert tile.key == "key"
    assert tile.data.dtype == np.float32
    assert np.array_equal(tile.data, expected)
    assert (tile.low, tile.high) == (expected.min(), expected.max())
    assert tile.mean == pytest.approx(expected.mean(), abs=1e-6)


@given(st.integers(1, 12), st.integers(1, 12))
def test_a_size_is_an_upper_bound_and_pools_by_area(rows, columns):
    tile = cut(VALUES, IMAGE, ask(channel=1, size=(rows, columns)))
    rows, columns = min(rows, 9), min(columns, 7)
    assert np.allclose(tile.data, area_means(VALUES[0, 1:2].numpy(), rows, columns)[0], atol=1e-6)
    assert tile.exact == ((rows, columns) == (9, 7))


FORMS = {
    "tokens": (TOKENS, (1, 6, 4), {}, lambda t: t[0]),
    "a feature of tokens": (TOKENS, (1, 6, 4), {"channel": 3}, lambda t: t[0, :, 3][None]),
    "a feature over patches": (patch_tokens(2, 3, 1), (1, 7, 4), {"channel": 3}, lambda t: t[0, 1:, 3].view(2, 3)),
    "sequence": (SEQUENCE, (1, 3, 8), {}, lambda t: t[0].T),
    "vector": (VECTOR, (1, 8), {}, lambda t: t),
    "channel 0 of a vector": (VECTOR, (1, 8), {"channel": 0}, lambda t: t),
    "head": (ATTENTION, (1, 3, 4, 4), {"channel": 2}, lambda t: t[0, 2]),
    "depth": (VOLUME, (1, 2, 3, 4, 5), {"channel": 1, "slice": (0, 2)}, lambda t: t[0, 1, 2]),
    "height": (VOLUME, (1, 2, 3, 4, 5), {"channel": 1, "slice": (1, 3)}, lambda t: t[0, 1, :, 3]),
    "width": (VOLUME, (1, 2, 3, 4, 5), {"channel": 1, "slice": (2, 0)}, lambda t: t[0, 1, :, :, 0]),
    "the only channel": (IMAGE, (1, 1, 4, 5), {}, lambda t: t[0, 0]),
    "generic": (unnamed(4), (2, 3, 4, 5), {"channel": 4}, lambda t: t[1, 1]),
    "scalar": (SCALAR, (), {}, lambda t: t.view(1, 1)),
}


@pytest.mark.parametrize("form", FORMS)
def test_planes_of_every_form(form):
    axes, shape, which, expected = FORMS[form]
    values = randn(*shape) if shape else torch.tensor(0.25)
    tile = cut(values, axes, ask(**which))
    assert tile.error == ""
    assert tile.exact
    assert np.array_equal(tile.data, expected(values))


DTYPES = {
    torch.float16: "float16",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.bfloat16: "float32",
    torch.float8_e4m3fn: "float32",
    torch.uint8: "uint8",
    torch.bool: "uint8",
    torch.int8: "int32",
    torch.int16: "int32",
    torch.uint16: "int32",
    torch.int32: "int32",
    torch.int64: "float64",
    torch.uint32: "float64",
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_keep_their_exact_value_on_the_wire(dtype):
    values = torch.tensor([[[[0.0, 1.0, 3.0, 117.0]]]]).to(dtype)
    tile = cut(values, IMAGE, ask())
    assert tile.data.dtype.name == DTYPES[dtype]
    assert tile.exact
    assert np.array_equal(tile.data, values[0, 0].double())


def test_integers_beyond_float64_are_not_exact():
    values = torch.tensor([[2**53 - 1, 2**53 + 1]])
    assert not cut(values, VECTOR, ask()).exact
    assert cut(values[:, :1], VECTOR, ask()).exact


def test_complex_numbers_come_as_their_magnitude_and_not_exact():
    values = torch.tensor([[3 + 4j, 1j]])
    tile = cut(values, VECTOR, ask())
    assert not tile.exact
    assert tile.data.tolist() == [[5, 1]]


def test_pooled_class_indices_are_real_ones():
    values = torch.randint(0, 9, (1, 1, 40, 40), generator=torch.Generator().manual_seed(0)) * 100
    tile = cut(values, IMAGE, ask(size=(7, 9)))
    assert not tile.exact
    assert tile.data.shape == (7, 9)
    assert set(np.unique(tile.data)) <= set(range(0, 900, 100))


def test_range_and_mean_are_of_the_finite_values():
    tile = cut(torch.tensor([[1.0, math.nan, 3.0, -math.inf]]), VECTOR, ask())
    assert (tile.low, tile.high, tile.mean) == (1, 3, 2)
    assert np.isnan(tile.data[0, 1])
    assert math.isnan(cut(torch.tensor([[math.nan]]), VECTOR, ask()).mean)


def quietly(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


REFUSALS = {
    "There is no channel 5: there are 5.": (VALUES, IMAGE, {"channel": 5}),
    "There is no channel -1: there are 5.": (VALUES, IMAGE, {"channel": -1}),
    "The request names no channel, and there are 5.": (VALUES, IMAGE, {}),
    "Rows 0 to 10, columns 0 to 7 do not lie within 9 by 7.": (VALUES, IMAGE, {"channel": 0, "region": (0, 0, 10, 7)}),
    "Rows 3 to 3, columns 0 to 7 do not lie within 9 by 7.": (VALUES, IMAGE, {"channel": 0, "region": (3, 0, 3, 7)}),
    "A picture of 0 by 4 holds nothing.": (VALUES, IMAGE, {"channel": 0, "size": (0, 4)}),
    "There are no values to show: no sample 2 in a batch of 2.": (VALUES, IMAGE, {"channel": 0, "sample": 2}),
    "There is no feature 4: there are 4.": (randn(1, 6, 4), TOKENS, {"channel": 4}),
    "There is no channel 1: this is a vector.": (randn(1, 6), VECTOR, {"channel": 1}),
    "A volume is shown slice by slice, and the request names none.": (randn(1, 1, 3, 4, 5), VOLUME, {}),
    "There is no slice 3 along axis 0, which has 3.": (randn(1, 1, 3, 4, 5), VOLUME, {"slice": (0, 3)}),
    "There is no axis 3: a volume has 0 (depth), 1 (height) and 2 (width).": (
        randn(1, 1, 3, 4, 5),
        VOLUME,
        {"slice": (3, 0)},
    ),
    "There are no values to show: meta tensors have no values.": (torch.empty(1, 3, device="meta"), VECTOR, {}),
    "There are no values to show: empty: 1×0.": (torch.empty(1, 0), VECTOR, {}),
    "This tensor is sparse, and too large to be shown value by value.": (
        quietly(lambda: torch.sparse_coo_tensor(torch.tensor([[1], [2]]), torch.ones(1), (2000, 2000))),
        unnamed(2),
        {},
    ),
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_what_is_not_there_is_refused_in_words(reason):
    values, axes, which = REFUSALS[reason]
    tile = cut(values, axes, ask(**which))
    assert tile.error == reason
    assert tile.data.size == 0
    assert not tile.exact
    assert math.isnan(tile.low)


def test_the_tensor_is_not_touched():
    values = randn(1, 3, 8, 8).requires_grad_()
    tile = cut(values, IMAGE, ask(channel=1))
    tile.data[...] = 0
    assert values.abs().min() > 0
