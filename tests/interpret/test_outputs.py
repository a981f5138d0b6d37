"""What inputs and outputs mean to a person."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nf_widget.errors import OptionError
from nf_widget.interpret.outputs import interpret, photo
from nf_widget.records import Axes
from tensors import IMAGE, MAPS, TOKENS, VECTOR

NAMES = ["cat", "dog", "hare"]


def shown(classes):
    return [(entry.index, entry.name, round(entry.value, 4)) for entry in classes.entries]


def test_logits_with_names_become_shares():
    found = interpret(torch.tensor([[1.0, 3.0, 2.0]]), VECTOR, class_names=NAMES)
    assert shown(found) == [(1, "dog", 0.6652), (2, "hare", 0.2447), (0, "cat", 0.09)]
    assert (found.scale, found.count) == ("softmax", 3)


def test_logits_without_names_stay_raw():
    assert interpret(torch.tensor([[1.0, 3.0, 2.0]]), VECTOR) is None
    assert interpret(torch.tensor([[1.0, 3.0, 2.0]]), VECTOR, class_names=["one", "two"]) is None


def test_probabilities_are_told_by_their_sum():
    found = interpret(torch.tensor([[0.2, 0.5, 0.3]]), VECTOR)
    assert shown(found) == [(1, "class 1", 0.5), (2, "class 2", 0.3), (0, "class 0", 0.2)]
    assert found.scale == "probability"
    assert interpret(torch.tensor([[0.2, 0.5, 0.7]]), VECTOR) is None
    assert interpret(torch.tensor([[-0.2, 0.5, 0.7]]), VECTOR) is None
    assert interpret(torch.ones(1, 1), VECTOR) is None


@given(arrays.arrays(np.float32, st.integers(2, 50), elements=st.floats(-20, 20, width=32)))
def test_log_probabilities_and_probabilities_give_the_same(logits):
    scores = torch.from_numpy(logits)[None]
    from_logs = interpret(scores.log_softmax(1), VECTOR)
    from_shares = interpret(scores.softmax(1), VECTOR)
    assert [e.value for e in from_logs.entries] == pytest.approx([e.value for e in from_shares.entries], abs=1e-5)
    assert from_logs.scale == from_shares.scale == "probability"
    assert len(from_logs.entries) == min(len(logits), 8)
    assert sorted((e.value for e in from_logs.entries), reverse=True) == [e.value for e in from_logs.entries]


def test_half_precision_probabilities_are_recognised():
    scores = torch.randn(1, 1000, generator=torch.Generator().manual_seed(0)).softmax(1).half()
    assert interpret(scores, VECTOR).scale == "probability"


@pytest.mark.parametrize(
    ("output_type", "scale", "first"),
    [("logits", "softmax", 0.5864), ("multilabel", "sigmoid", 0.7109), ("probabilities", "probability", 0.9)],
)
def test_the_user_says_what_it_is(output_type, scale, first):
    found = interpret(torch.tensor([[0.9, 0.1, -0.9, -1.5]]), VECTOR, output_type=output_type)
    assert found.scale == scale
    assert found.entries[0].value == pytest.approx(first, abs=1e-3)


def test_raw_is_never_interpreted_and_a_wrong_word_is_an_error():
    assert interpret(torch.tensor([[0.5, 0.5]]), VECTOR, output_type="raw") is None
    with pytest.raises(OptionError, match="'logit' is not known: use logits, probabilities"):
        interpret(torch.tensor([[0.5, 0.5]]), VECTOR, output_type="logit")


@pytest.mark.parametrize("names", [{1: "dog", 0: "cat", 2: "hare"}, {"2": "hare", "0": "cat", "1": "dog"}])
def test_names_may_be_a_mapping_from_index(names):
    assert interpret(torch.tensor([[0.0, 9.0, 1.0]]), VECTOR, class_names=names).entries[0].name == "dog"
    assert interpret(torch.tensor([[0.0, 9.0, 1.0]]), VECTOR, class_names={0: "cat", 5: "dog", 6: "hare"}) is None


def test_equal_classes_are_ordered_by_index():
    found = interpret(torch.zeros(1, 20), VECTOR, output_type="logits")
    assert [entry.index for entry in found.entries] == list(range(8))


def test_one_output_for_two_classes():
    found = interpret(torch.tensor([[2.0]]), VECTOR, class_names=["no", "yes"])
    assert shown(found) == [(1, "yes", 0.8808), (0, "no", 0.1192)]
    assert found.scale == "sigmoid"
    assert interpret(torch.tensor([[2.0]]), VECTOR) is None


def test_of_a_sequence_the_last_token_counts():
    scores = torch.zeros(1, 4, 3)
    scores[0, -1, 2] = 5
    found = interpret(scores, TOKENS, class_names=NAMES)
    assert (found.entries[0].name, found.scale) == ("hare", "softmax, last token")


def test_the_sample_that_is_shown():
    scores = torch.tensor([[9.0, 0, 0], [0, 9.0, 0]])
    assert interpret(scores, VECTOR, class_names=NAMES, sample=1).entries[0].name == "dog"
    assert interpret(scores, VECTOR, class_names=NAMES, sample=2) is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_shown_raw(value):
    assert interpret(torch.tensor([[1.0, value, 0.0]]), VECTOR, class_names=NAMES) is None


def test_masked_classes_have_no_share():
    found = interpret(torch.tensor([[1.0, -math.inf, 0.0]]), VECTOR, class_names=NAMES)
    assert found.entries[-1] == found.entries[-1].__class__(1, "dog", 0.0)


@pytest.mark.parametrize(
    ("tensor", "axes"),
    [
        (torch.zeros(1, 3, dtype=torch.int64), VECTOR),
        (torch.zeros(1, 3, device="meta"), VECTOR),
        (torch.zeros(1, 3, 4, 4), IMAGE),
        (torch.zeros(1, 0), VECTOR),
        (torch.zeros(3), VECTOR),
    ],
)
def test_other_tensors_are_not_classes(tensor, axes):
    assert interpret(tensor, axes, class_names=NAMES) is None


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
    image = torch.zeros(1, 3, 320, 640)
    image[..., ::2] = 255
    found = photo(image, IMAGE)
    assert found.values.shape == (80, 160, 3)
    assert (found.size, found.pooled) == ((320, 640), True)
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
