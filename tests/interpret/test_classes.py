"""The likeliest classes of an output."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nf_widget.errors import OptionError
from nf_widget.interpret.classes import classes as interpret
from nf_widget.interpret.classes import values_of
from tensors import IMAGE, TOKENS, VECTOR

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
    ("said", "scale", "first"),
    [("logits", "softmax", 0.5864), ("multilabel", "sigmoid", 0.7109), ("probabilities", "probability", 0.9)],
)
def test_the_user_says_what_it_is(said, scale, first):
    found = interpret(torch.tensor([[0.9, 0.1, -0.9, -1.5]]), VECTOR, scale=said)
    assert found.scale == scale
    assert found.entries[0].value == pytest.approx(first, abs=1e-3)


@pytest.mark.parametrize("names", [{1: "dog", 0: "cat", 2: "hare"}, {"2": "hare", "0": "cat", "1": "dog"}])
def test_names_may_be_a_mapping_from_index(names):
    assert interpret(torch.tensor([[0.0, 9.0, 1.0]]), VECTOR, class_names=names).entries[0].name == "dog"
    assert interpret(torch.tensor([[0.0, 9.0, 1.0]]), VECTOR, class_names={0: "cat", 5: "dog", 6: "hare"}) is None


def test_equal_classes_are_ordered_by_index():
    found = interpret(torch.zeros(1, 20), VECTOR, scale="logits")
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


class Tokenizer:
    def decode(self, ids):
        return [" the", "cat", "\n"][ids[0]]


@pytest.mark.parametrize("names", [Tokenizer(), {"Ġthe": 0, "cat": 1, "Ċ": 2}])
def test_tokens_are_named_by_a_tokenizer_or_its_vocabulary(names):
    found = interpret(torch.tensor([[[0, 0, 9.0], [3.0, 1.0, 2.0]]]), TOKENS, class_names=names)
    assert [entry.name for entry in found.entries] == ["␣the", "⏎", "cat"]


def test_a_vocabulary_may_be_smaller_than_the_rows_that_are_rounded_up():
    found = interpret(torch.tensor([[1.0, 5.0, 2.0, 4.0]]), VECTOR, class_names={"a": 0, "b": 1, "c": 2})
    assert [entry.name for entry in found.entries] == ["b", "class 3", "c", "a"]


def test_the_token_that_counts_may_be_another_than_the_last():
    scores = torch.tensor([[[0, 0, 9.0], [3.0, 1.0, 2.0]]])
    found = interpret(scores, TOKENS, class_names=NAMES, position=0)
    assert (found.entries[0].name, found.scale) == ("hare", "softmax, token 0")
    assert interpret(scores, TOKENS, class_names=NAMES, position=2) is None


def test_named_values_keep_their_order():
    found = values_of(torch.tensor([[0.5, -2.0, 7.0]]), VECTOR, class_names=["x", "y", "z"])
    assert shown(found) == [(0, "x", 0.5), (1, "y", -2.0), (2, "z", 7.0)]
    assert values_of(torch.tensor([[0.5, -2.0]]), VECTOR, class_names=["x"]) is None
    assert values_of(torch.tensor([[0.5, -2.0]]), VECTOR) is None


def test_names_of_a_strange_kind_are_refused():
    with pytest.raises(OptionError, match="class_names is of type int: give a list"):
        interpret(torch.tensor([[1.0, 3.0]]), VECTOR, class_names=7)
