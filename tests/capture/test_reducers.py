"""Reducing is safe for any tensor, in bounded memory, and leaves the tensor as it was."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

from allocations import Allocations
from nf_widget.capture.reducers import reduce
from nf_widget.records import Nothing, VectorStrip
from tensors import IMAGE, MAPS, SCALAR, TOKENS, VECTOR, VOLUME, patch_tokens, unnamed


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def quietly(make):
    """Torch warns that some kinds of tensor are experimental, or going away."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def same(summary, other):
    return (
        summary.statistics == other.statistics
        and np.array_equal(summary.histogram.counts, other.histogram.counts)
        and np.array_equal(summary.picture.values, other.picture.values)
    )


SMALL = 2 << 20
LARGE = {
    "image": (IMAGE, (1, 64, 192, 192)),
    "one map": (IMAGE, (1, 1, 1500, 1500)),
    "many maps": (IMAGE, (1, 20_000, 10, 10)),
    "volume": (VOLUME, (1, 2, 96, 96, 96)),
    "tokens": (patch_tokens(40, 40, special=1), (1, 1601, 1000)),
    "vector": (VECTOR, (1, 2_000_000)),
    "generic": (unnamed(2), (1200, 1700)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
@pytest.mark.parametrize("kind", LARGE)
def test_memory_is_bounded_whatever_the_size(kind, dtype):
    axes, shape = LARGE[kind]
    values = (4 * randn(*shape)).to(dtype)
    budget = 1 << 20
    with Allocations() as allocations:
        summary = reduce(values, axes, leaf="", budget=budget)
    assert not isinstance(summary.picture, Nothing)
    # Small results (rankings, pictures, pooled maps) come on top.
    assert 0 < allocations.peak < budget + SMALL


@pytest.mark.parametrize("kind", ["image", "one map", "tokens"])
@pytest.mark.parametrize("order", [(0, 2, 3, 1), (3, 2, 1, 0)])
def test_memory_is_bounded_for_other_strides(kind, order):
    axes, shape = LARGE[kind]
    order = order if len(shape) == 4 else (2, 0, 1)
    values = randn(*shape).permute(order).contiguous().permute(*np.argsort(order))
    with Allocations() as allocations:
        summary = reduce(values, axes, leaf="", budget=1 << 20)
    assert allocations.peak < (1 << 20) + SMALL
    plain = reduce(values.contiguous(), axes, leaf="")
    assert np.array_equal(summary.histogram.counts, plain.histogram.counts)
    assert summary.statistics.mean == pytest.approx(plain.statistics.mean, abs=1e-6)
    assert np.allclose(summary.picture.values, plain.picture.values, atol=1e-5)


@pytest.mark.parametrize("kind", LARGE)
def test_the_tensor_is_not_touched(kind):
    axes, shape = LARGE[kind]
    values = randn(*shape).requires_grad_()
    before, version = values.detach().clone(), values._version
    reduce(values, axes, leaf="")
    assert values._version == version
    assert torch.equal(values, before)
    assert values.grad_fn is None


SMALL_ONES = {
    "image": (IMAGE, (1, 3, 6, 6)),
    "one map": (IMAGE, (1, 1, 6, 6)),
    "volume": (VOLUME, (1, 2, 4, 5, 6)),
    "tokens": (patch_tokens(2, 3), (1, 6, 8)),
    "vector": (VECTOR, (1, 9)),
    "generic": (unnamed(2), (5, 7)),
}


def arrays_of(picture):
    found = [getattr(picture, "values", None), getattr(getattr(picture, "maps", None), "values", None)]
    return [a for a in found if a is not None] + [plane.values for plane in getattr(picture, "planes", ())]


@pytest.mark.parametrize("kind", SMALL_ONES)
def test_a_picture_stays_when_the_tensor_is_overwritten(kind):
    axes, shape = SMALL_ONES[kind]
    values = randn(*shape)
    arrays = arrays_of(reduce(values, axes, leaf="").picture)
    before = [array.copy() for array in arrays]
    values.zero_()
    assert arrays
    assert all(np.array_equal(array, old) and old.any() for array, old in zip(arrays, before, strict=True))


def test_the_same_twice():
    values = randn(1, 40, 60, 60)
    assert same(reduce(values, IMAGE, leaf=""), reduce(values, IMAGE, leaf=""))


def test_sample_of_a_batch():
    values = randn(3, 4, 9, 9)
    assert same(reduce(values, IMAGE, leaf="", sample=2), reduce(values[2], MAPS, leaf=""))
    assert same(reduce(values[:1], IMAGE, leaf="", sample=2), reduce(values[0], MAPS, leaf=""))
    assert reduce(values, IMAGE, leaf="", sample=3).picture.reason == "no sample 3 in a batch of 3"


def test_batch_axis_anywhere():
    axes = TOKENS.__class__(("token", "batch", "feature"), "tokens", "test")
    values = randn(7, 2, 5)
    assert np.array_equal(reduce(values, axes, leaf="", sample=1).picture.values, values[:, 1])


def test_axes_that_do_not_fit_give_way():
    summary = reduce(randn(4, 5, 6), IMAGE, leaf="")
    assert summary.axes.kind == "generic"
    assert summary.axes.names == ("other", "other", "other")
    assert summary.picture.size == (5, 6)


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"{func} was seen by the subclass")


class Refusing(torch.Tensor):
    """Wraps a tensor that no operation may read."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"no {func}\nand more")


class Watching(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def test_subclasses_and_modes_do_not_see_it():
    values = randn(1, 4, 8, 8)
    plain = reduce(values, IMAGE, leaf="")
    assert same(reduce(values.as_subclass(Tagged), IMAGE, leaf=""), plain)
    assert same(reduce(nn.Parameter(values), IMAGE, leaf=""), plain)
    with Watching() as watching:
        assert same(reduce(values, IMAGE, leaf=""), plain)
    # Entering and leaving `no_grad` is seen.
    assert len(watching.seen) <= 2


def test_a_tensor_that_refuses_says_so_and_nothing_raises():
    picture = reduce(Refusing(randn(1, 2, 3, 3)), IMAGE, leaf="").picture
    assert isinstance(picture, Nothing)
    assert re.fullmatch(r"Refusing of float32 cannot be read: no aten\.\S+", picture.reason)


def test_the_state_of_torch_around_it_does_not_matter():
    values = randn(1, 4, 60, 60)
    plain = reduce(values, IMAGE, leaf="")
    with torch.inference_mode():
        inference = values.clone()
        assert same(reduce(inference, IMAGE, leaf=""), plain)
    assert same(reduce(inference, IMAGE, leaf=""), plain)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert same(reduce(values, IMAGE, leaf=""), plain)
    with torch.device("meta"):
        assert same(reduce(values, IMAGE, leaf=""), plain)
    torch.set_default_dtype(torch.float64)
    try:
        assert same(reduce(values, IMAGE, leaf=""), plain)
    finally:
        torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(mode=True)
    try:
        assert same(reduce(values, IMAGE, leaf=""), plain)
    finally:
        torch.use_deterministic_algorithms(mode=False)


def test_without_values_there_is_nothing():
    assert (
        reduce(torch.empty(1, 3, 4, 4, device="meta"), IMAGE, leaf="").picture.reason == "meta tensors have no values"
    )
    with FakeTensorMode():
        fake = torch.randn(1, 3, 4, 4)
    assert isinstance(reduce(fake, IMAGE, leaf="").picture, Nothing)
    assert reduce(torch.empty(1, 3, 0, 4), IMAGE, leaf="").picture.reason == "empty: 1×3×0×4"


@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.complex128])
def test_complex_numbers_are_shown_by_their_magnitude(dtype):
    values = quietly(lambda: torch.complex(randn(1, 3, 6, 6), randn(1, 3, 6, 6, seed=1)).to(dtype))
    summary = reduce(values, IMAGE, leaf="")
    assert summary.axes.reason.endswith("complex: its magnitude is shown")
    shown = quietly(lambda: values.to(torch.complex128)).abs()[0, list(summary.picture.channels)]
    assert np.allclose(summary.picture.values, shown, rtol=1e-3 if dtype == torch.complex32 else 1e-6)


ODD = [name for name in ("float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64", "bool") if hasattr(torch, name)]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("shape", [(1, 3, 6, 6), (1, 3, 60, 60)])
def test_rare_dtypes_are_shown_like_others(name, shape):
    values = torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(0)).to(getattr(torch, name))
    summary = reduce(values, IMAGE, leaf="")
    assert summary.spec.dtype == name
    assert summary.picture.kind == "maps"
    assert summary.statistics.mean == pytest.approx(values.double().mean().item())


@pytest.mark.parametrize("per_channel", [False, True])
def test_quantised_tensors_are_shown_as_what_they_stand_for(per_channel):
    values = randn(2, 3, 5, 5)
    if per_channel:
        scales, points = torch.tensor([0.1, 0.2, 0.05]), torch.zeros(3, dtype=torch.int64)
        quantised = quietly(lambda: torch.quantize_per_channel(values, scales, points, 1, torch.qint8))
    else:
        quantised = quietly(lambda: torch.quantize_per_tensor(values, 0.1, 0, torch.qint8))
    assert same(reduce(quantised, IMAGE, leaf="", sample=1), reduce(quantised.dequantize(), IMAGE, leaf="", sample=1))


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_small_sparse_tensors_are_shown_like_others(layout):
    values = randn(8, 9) * (randn(8, 9, seed=1) > 0.5)
    sparse = quietly(lambda: values.to_sparse(layout=layout))
    assert same(reduce(sparse, unnamed(2), leaf=""), reduce(values, unnamed(2), leaf=""))


def test_large_sparse_tensors_are_never_made_dense():
    places = torch.randint(0, 3000, (2, 500), generator=torch.Generator().manual_seed(0))
    sparse = quietly(lambda: torch.sparse_coo_tensor(places, randn(500), (3000, 3000)))
    with Allocations() as allocations:
        summary = reduce(sparse, unnamed(2), leaf="")
    assert allocations.peak < 1 << 20
    stored = sparse.coalesce().values()
    assert summary.statistics.count == len(stored)
    assert summary.statistics.mean == pytest.approx(stored.mean().item())
    assert summary.axes.reason.endswith(f"sparse: statistics over the {len(stored)} stored values of 9,000,000")
    whole = sparse.to_dense().double()
    assert summary.picture.size == (3000, 3000)
    assert summary.picture.values.sum() * (3000 / 48) ** 2 == pytest.approx(whole.sum().item(), rel=0.05)
    assert np.count_nonzero(summary.picture.values) > 300


def test_a_large_sparse_batch_gives_one_sample():
    places = torch.tensor([[0, 1, 1], [5, 6, 2999], [7, 8, 999]])
    sparse = quietly(lambda: torch.sparse_coo_tensor(places, torch.tensor([1.0, 2.0, 3.0]), (2, 3000, 1000)))
    axes = TOKENS.__class__(("batch", "height", "width"), "image", "test")
    summary = reduce(sparse, axes, leaf="", sample=1)
    assert (summary.statistics.count, summary.statistics.minimum) == (2, 2.0)
    assert summary.picture.values[0, -1, -1] > 0


def test_sparse_tensors_with_dense_parts_show_their_stored_values():
    sparse = quietly(lambda: torch.sparse_coo_tensor(torch.tensor([[3, 900_000]]), randn(2, 4), (1_000_000, 4)))
    assert isinstance(reduce(sparse, unnamed(2), leaf="").picture, VectorStrip)


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_samples_of_nested_tensors_have_their_own_shape(layout):
    parts = [randn(3, 4), randn(5, 4, seed=1)]
    nested = quietly(lambda: torch.nested.nested_tensor(parts, layout=layout))
    summary = reduce(nested, unnamed(3), leaf="", sample=1)
    assert summary.spec.shape == (2, 5, 4)
    assert summary.axes.names == ("batch", "token", "feature")
    assert np.array_equal(summary.picture.values, parts[1])
    assert isinstance(reduce(nested, unnamed(3), leaf="", sample=2).picture, Nothing)


def test_a_scalar_that_is_not_a_number():
    summary = reduce(torch.tensor(float("nan")), SCALAR, leaf="")
    assert summary.picture.text == "nan"
    assert summary.histogram is None
    assert summary.statistics.nan == 1
