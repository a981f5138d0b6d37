"""Inputs that change in one way."""

from __future__ import annotations

import itertools

import pytest
import torch

from nf_widget import InputError, sweeps, trace
from nf_widget.sweeps import Sweep


@pytest.fixture
def image() -> torch.Tensor:
    return torch.rand(1, 3, 20, 30, generator=torch.Generator().manual_seed(0))


def test_a_fade_begins_and_ends_with_its_inputs(image: torch.Tensor) -> None:
    other = 1 - image
    fade = sweeps.cross_fade(image, other, steps=5)
    assert torch.equal(fade[0], image)
    assert torch.equal(fade[4], other)
    torch.testing.assert_close(fade[1], 0.75 * image + 0.25 * other)
    assert fade.labels[1] == "25 %"


def test_an_occlusion_covers_every_pixel_and_each_patch_is_where_its_label_says(image: torch.Tensor) -> None:
    sweep = sweeps.occlusion(image, size=(8, 7), stride=(5, 7), fill=-1.0)
    assert torch.equal(sweep[0], image)
    covered = torch.zeros(20, 30, dtype=torch.bool)
    for hidden in sweep[1:]:
        patch = (hidden == -1).all(dim=1)[0]
        assert patch.sum() == 8 * 7
        assert torch.equal(hidden[..., ~patch], image[..., ~patch])
        covered |= patch
    assert covered.all()
    assert sweep.labels[1] == "at 0, 0"
    assert (sweep[1][..., 0:8, 0:7] == -1).all()


def test_the_patch_moves_on_to_a_neighbour(image: torch.Tensor) -> None:
    sweep = sweeps.occlusion(image, size=5, fill=-1.0)
    places = [(hidden[0, 0] == -1).nonzero()[0] for hidden in sweep[1:]]
    assert max((b - a).abs().max().item() for a, b in itertools.pairwise(places)) <= 3


def test_noise_is_the_same_grain_at_each_strength(image: torch.Tensor) -> None:
    sweep = sweeps.noise(image, levels=[0, 0.5, 2], seed=3)
    assert torch.equal(sweep[0], image)
    torch.testing.assert_close((sweep[2] - image) / 4, sweep[1] - image)
    assert torch.equal(sweep[1], sweeps.noise(image, levels=[0.5], seed=3)[0])
    assert not torch.equal(sweep[1], sweeps.noise(image, levels=[0.5], seed=4)[0])


def test_noise_draws_from_no_generator_of_the_user(image: torch.Tensor) -> None:
    before = torch.get_rng_state()
    sweeps.noise(image)[3]
    assert torch.equal(torch.get_rng_state(), before)


def test_a_pan_goes_from_corner_to_corner(image: torch.Tensor) -> None:
    pan = sweeps.crop_pan(image, size=(10, 12), steps=4)
    assert torch.equal(pan[0], image[..., :10, :12])
    assert torch.equal(pan[3], image[..., 10:, 18:])
    assert {tuple(crop.shape) for crop in pan} == {(1, 3, 10, 12)}


def test_slices_of_a_volume_lack_its_axis() -> None:
    volume = torch.arange(2.0 * 4 * 3 * 5).reshape(1, 2, 4, 3, 5)
    cut = sweeps.slices(volume)
    assert len(cut) == 4
    assert torch.equal(cut[2], volume[:, :, 2])
    assert len(sweeps.slices(volume, axis=-1)) == 5


def test_a_sweep_is_a_sequence_whose_parts_are_sweeps(image: torch.Tensor) -> None:
    fade = sweeps.cross_fade(image, image + 1, steps=11)
    part = fade[2:9:3]
    assert isinstance(part, Sweep)
    assert part.labels == fade.labels[2:9:3]
    assert torch.equal(part[1], fade[5])
    assert torch.equal(fade[-1], image + 1)
    with pytest.raises(IndexError):
        fade[11]


def test_a_flow_takes_frames_and_labels_from_a_sweep(image: torch.Tensor) -> None:
    flow = trace(torch.nn.Conv2d(3, 2, 3), frames=sweeps.cross_fade(image, image * 2, steps=3))
    assert flow.frame_labels == ("0 %", "50 %", "100 %")
    torch.testing.assert_close(flow.activation("input", frame=1), image * 1.5)


def test_what_does_not_fit_is_named(image: torch.Tensor) -> None:
    with pytest.raises(InputError, match="one shape"):
        sweeps.cross_fade(image, image[..., 1:])
    with pytest.raises(InputError, match="at least 2"):
        sweeps.cross_fade(image, image, steps=1)
    with pytest.raises(InputError, match="does not fit into 20×30"):
        sweeps.occlusion(image, size=40)
    with pytest.raises(InputError, match="does not fit"):
        sweeps.crop_pan(image, size=(21, 3))
    with pytest.raises(InputError, match="floating point"):
        sweeps.noise(torch.ones(2, 2, dtype=torch.int64))
    with pytest.raises(InputError, match="no axis 7"):
        sweeps.slices(image, axis=7)
    with pytest.raises(InputError, match="height"):
        sweeps.occlusion(torch.ones(3))
