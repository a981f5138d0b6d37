"""Pieces of the same kind share memory; what cannot share gets its own."""

from __future__ import annotations

import torch
from torch import Tensor

from nf_widget.capture.scratch import Scratch


class Tagged(Tensor):
    pass


def test_pieces_of_one_kind_share_memory_until_the_kind_changes():
    scratch = Scratch()
    first, second = torch.zeros(4, 6), torch.ones(4, 6)
    held = scratch.like(first, "work")
    assert held is not None
    assert scratch.like(second, "work") is held
    assert scratch.like(second, "other") is not held
    turned = scratch.like(torch.zeros(6, 4).T, "work")
    assert turned is not None
    assert turned.shape == (4, 6)
    assert turned.stride() == (1, 4)


def test_half_precision_is_converted_into_shared_memory_and_float32_is_not_copied():
    scratch = Scratch()
    half = torch.arange(6, dtype=torch.bfloat16).view(2, 3)
    first = scratch.real(half)
    assert first.dtype == torch.float32
    assert first.tolist() == half.tolist()
    again = scratch.real(half + 1)
    assert again.data_ptr() == first.data_ptr()
    assert again.tolist() == (half + 1).tolist()
    single = torch.ones(3)
    assert scratch.real(single) is single
    assert scratch.real(single, double=True).dtype == torch.float64


def test_complex_numbers_become_their_magnitude():
    assert Scratch().real(torch.tensor([3 + 4j])).tolist() == [5.0]


def test_a_subclass_gets_memory_of_its_own():
    tagged = torch.zeros(3).as_subclass(Tagged)
    assert Scratch().like(tagged, "work") is None
