"""Tokens and their strings."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nf_widget import trace
from nf_widget.interpret.tokens import labels_of
from nf_widget.records import TokenStrip, VectorStrip


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.mix = nn.Embedding(30, 8), nn.Linear(8, 8)

    def forward(self, input_ids, attention_mask):
        return self.mix(self.embed(input_ids)) * attention_mask.unsqueeze(-1)


class Encoding:
    def __init__(self, *tokens):
        self.tokens = list(tokens)


class Encoded(dict):
    """What a fast tokenizer returns: a mapping that knows its tokens."""

    def __init__(self, data, encodings):
        super().__init__(data)
        self.encodings = encodings


def ids():
    return {"input_ids": torch.tensor([[5, 7, 9], [5, 4, 0]]), "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]])}


def names(flow, sample=0):
    found = flow.overview(0, sample)
    return {str(stage): getattr(leaves[0].picture, "labels", None) for stage, leaves in found.items()}


def test_a_tokenizers_tokens_name_the_text_and_every_strip_of_its_length():
    encoded = Encoded(ids(), [Encoding("a", "cat", "sat"), Encoding("a", "dog", "[PAD]")])
    flow = trace(Encoder(), encoded, layers=["embed", "mix"])
    expected = ("a", "cat", "sat")
    assert names(flow) == {
        "input:input_ids": expected,
        "input:attention_mask": None,
        "embed": expected,
        "mix": expected,
        "output": expected,
    }
    assert names(flow, 1)["embed"] == ("a", "dog", "[PAD]")
    assert flow.stage("input:input_ids").type_name == "input · text"


@pytest.mark.parametrize("labels", [["x", "y", "z"], [["x", "y", "z"], ["u", "v", "w"]]], ids=["alike", "of each"])
def test_token_labels_name_tokens_without_a_tokenizer(labels):
    flow = trace(Encoder(), ids(), token_labels=labels, layers=["embed"])
    assert names(flow)["embed"] == ("x", "y", "z")
    assert names(flow, 1)["embed"] == (("x", "y", "z") if labels[0] == "x" else ("u", "v", "w"))


def test_labels_of_another_length_name_nothing():
    flow = trace(Encoder(), ids(), token_labels=["x", "y"], layers=["embed"])
    assert names(flow)["embed"] == ()
    assert isinstance(flow.summary("input:input_ids").picture, VectorStrip)


def test_a_text_keeps_its_numbers():
    flow = trace(Encoder(), ids(), token_labels=["x", "y", "z"], layers=["embed"])
    picture = flow.summary("input:input_ids").picture
    assert isinstance(picture, TokenStrip)
    assert picture.values.tolist() == [[5], [7], [9]]
    assert picture.size == (3, 1)


def test_said_labels_come_before_those_of_a_tokenizer():
    assert labels_of(["x"], ["a"], 0) == ("x",)
    assert labels_of(None, ["a"], 0) == ("a",)
    assert labels_of([["x"]], ["a"], 3) == ()
