"""Pictures as a person knows them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nf_widget.interpret.photo import photo
from nf_widget.records import Axes
from tensors import IMAGE, MAPS, VECTOR


def scene(rows=20, columns=30):
    generator = torch.Generator().manual_seed(4)
    return torch.randint(0, 256, (3, rows, columns), generator=generator).float() / 255


MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
WAYS = {
    "0 to 1": lambda x: x,
    "0 to 255": lambda x: x * 255,
    "bytes": lambda x: (x * 255).round().to(torch.uint8),
    "ImageNet": lambda x: (x - MEAN) / STD,
    "-1 to 1": lambda x: x * 2 - 1,
    "half": lambda x: x.half(),
    "double": lambda x: ((x - MEAN) / STD).double(),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_photograph_is_seen_as_it_was(way):
    image = scene()
    found = photo(WAYS[way](image)[None], IMAGE)
    expected = (image * 255).round().permute(1, 2, 0).numpy()
    assert found.values.dtype == np.uint8
    assert np.abs(found.values.astype(int) - expected).max() <= 1
    assert (found.size, found.pooled) == ((20, 30), False)


def test_other_ranges_are_stretched():
    image = scene() * 9 - 4.5
    found = photo(image[None], IMAGE)
    assert (found.values.min(), found.values.max()) == (0, 255)
    assert photo(torch.full((1, 3, 4, 4), -7.0), IMAGE).values.tolist() == np.full((4, 4, 3), 128).tolist()


def test_one_channel_is_grey():
    found = photo(torch.linspace(-0.4242, 2.8215, 12).view(1, 1, 3, 4), IMAGE)
    assert found.values.shape == (3, 4, 3)
    assert (found.values == found.values[..., :1]).all()
    assert (found.values.min(), found.values.max()) == (0, 255)


def test_a_byte_mask_of_zero_and_one_is_black_and_white():
    assert set(np.unique(photo(torch.tensor([[[[0, 1]]]], dtype=torch.uint8), IMAGE).values)) == {0, 255}


def test_a_large_photograph_is_made_small_and_its_range_is_still_that_of_the_whole():
    image = torch.zeros(1, 3, 256, 512)
    image[..., ::2] = 255
    found = photo(image, IMAGE)
    assert found.values.shape == (64, 128, 3)
    assert (found.size, found.pooled) == ((256, 512), True)
    assert set(np.unique(found.values)) == {128}


def test_channels_may_come_last_or_not_at_all():
    last = Axes(("batch", "height", "width", "channel"), "image", "test")
    without = Axes(("batch", "height", "width"), "image", "test")
    image = scene()
    plain = photo(image[None], IMAGE).values
    assert np.array_equal(photo(image.permute(1, 2, 0)[None], last).values, plain)
    assert np.array_equal(photo(image[:1], without).values[..., 0], plain[..., 0])
    assert np.array_equal(photo(image, MAPS).values, plain)


def test_the_photograph_of_a_sample():
    batch = torch.stack([scene(), scene().flip(2)])
    assert np.array_equal(photo(batch, IMAGE, sample=1).values, photo(batch, IMAGE).values[:, ::-1])
    assert photo(batch, IMAGE, sample=2) is None


@pytest.mark.parametrize(
    ("tensor", "axes"),
    [
        (torch.zeros(1, 2, 4, 4), IMAGE),
        (torch.zeros(1, 3), VECTOR),
        (torch.zeros(1, 3, 4, 4, device="meta"), IMAGE),
        (torch.zeros(1, 3, 4, 4, dtype=torch.complex64), IMAGE),
        (torch.zeros(1, 3, 0, 4), IMAGE),
        (torch.full((1, 3, 4, 4), math.nan), IMAGE),
    ],
)
def test_other_tensors_are_no_photographs(tensor, axes):
    assert photo(tensor, axes) is None


def test_the_tensor_is_not_touched():
    image = scene()[None].requires_grad_()
    before = image.detach().clone()
    photo(image, IMAGE).values[...] = 0
    assert torch.equal(image, before)


def test_noise_that_carries_a_photograph_a_little_beyond_its_range_leaves_its_brightness():
    clean = torch.linspace(0, 1, 64).repeat(3, 64, 1)[None]
    noisy = clean + 0.1 * torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    found = photo(noisy, IMAGE)
    shown = found.values[..., 0].mean(0)
    assert abs(shown[:4].mean() - 10) < 25
    assert abs(shown[-4:].mean() - 245) < 25


def test_brightness_means_the_same_in_later_frames():
    first = torch.rand(1, 1, 8, 8, generator=torch.Generator().manual_seed(0)) * 900 + 100
    held = photo(first, IMAGE)
    darker = first * 0.5
    alone, beside = photo(darker, IMAGE), photo(darker, IMAGE, held=held)
    assert alone.values.max() == 255
    low, high = float(first.min()), float(first.max())
    wanted = np.clip((darker[0, 0].numpy() - low) / (high - low), 0, 1) * 255
    assert np.abs(beside.values[..., 0] - wanted).max() <= 1
    assert (beside.slopes, beside.offsets) == (held.slopes, held.offsets)


@pytest.mark.parametrize("first", [torch.zeros(1, 1, 8, 8), torch.full((1, 1, 8, 8), -7.0), torch.rand(1, 3, 8, 8)])
def test_a_first_frame_that_says_nothing_of_brightness_is_not_held(first):
    image = torch.linspace(0, 3000, 64).view(1, 1, 8, 8)
    assert np.array_equal(photo(image, IMAGE, held=photo(first, IMAGE)).values, photo(image, IMAGE).values)
