"""What outputs mean, and by what that is known."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from nf_widget import trace
from nf_widget.errors import OptionError
from nf_widget.records import Boxes, Classes, FeatureMaps, Mask, Scalar, TokenStrip, VectorStrip

PHOTO = torch.rand(1, 3, 16, 20, generator=torch.Generator().manual_seed(0))
NAMES = ["background", "cat", "dog", "hare", "owl"]


class Net(nn.Module):
    """Gives what `make` makes of its input."""

    def __init__(self, make, **config):
        super().__init__()
        self.inner = nn.Identity()
        self.make = make
        if config:
            self.config = SimpleNamespace(**config)

    def forward(self, x):
        return self.make(self.inner(x))


def named(name):
    """The same under the name of a published head."""
    return type(name, (Net,), {})


def read(net, x=PHOTO, output="output", **options):
    flow = trace(net, x, layers=["inner"], **options)
    return flow.summary(output), flow.stage(output).type_name


def maps(x, count=5):
    return torch.stack([x[:, 0] * (i - 2) + i % 2 for i in range(count)], 1)


def test_channels_named_as_classes_are_a_mask():
    summary, words = read(Net(maps), class_names=NAMES)
    assert isinstance(summary.picture, Mask)
    assert (words, summary.picture.over, summary.picture.background) == ("output · mask", "x", 0)
    assert {entry.name for entry in summary.picture.entries} <= set(NAMES)


@pytest.mark.parametrize(
    "net",
    [
        Net(lambda x: maps(x).softmax(1)),
        Net(lambda x: maps(x).argmax(1)),
        Net(lambda x: maps(x)[:, 3] > 0.5),
        named("DeepLabV3")(lambda x: {"out": maps(x)}),
        named("UNet")(maps),
    ],
    ids=["shares", "indices", "bool", "DeepLab", "UNet"],
)
def test_segmentation_is_known_by_its_values_or_by_the_name_of_the_model(net):
    summary, _ = read(net)
    assert isinstance(summary.picture, Mask)


@pytest.mark.parametrize(
    "net",
    [
        Net(maps),
        named("UNet")(lambda x: maps(x)[:, :, ::2, ::2]),
        named("UNet")(lambda x: maps(x, 3)[:, :1]),
        Net(lambda x: (x * 255).long()[..., ::2]),
    ],
    ids=["unnamed", "other size", "one channel", "whole numbers of an image"],
)
def test_maps_of_which_nothing_is_known_are_raw(net):
    summary, words = read(net)
    assert isinstance(summary.picture, FeatureMaps)
    assert words in {"output · raw values", "output · whole numbers"}


def test_the_user_says_what_it_is():
    assert isinstance(read(Net(maps), output_types="mask")[0].picture, Mask)
    assert isinstance(read(Net(maps), output_types={"output": "mask"})[0].picture, Mask)
    assert isinstance(read(Net(lambda x: maps(x).softmax(1)), output_types="raw")[0].picture, FeatureMaps)
    with pytest.raises(OptionError, match="'masks' is not known: use logits"):
        read(Net(maps), output_types="masks")


def detect(x):
    boxes = torch.tensor([[2.0, 4.0, 10.0, 8.0], [0.0, 0.0, 20.0, 16.0]]) + 0 * x.mean()
    return [{"boxes": boxes, "labels": torch.tensor([1, 2]), "scores": torch.tensor([0.9, 0.5])}]


def test_detections_are_boxes_in_the_image():
    summary, words = read(Net(detect), output="output:0.boxes", class_names=NAMES)
    assert isinstance(summary.picture, Boxes)
    box = summary.picture.entries[0]
    assert (box.name, box.left, box.top, box.right, box.bottom) == ("cat", 0.1, 0.25, 0.5, 0.5)
    assert (words, summary.picture.over) == ("output · boxes", "x")


def test_scores_of_boxes_are_no_classes():
    summary, words = read(Net(detect), output="output:0.scores", class_names=["cat", "dog"])
    assert (type(summary.picture), words) == (VectorStrip, "output · raw values")


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Identity()

    def forward(self, images):
        return [detect(self.inner(image))[0] for image in images]


def test_boxes_lie_over_the_image_of_their_number():
    flow = trace(Pictures(), ([PHOTO[0], PHOTO[0, :, :12]],), layers=["inner"])
    first, second = (flow.summary(f"output:{i}.boxes").picture for i in range(2))
    assert (first.over, first.size) == ("images.0", (16, 20))
    assert (second.over, second.size) == ("images.1", (12, 20))
    assert second.entries[0].bottom == 8 / 12


def pooled(count):
    return lambda x: torch.stack([x.mean((1, 2, 3)) * (i + 1) - 1 for i in range(count)], 1)


def test_classes_of_a_head_are_named_by_its_configuration():
    head = named("ViTForImageClassification")
    summary, words = read(head(lambda x: {"logits": pooled(3)(x)}, id2label={0: "cat", 1: "dog", 2: "owl"}))
    assert [entry.name for entry in summary.picture.entries] == ["owl", "dog", "cat"]
    assert words == "output · softmax"
    several = head(
        lambda x: {"logits": pooled(2)(x)}, id2label={0: "a", 1: "b"}, problem_type="multi_label_classification"
    )
    assert read(several)[0].picture.scale == "sigmoid"
    without = named("ViTModel")(lambda x: {"pooler_output": pooled(2)(x)}, id2label={0: "LABEL_0", 1: "LABEL_1"})
    assert isinstance(read(without)[0].picture, VectorStrip)


def test_a_regression_is_a_number_or_named_values():
    summary, words = read(Net(pooled(1)))
    assert isinstance(summary.picture, Scalar)
    assert (summary.picture.text, words) == (f"{PHOTO.mean() - 1:.6g}", "output · value")
    summary, words = read(Net(pooled(2)), output_types="value", class_names=["left", "right"])
    assert [(e.name, e.value) for e in summary.picture.entries] == [
        ("left", pytest.approx(float(PHOTO.mean() - 1))), ("right", pytest.approx(float(2 * PHOTO.mean() - 1))),
    ]  # fmt: skip
    assert (summary.picture.scale, words) == ("value", "output · value")
    assert isinstance(read(Net(lambda x: x.mean()))[0].picture, Scalar)
    head = named("BertForSequenceClassification")(lambda x: {"logits": pooled(1)(x)}, id2label={0: "LABEL_0"})
    assert isinstance(read(head)[0].picture, Scalar)


def test_an_embedding_is_known_by_its_name():
    summary, words = read(Net(lambda x: {"image_embeds": pooled(6)(x)}))
    assert (type(summary.picture), words) == (VectorStrip, "output · embedding")
    assert read(Net(pooled(6)), output_types="embedding")[1] == "output · embedding"
    assert read(Net(pooled(6)))[1] == "output · raw values"


class Predicts(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Embedding(12, 12)

    def forward(self, input_ids, attention_mask=None):
        return {"logits": self.inner(input_ids)}


class Tokenizer:
    def decode(self, ids):
        return f" t{ids[0]}"


def test_the_next_token_with_its_string():
    net = type("GPT2LMHeadModel", (Predicts,), {})()
    ids = torch.tensor([[3, 7, 5]])
    expected = net.inner.weight[5].detach().softmax(0)
    summary, words = read(net, ids, class_names=Tokenizer())
    best = summary.picture.entries[0]
    assert isinstance(summary.picture, Classes)
    assert (words, summary.picture.scale) == ("output · next token", "softmax, last token")
    assert (best.index, best.name) == (int(expected.argmax()), f"␣t{int(expected.argmax())}")
    assert best.value == pytest.approx(float(expected.max()), abs=1e-6)


def test_padding_is_not_what_comes_last():
    net = type("GPT2LMHeadModel", (Predicts,), {})()
    given = {"input_ids": torch.tensor([[3, 7, 0, 0]]), "attention_mask": torch.tensor([[1, 1, 0, 0]])}
    summary, _ = read(net, given)
    assert summary.picture.scale == "softmax, token 1"
    assert summary.picture.entries[0].index == int(net.inner.weight[7].argmax())


class Encoded(dict):
    """What a fast tokenizer returns."""

    encodings = ()


@pytest.mark.parametrize(("tokens", "words"), [(["a", "[MASK]", "b"], "masked token"), (["a", "b", "c"], "raw values")])
def test_a_masked_token_is_shown_where_there_is_one(tokens, words):
    net = type("BertForMaskedLM", (Predicts,), {})()
    given = Encoded(input_ids=torch.tensor([[3, 7, 5]]))
    given.encodings = [SimpleNamespace(tokens=tokens)]
    summary, shown = read(net, given)
    assert shown == f"output · {words}"
    if words == "masked token":
        assert summary.picture.scale == "softmax, token 1"
        assert summary.picture.entries[0].index == int(net.inner.weight[7].argmax())


def test_of_a_head_that_speaks_of_every_token_the_last_one_is_not_shown():
    net = type("BertForTokenClassification", (Predicts,), {})()
    summary, words = read(net, torch.tensor([[3, 7, 5]]), class_names=[f"tag {i}" for i in range(12)])
    assert (type(summary.picture), words) == (TokenStrip, "output · raw values")


def test_samples_of_a_batch_are_read_alike_from_what_was_kept():
    batch = torch.cat([PHOTO, PHOTO.flip(3)])
    flow = trace(Net(maps), batch, layers=["inner"], class_names=NAMES)
    first = flow.summary("output").picture
    second = flow.summary("output", sample=1).picture
    assert (second.values == first.values[:, ::-1]).all()


@pytest.mark.filterwarnings("ignore:.*nested tensors is in prototype stage")
@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda v: torch.nested.nested_tensor([v[0, :3], v[0, :6]]), id="nested"),
        pytest.param(lambda v: v.relu().to_sparse(), id="sparse"),
        pytest.param(lambda v: v[:, :0], id="empty"),
        pytest.param(lambda v: torch.complex(v, v), id="complex"),
    ],
)
def test_an_output_of_any_kind_is_shown_beside_the_others(made):
    class Several(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = torch.nn.Linear(4, 8)

        def forward(self, x):
            vector = self.head(x)
            return {"odd": made(vector), "vector": vector}

    overview = trace(Several(), torch.ones(1, 4)).overview(0, 0)
    assert overview["output:odd"]
    assert overview["output:vector"]


@pytest.mark.parametrize("make", [lambda x: x.mean(1), lambda x: x[0, 0]])
def test_one_number_for_each_pixel_is_a_map(make):
    summary = trace(Net(make).eval(), PHOTO).summary("output")
    assert summary.axes.kind == "image"
    assert summary.meaning == "raw values"
    assert summary.statistics.count == 16 * 20
