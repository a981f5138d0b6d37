"""Segmentation: the class at each place."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from allocations import Allocations
from nf_widget.interpret.masks import class_map, few_classes, is_share, mask, scores_of
from nf_widget.records import Axes
from tensors import IMAGE, VECTOR, VOLUME

PLANE = Axes(("batch", "height", "width"), "image", "test")
NAMES = ["background", "cat", "dog"]


def found(tensor, axes, **words):
    return mask(scores_of(tensor, axes, 0), **words)


def scores(labels, count):
    """`[1, class, ...]` whose argmax is `labels`."""
    return torch.nn.functional.one_hot(labels, count).movedim(-1, 0)[None].float() * 9


def shares(picture):
    return {entry.name: round(entry.value, 4) for entry in picture.entries}


def test_the_class_at_each_place_with_its_share():
    labels = torch.tensor([[0, 0, 1], [0, 2, 2]])
    picture = found(scores(labels, 4), IMAGE)
    assert shares(picture) == {"class 0": 0.5, "class 2": 0.3333, "class 1": 0.1667}
    assert picture.values.tolist() == [[0, 0, 2], [0, 1, 1]]
    assert (picture.size, picture.pooled, picture.count) == ((2, 3), False, 4)
    assert (picture.how, picture.background, picture.depth) == ("argmax of 4 channels", -1, None)


@given(st.integers(1, 5), st.integers(1, 300), st.integers(1, 300), st.integers(0, 99))
def test_shares_are_those_of_all_places_and_the_picture_is_sampled(count, rows, columns, seed):
    labels = torch.randint(0, count, (rows, columns), generator=torch.Generator().manual_seed(seed))
    picture = found(labels[None], PLANE)
    counts = np.bincount(labels.flatten())
    assert {e.index: e.value for e in picture.entries} == {
        i: pytest.approx(n / labels.numel()) for i, n in enumerate(counts) if n
    }
    assert max(picture.values.shape) <= 128
    assert picture.pooled == (picture.values.shape != (rows, columns))
    assert sum(entry.value for entry in picture.entries) == pytest.approx(1)
    order = [entry.index for entry in picture.entries]
    if not picture.pooled:
        assert np.array_equal(np.asarray(order)[picture.values], labels.numpy())


def test_names_fit_and_one_of_them_is_the_background():
    picture = found(scores(torch.tensor([[0, 1], [0, 2]]), 3), IMAGE, names=NAMES, over="x")
    assert shares(picture) == {"background": 0.5, "cat": 0.25, "dog": 0.25}
    assert (picture.background, picture.over) == (0, "x")


@pytest.mark.parametrize(
    ("values", "how"),
    [
        (torch.tensor([[-2.0, 3.0, 1.0, -1.0]]), "above 0"),
        (torch.tensor([[0.1, 0.9, 0.7, 0.2]]), "above 0.5"),
        (torch.tensor([[False, True, True, False]]), "mask"),
    ],
)
def test_one_channel_says_where_the_second_of_two_classes_is(values, how):
    picture = found(values[None], PLANE)
    assert (shares(picture), picture.how) == ({"class 0": 0.5, "class 1": 0.5}, how)
    assert picture.values.tolist() == [[0, 1, 1, 0]]
    assert picture.background == 0


def test_places_without_a_class_are_left_out():
    values = scores(torch.tensor([[0, 1, 1]]), 2)
    values[0, 0, 0, 0] = float("nan")
    picture = found(values, IMAGE)
    assert (shares(picture), picture.values.tolist()) == ({"class 1": 1.0}, [[255, 0, 0]])
    ignored = found(torch.tensor([[[-1, 3, 3]]]), PLANE)
    assert (shares(ignored), ignored.values.tolist()) == ({"class 3": 1.0}, [[255, 0, 0]])


def test_of_a_volume_the_slice_that_shows_most_and_the_shares_of_all():
    labels = torch.zeros(3, 4, 5, dtype=torch.int64)
    labels[1, 0, :2], labels[2, :2, :4] = 1, 2
    picture = found(scores(labels, 3), VOLUME, names=NAMES)
    assert picture.depth == 2
    assert picture.values.tolist() == np.asarray([[1] * 4 + [0]] * 2 + [[0] * 5] * 2).tolist()
    assert shares(picture) == {"background": round(50 / 60, 4), "dog": round(8 / 60, 4), "cat": round(2 / 60, 4)}


@pytest.mark.parametrize("limit", [7, 100, 1 << 22])
def test_a_large_volume_is_counted_in_parts(limit, monkeypatch):
    monkeypatch.setattr("nf_widget.interpret.masks._LIMIT", limit)
    labels = torch.randint(0, 4, (5, 6, 7), generator=torch.Generator().manual_seed(0))
    values = scores(labels, 4)
    kept = values.clone()
    picture = found(values, VOLUME)
    counts = np.bincount(labels.flatten())
    assert {e.index: e.value for e in picture.entries} == {i: pytest.approx(n / 210) for i, n in enumerate(counts)}
    assert torch.equal(values, kept)


def test_what_may_be_classes():
    assert few_classes(scores_of(torch.tensor([[[0, 5]]]), PLANE, 0))
    assert not few_classes(scores_of(torch.tensor([[[0, 5000]]]), PLANE, 0))
    assert not few_classes(scores_of(torch.tensor([[[0, 200]]], dtype=torch.uint8), PLANE, 0))
    assert not few_classes(scores_of(torch.tensor([[[-9, 5]]]), PLANE, 0))
    logits = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(0))
    assert is_share(scores_of(logits.softmax(1), IMAGE, 0))
    assert not is_share(scores_of(logits, IMAGE, 0))


@pytest.mark.parametrize("tensor", [torch.zeros(1, 3), torch.zeros(1, 3, 4, 4, dtype=torch.complex64)])
def test_other_tensors_are_no_masks(tensor):
    assert scores_of(tensor, VECTOR if tensor.ndim == 2 else IMAGE, 0) is None


def test_memory_does_not_grow_with_the_scores():
    values = torch.zeros(1, 8, 1024, 2048)
    with Allocations() as allocations:
        found(values, IMAGE)
    assert allocations.peak < values.nbytes / 4


def test_whole_numbers_in_the_middle_of_a_net_are_a_class_map():
    assert class_map(torch.tensor([[[0, 2]]]), PLANE, 0).how == "class indices"
    assert class_map(torch.tensor([[[0.0, 2.0]]]), PLANE, 0) is None
    assert class_map(torch.tensor([[[True, False]]]), PLANE, 0) is None
    assert class_map(torch.tensor([[0, 2]]), VECTOR, 0) is None
