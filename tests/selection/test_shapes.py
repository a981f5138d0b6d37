"""Positions and channels of what modules give out, from the trace alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import models_zoo as zoo
from nf_widget.selection.anatomy import Anatomy
from nf_widget.selection.shapes import Form
from selection.traces import image, tokens, traced


def form(model: nn.Module, x: Any, path: str) -> Form:
    anatomy = Anatomy(traced(model.eval(), x))
    (call,) = (call for call in anatomy.trace.calls if call.path == path)
    found = anatomy.facts[call.id].form
    assert found is not None
    return found


class Frames(nn.Module):
    """`x: [batch, time, channel, height, width]`: frames are folded into the batch axis."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 6, 1), nn.Linear(6, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.conv(x.flatten(0, 1)).mean((2, 3)))


class Depth(nn.Module):
    """`x: [batch, 3, height, width]` -> one value at each place."""

    def __init__(self) -> None:
        super().__init__()
        self.head = Squeezed()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)


class Squeezed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x).squeeze(1)


@pytest.mark.parametrize(
    ("model", "x", "path", "expected"),
    [
        (nn.Sequential(nn.Linear(4, 7)), torch.ones(5, 4), "0", Form(1, 7)),
        (nn.Sequential(nn.Conv1d(4, 7, 1)), torch.ones(5, 4, 9), "0", Form(9, 7)),
        (nn.Sequential(nn.Conv1d(4, 7, 1), nn.ReLU()), torch.ones(5, 4, 9), "1", Form(9, 7)),
        (nn.Sequential(nn.Conv1d(4, 7, 1), nn.BatchNorm1d(7)), torch.ones(5, 4, 9), "1", Form(9, 7)),
        (nn.Sequential(nn.Conv1d(4, 7, 1), nn.AvgPool1d(3)), torch.ones(5, 4, 9), "1", Form(3, 7)),
        (nn.Sequential(nn.Conv2d(3, 7, 1)), image(3, 4, 6, batch=2), "0", Form(24, 7)),
        (nn.Sequential(nn.Conv2d(3, 7, 1)), image(3, 4, 6)[0], "0", Form(24, 7)),
        (nn.Sequential(nn.Conv1d(4, 7, 1)), torch.ones(4, 9), "0", Form(9, 7)),
        (nn.Sequential(nn.Conv3d(3, 7, 1)), image(3, 2, 4, 6), "0", Form(48, 7)),
        (nn.Sequential(nn.Conv2d(3, 7, 1), zoo.Permute(0, 2, 3, 1), nn.Linear(7, 5)), image(3, 4, 6), "2", Form(24, 5)),
        (nn.Sequential(nn.Conv2d(3, 7, 1), nn.AdaptiveAvgPool2d(1)), image(3, 4, 6), "1", Form(1, 7)),
        (nn.Sequential(nn.Embedding(50, 8)), tokens(9, batch=3), "0", Form(9, 8)),
        (zoo.Swin(), image(3, 64, 64), "features.1.0.attn", Form(32 * 32, 8)),
        (Frames(), torch.ones(2, 4, 3, 5, 5), "conv", Form(100, 6)),
        (Frames(), torch.ones(2, 4, 3, 5, 5), "fc", Form(1, 5)),
        (Depth(), image(3, 4, 6), "head", Form(24, 1)),
    ],
)
def test_form(model: nn.Module, x: Any, path: str, expected: Form) -> None:
    assert form(model, x, path) == expected


def test_what_a_convolution_reads_has_its_channels_where_the_result_has_them() -> None:
    anatomy = Anatomy(traced(nn.Sequential(nn.Sequential(nn.Conv1d(4, 7, 3, 2, 1))), torch.ones(1, 4, 100)))
    assert anatomy.facts[1].entry == (Form(100, 4),)


@pytest.mark.parametrize(("one", "other", "same"), [(196, 197, True), (49, 16, False), (1, 1, True), (1, 2, False)])
def test_levels_bear_borders_and_special_tokens(one: int, other: int, same: bool) -> None:
    assert Form(one, 3).same_level(Form(other, 5)) is same
    assert Form(other, 3).same_level(Form(one, 5)) is same
