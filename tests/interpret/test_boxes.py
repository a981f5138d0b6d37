"""Boxes from outputs that belong together."""

from __future__ import annotations

import pytest
import torch

from nf_widget.interpret.boxes import boxes

NAMES = {0: "none", 1: "cat", 2: "dog"}
CORNERS = torch.tensor([[10.0, 20.0, 30.0, 60.0], [0.0, 0.0, 40.0, 80.0], [1.0, 1.0, 2.0, 2.0]])


def leaves(prefix="0."):
    return {
        f"{prefix}boxes": CORNERS,
        f"{prefix}labels": torch.tensor([2, 1, 1]),
        f"{prefix}scores": torch.tensor([0.4, 0.9, 0.01]),
    }


@pytest.mark.parametrize("prefix", ["0.", ""])
def test_corners_with_labels_and_scores(prefix):
    found = boxes(f"{prefix}boxes", leaves(prefix), image=(80, 40), names=NAMES, over="images.0")
    assert [(box.name, round(box.score, 2)) for box in found.entries] == [("cat", 0.9), ("dog", 0.4)]
    second = found.entries[1]
    assert (second.left, second.top, second.right, second.bottom) == (0.25, 0.25, 0.75, 0.75)
    assert (found.count, found.size, found.over) == (3, (80, 40), "images.0")


def test_centres_and_sizes_with_logits_whose_last_class_is_none():
    logits = torch.full((1, 2, 4), -9.0)
    logits[0, 0, 3], logits[0, 1, 2] = 9.0, 9.0
    given = {"logits": logits, "pred_boxes": torch.tensor([[[0.5, 0.5, 0.1, 0.1], [0.5, 0.25, 0.5, 0.5]]])}
    found = boxes("pred_boxes", given, image=None, names=NAMES)
    (box,) = found.entries
    assert (box.name, box.left, box.top, box.right, box.bottom) == ("dog", 0.25, 0.0, 0.75, 0.5)
    assert box.score == pytest.approx(1, abs=1e-4)


def test_without_names_or_scores():
    found = boxes("0.boxes", {"0.boxes": CORNERS}, image=(80, 40))
    assert [(box.name, box.score) for box in found.entries] == [("", None)] * 3
    found = boxes("0.boxes", {k: v for k, v in leaves().items() if "scores" not in k}, image=(80, 40))
    assert [box.name for box in found.entries] == ["class 2", "class 1", "class 1"]


def test_the_best_is_shown_where_none_is_good():
    found = boxes("0.boxes", {**leaves(), "0.scores": torch.tensor([0.01, 0.03, 0.02])}, image=(80, 40))
    assert [round(box.score, 2) for box in found.entries] == [0.03]


def test_no_box_found():
    given = {"0.boxes": torch.zeros(0, 4), "0.labels": torch.zeros(0), "0.scores": torch.zeros(0)}
    found = boxes("0.boxes", given, image=(80, 40))
    assert (found.entries, found.count) == ((), 0)


@pytest.mark.parametrize(
    "given",
    [torch.zeros(3, 5), torch.zeros(4), torch.full((2, 4), float("nan")), torch.tensor([[9.0, 0.0, 3.0, 1.0]])],
)
def test_other_tensors_are_no_boxes(given):
    assert boxes("boxes", {"boxes": given}, image=(8, 8)) is None
