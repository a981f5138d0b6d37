"""The automatic cut of the families of models that people draw."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import models_zoo as zoo
from nf_widget.records import Trace
from nf_widget.selection import select
from selection.traces import check, cut, ids, image, tokens, traced


def blocks(path: str, *numbers: int) -> list[str]:
    return [f"{path}.{n}" for n in numbers]


RESNET = ["conv1", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "fc"]
SWIN = ["features.0", "features.1", "features.3", "features.5", "features.7", "avgpool", "head"]
UNET = ["enc1", "enc2", "enc3", "bottleneck", "dec3", "dec2", "dec1", "head"]
CASES: dict[str, tuple[Any, Any, list[str]]] = {
    "ResNet of basic blocks": (lambda: zoo.ResNet(zoo.BasicBlock, (2, 2, 2, 2)), image(3, 64, 64), RESNET),
    "ResNet of bottlenecks": (lambda: zoo.ResNet(zoo.Bottleneck, (3, 4, 6, 3), 16), image(3, 64, 64), RESNET),
    "ResNet with most blocks in one stage": (
        lambda: zoo.ResNet(zoo.Bottleneck, (2, 2, 13, 2), 16),
        image(3, 64, 64),
        RESNET,
    ),
    "ResNet for small images": (zoo.CifarResNet, image(3, 32, 32), ["conv1", "layer1", "layer2", "layer3", "linear"]),
    "flat chain of convolutions": (
        zoo.VGG,
        image(3, 32, 32),
        [*blocks("features", 0, 2, 7, 14, 21, 28, 30), "classifier"],
    ),
    "EfficientNet": (
        zoo.EfficientNet,
        image(3, 64, 64),
        ["conv_stem", *blocks("blocks", 0, 2, 4, 7, 10, 14, 15), "conv_head", "avg_pooling"],
    ),
    "DenseNet": (
        zoo.DenseNet,
        image(3, 64, 64),
        ["features.conv0", *(f"features.denseblock{n}" for n in (1, 2, 3, 4)), "classifier"],
    ),
    "ViT": (zoo.ViT, image(3, 32, 32), ["conv_proj", *blocks("encoder.layers", 0, 2, 4, 7, 9, 11), "heads"]),
    "ViT of two blocks": (
        lambda: zoo.ViT(2),
        image(3, 32, 32),
        ["conv_proj", *blocks("encoder.layers", 0, 1), "heads"],
    ),
    "Swin": (zoo.Swin, image(3, 64, 64), SWIN),
    "Swin with most blocks in one stage": (lambda: zoo.Swin((2, 2, 18, 2)), image(3, 64, 64), SWIN),
    "2-D U-Net": (lambda: zoo.UNet(3), image(1, 32, 32), UNET),
    "3-D U-Net": (lambda: zoo.UNet(3, 3), image(1, 16, 16, 16), UNET),
    "U-Net of four levels": (
        lambda: zoo.UNet(4),
        image(1, 32, 32),
        ["enc1", "enc2", "enc3", "enc4", "bottleneck", "dec4", "dec3", "dec2", "dec1", "head"],
    ),
    "U-Net with gates in its skips": (
        zoo.GatedUNet,
        image(1, 32, 32),
        ["enc1", "enc2", "enc3", "enc4", "bottleneck", "dec4", "dec3", "dec2", "dec1", "head"],
    ),
    "U-Net of nested levels": (
        zoo.NestedUNet,
        image(1, 32, 32),
        [
            "stem", "body.down", "body.inner.down", "body.inner.inner.inner", "body.inner.inner.up", "body.inner.up",
            "body.up", "head",
        ],
    ),
    "UNETR": (
        zoo.UNETR,
        image(1, 32, 32, 32),
        [
            "patch_embedding", *blocks("blocks", 3, 6, 9, 11), "decoder5", "decoder4", "decoder3", "decoder2", "out",
        ],
    ),
    "GPT": (
        zoo.GPT,
        tokens(),
        ["transformer.wte", *blocks("transformer.h", 0, 2, 4, 7, 9, 11), "lm_head"],
    ),
    "GPT of two blocks": (
        lambda: zoo.GPT(2),
        tokens(),
        ["transformer.wte", "transformer.wpe", *blocks("transformer.h", 0, 1), "lm_head"],
    ),
    "BERT": (
        zoo.BERT,
        tokens(),
        ["embeddings", *blocks("encoder.layer", 0, 3, 6, 8, 11), "pooler", "classifier"],
    ),
    "Llama": (
        zoo.Llama,
        tokens(),
        ["model.embed_tokens", *blocks("model.layers", 0, 3, 6, 9, 12, 15), "lm_head"],
    ),
    "Llama of two blocks": (
        lambda: zoo.Llama(2),
        tokens(),
        ["model.embed_tokens", *blocks("model.layers", 0, 1), "lm_head"],
    ),
    "encoder and decoder": (
        zoo.Seq2Seq,
        (tokens(9), tokens(5)),
        ["shared#0", *blocks("encoder.layer", 0, 3, 5), "shared#1", *blocks("decoder.layer", 0, 3, 5), "lm_head"],
    ),
    "two towers": (
        zoo.TwoTowers,
        (image(3, 32, 32), tokens()),
        [
            "patches", *blocks("visual.layer", 0, 6, 11), "visual_projection",
            "words", *blocks("textual.layer", 0, 6, 11), "text_projection",
        ],
    ),
    "LSTM": (zoo.LSTMTagger, tokens(), ["embedding", "lstm", "fc"]),
    "one cell unrolled": (
        zoo.Unrolled,
        torch.ones(1, 50, 4),
        ["encode", *(f"cell#{n}" for n in (0, 10, 20, 29, 39, 49)), "decode"],
    ),
    "forty branches": (
        zoo.Branches,
        torch.ones(1, 8),
        ["stem", *blocks("branches", 0, 8, 16, 23, 31, 39), "fuse"],
    ),
    "mixture of experts": (zoo.Mixture, tokens(), ["embed", *blocks("layers", 0, 1, 2, 3), "lm_head"]),
    "autoencoder": (
        zoo.AutoEncoder,
        image(1, 32, 32),
        [*blocks("encoder", 0, 2, 4), *blocks("decoder", 0, 2, 4)],
    ),
    "variational autoencoder": (
        zoo.VAE,
        torch.ones(1, 16),
        [*blocks("encoder", 0, 2), "mean", *blocks("decoder", 0, 2, 4), "log_variance"],
    ),
    "Siamese": (
        zoo.Siamese,
        (image(1, 16, 16), image(1, 16, 16)),
        ["encoder.0#0", "encoder.2#0", "encoder.4#0", "encoder.0#1", "encoder.2#1", "encoder.4#1", "head"],
    ),
    "U-Net told the time": (
        zoo.DiffusionUNet,
        (image(4, 16, 16), torch.ones(1)),
        ["conv_in", *blocks("down_blocks", 0, 1, 2, 3), "mid_block", *blocks("up_blocks", 0, 1, 2, 3)],
    ),
    "U-Net of modules that join": (
        zoo.WrappedUNet,
        image(1, 16, 16),
        ["0", "1.inner.0", "1.inner.1.inner", "1.inner.2", "2"],
    ),
    "convolutions along time, and a probe": (
        zoo.SpeechEncoder,
        image(20, 64),
        ["conv1", *blocks("layers", 0, 2, 4, 7, 9, 11), "proj"],
    ),
    "encoder and decoder that fill the room": (
        zoo.DeepDecoder,
        image(3, 64, 64),
        [
            "encoder.stem", *blocks("encoder.blocks", 1, 2, 4, 6), *blocks("decoder.blocks", 0, 1, 2, 3),
            "decoder.last",
        ],
    ),
    "perceptron": (zoo.MLP, torch.ones(1, 8), ["0", "2", "4"]),
    "no module inside": (zoo.Functional, torch.ones(1, 4), ["Functional"]),
    "one layer": (lambda: nn.Linear(4, 3), torch.ones(1, 4), ["Linear"]),
    "residual block and head": (
        lambda: nn.Sequential(zoo.BasicBlock(4, 4), nn.Flatten(), nn.Linear(256, 3)),
        image(4, 8, 8),
        ["0.conv1", "0.conv2", "2"],
    ),
    "one residual block": (lambda: zoo.BasicBlock(4, 4), image(4, 8, 8), ["conv1", "conv2"]),
}  # fmt: skip


@cache
def trace_of(name: str) -> Trace:
    make, x, _ = CASES[name]
    torch.manual_seed(0)
    return traced(make().eval(), x)


@pytest.mark.parametrize("name", CASES)
def test_the_cut_is_what_one_would_draw(name: str) -> None:
    trace = trace_of(name)
    assert ids(trace, select(trace).stages) == CASES[name][2]


@pytest.mark.parametrize("name", ["ResNet of bottlenecks", "EfficientNet", "ViT", "2-D U-Net", "BERT", "DenseNet"])
def test_the_calls_alone_give_the_same(name: str) -> None:
    make, x, expected = CASES[name]
    trace = traced(make().eval(), x, blind=True)
    assert not any(op.kind in ("call", "write") for op in trace.ops)
    assert ids(trace, select(trace).stages) == expected


@pytest.mark.parametrize("name", ["ViT", "EfficientNet", "2-D U-Net", "UNETR", "two towers"])
def test_the_batch_does_not_matter(name: str) -> None:
    make, x, expected = CASES[name]
    several = tuple(t.repeat(3, *[1] * (t.ndim - 1)) for t in (x if isinstance(x, tuple) else (x,)))
    assert cut(make().eval(), several) == expected


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8, 12, 20, 400])
@pytest.mark.parametrize("name", CASES)
def test_there_are_never_more_than_asked_for_and_always_one(name: str, most: int) -> None:
    trace = trace_of(name)
    selection = select(trace, max_stages=most)
    check(trace, selection)
    assert 1 <= len(selection.stages) <= max(1, most - 2)
    assert select(trace, max_stages=most) == selection
    assert all(trace.calls[call].outputs for call in selection.stages)


def test_with_more_room_a_row_is_shown_whole() -> None:
    assert cut(zoo.ViT().eval(), image(3, 32, 32), max_stages=16) == [
        "conv_proj", *blocks("encoder.layers", *range(12)), "heads",
    ]  # fmt: skip


def test_six_levels_keep_the_lowest_and_the_ends() -> None:
    stages = cut(zoo.UNet(6).eval(), image(1, 128, 128))
    assert len(stages) == 10
    assert {"enc1", "bottleneck", "dec1"} <= set(stages)


def test_what_would_cost_a_resolution_stays_closed() -> None:
    ups = [f"{'inner.' * n}up" for n in (3, 2, 1, 0)]
    assert cut(zoo.NestedUNet(7).eval(), image(1, 128, 128)) == [
        "stem", "body.down", "body.inner.down", "body.inner.inner.down", "body.inner.inner.inner.inner",
        *(f"body.{up}" for up in ups), "head",
    ]  # fmt: skip


class Funnel(nn.Sequential):
    """Wider inside than at its ends, and not residual."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))


def test_equal_blocks_in_a_row_are_units_though_not_residual() -> None:
    model = nn.Sequential(nn.Linear(3, 4), Funnel(), Funnel(), nn.Linear(4, 2))
    assert cut(model, torch.ones(1, 3)) == ["0", "1", "2", "3"]
    model = nn.Sequential(nn.Linear(3, 4), Funnel(), nn.Linear(4, 2))
    assert cut(model, torch.ones(1, 3)) == ["0", "1.0", "1.2", "2"]


def test_where_not_all_fit_changes_of_width_come_first() -> None:
    model, width = nn.Sequential(), 2
    for number, name in enumerate("abcdefghijkl"):
        out = width + (number % 2 == 0)
        model.add_module(name, nn.Linear(width, out))
        width = out
    assert cut(model, torch.ones(1, 2)) == list("abcdfghijk")


class Trivia(nn.Module):
    """A convolution among everything that is no stage."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = zoo.RMSNorm(6)
        self.mine = zoo.QuickGELU()
        self.parts = nn.ModuleList(
            [
                nn.ReLU(), nn.GELU(), nn.Dropout(), nn.BatchNorm2d(6), nn.GroupNorm(2, 6), nn.InstanceNorm2d(6),
                nn.Identity(), nn.PReLU(6), nn.Softmax(1), nn.ZeroPad2d(1), nn.Hardtanh(), nn.ChannelShuffle(2),
                nn.LocalResponseNorm(2), nn.LayerNorm([6, 10, 10]), nn.Sequential(nn.BatchNorm2d(6), nn.ReLU()),
            ]
        )  # fmt: skip
        self.conv = nn.Conv2d(3, 6, 1)
        self.permute, self.flatten = zoo.Permute(0, 2, 3, 1), nn.Flatten()

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        for part in self.parts:
            x = part(x)
        return self.flatten(self.mine(self.scale(self.permute(x))))


def test_what_makes_no_representation_is_never_chosen() -> None:
    trace = traced(Trivia().eval(), image(3, 8, 8))
    assert ids(trace, select(trace).stages) == ["conv"]
    assert ids(trace, select(trace, layers="leaves").stages) == ["conv"]


def test_trivial_calls_can_be_named() -> None:
    trace = traced(Trivia().eval(), image(3, 8, 8))
    assert ids(trace, select(trace, layers=["mine", "parts.3"]).stages) == ["parts.3", "mine"]


class Gated(nn.Module):
    """What is called an activation may be a layer; and what halves its input may be an activation."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.glu = nn.Conv2d(3, 8, 1), nn.GLU(1)
        self.gate, self.block, self.head = ConvReLU(4, 4, 1), BlockReLU(), nn.Conv2d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.block(self.gate(self.glu(self.first(x)))))


class ConvReLU(nn.Conv2d):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).relu()


class BlockReLU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x).relu()


def test_a_class_name_alone_does_not_make_a_layer_trivial() -> None:
    assert cut(Gated().eval(), image(3, 8, 8)) == ["first", "gate", "block", "head"]


class Paired(nn.Module):
    """A block of two composite parts, residual where the shape allows it."""

    def __init__(self, channels: int, width: int, stride: int = 1) -> None:
        super().__init__()
        self.spatial = nn.Sequential(nn.Conv2d(channels, width, 3, stride, 1), nn.Conv2d(width, width, 3, 1, 1))
        self.pointwise = nn.Sequential(nn.Conv2d(width, 2 * width, 1), nn.Conv2d(2 * width, width, 1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.pointwise(self.spatial(x))
        return x + y if x.shape == y.shape else y


class OtherPaired(Paired):
    """Another class, so that it makes no row with the first."""


def test_residual_blocks_are_units_though_no_two_are_equal() -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 1), Paired(4, 4), OtherPaired(4, 4), nn.Conv2d(4, 2, 1))
    assert cut(model, image(1, 8, 8)) == ["0", "1", "2", "3"]


def test_a_block_that_changes_the_shape_is_a_unit_like_the_others_of_its_class() -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 1), Paired(4, 8, 2), Paired(8, 8), nn.Conv2d(8, 2, 1))
    assert cut(model, image(1, 8, 8)) == ["0", "1", "2", "3"]


class Trunk(nn.Module):
    """A skip around a whole row of blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(Mixer() for _ in range(5)))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.blocks(x)


def test_a_skip_around_a_row_of_blocks_does_not_make_them_one() -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 1), Trunk(), nn.Conv2d(4, 1, 1))
    assert cut(model.eval(), image(1, 8, 8)) == ["0", *blocks("1.blocks", 0, 1, 2, 3, 4), "2"]


class Silent(nn.Module):
    """`log` gives nothing, `aux` is not called."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.log, self.aux = nn.Linear(4, 5), nn.Linear(5, 6), Quiet(), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.a(x)
        self.log(x)
        return self.b(x)


class Quiet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(5, 5))

    def forward(self, x: Tensor) -> None:
        torch.nn.functional.linear(x, self.weight)


def test_calls_without_a_tensor_are_not_chosen_but_can_be_named() -> None:
    trace = traced(Silent(), torch.ones(1, 4))
    assert ids(trace, select(trace).stages) == ["a", "b"]
    assert ids(trace, select(trace, layers=["a", "log"]).stages) == ["a", "log"]


class Broken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3)
        self.body = nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU(), nn.Conv2d(5, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))
        self.head = nn.Conv2d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.stem(x)))


def test_of_a_forward_that_raised_the_failed_stage_is_shown_with_those_before_it() -> None:
    trace = traced(Broken(), image(1, 16, 16), may_fail=True)
    selection = select(trace)
    check(trace, selection)
    assert ids(trace, selection.stages) == ["stem", "body.0", "body.2"]
    assert [trace.calls[call].finished for call in selection.stages] == [True, True, False]


def test_the_failed_stage_is_there_also_in_a_crowd() -> None:
    model = zoo.GPT().eval()
    model.transformer["h"][10].mlp = nn.Linear(3, 3)  # type: ignore[index,union-attr]
    trace = traced(model, tokens(), may_fail=True)
    selection = select(trace)
    check(trace, selection)
    assert ids(trace, selection.stages)[-1] == "transformer.h.10"
    assert len(selection.stages) <= 10


class Hourglass(nn.Module):
    """Down, a body of blocks at one shape, and up: as many stages as read well with the body closed."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(1 if i == 0 else 4, 4, 3, 2, 1) for i in range(4))
        self.body = nn.Sequential(*(Mixer() for _ in range(4)))
        self.up = nn.ModuleList(nn.ConvTranspose2d(4, 4, 2, 2) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        for down in self.down:
            x = down(x)
        x = self.body(x)
        for up in self.up:
            x = up(x)
        return x


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.spatial, self.pointwise = nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3, 1, 1), nn.Conv2d(4, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pointwise(self.spatial(self.norm(x)).relu())


def test_the_bulk_of_a_model_is_not_one_box() -> None:
    assert cut(Hourglass().eval(), image(1, 64, 64)) == [
        *blocks("down", 0, 1, 2), *blocks("body", 0, 1, 2, 3), *blocks("up", 0, 1, 2),
    ]  # fmt: skip
