"""What dimensions mean: by what made the tensor, by its shape, or as the user says."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from nf_widget.errors import AxesError
from nf_widget.interpret.axes import infer, parse
from nf_widget.records import TensorSpec

LETTER = {
    "batch": "b", "channel": "c", "depth": "d", "height": "h", "width": "w", "token": "n", "feature": "f", "time": "t",
    "head": "a", "query": "q", "key": "k", "other": ".",
}  # fmt: skip


def spec(*shape, dtype="float32"):
    return TensorSpec(shape, dtype, "cpu")


def letters(axes):
    return "".join(LETTER[name] for name in axes.names)


@pytest.mark.parametrize(
    ("type_name", "shape", "batch", "expected", "kind"),
    [
        ("Conv2d", (2, 8, 10, 12), 2, "bchw", "image"),
        ("Conv2d", (8, 10, 12), None, "chw", "image"),
        ("Conv2d", (6, 8, 10, 12), 2, "bchw", "image"),
        ("Conv2dNormActivation", (2, 8, 12, 12), 2, "bchw", "image"),
        ("LayerNorm2d", (2, 8, 8, 12), 2, "bchw", "image"),
        ("ConvTranspose3d", (1, 8, 4, 5, 6), 1, "bcdhw", "volume"),
        ("Conv1d", (2, 8, 100), 2, "bct", "sequence"),
        ("Conv1d", (8, 100), None, "ct", "sequence"),
        ("BatchNorm1d", (4, 8), 4, "bf", "vector"),
        ("AdaptiveAvgPool2d", (2, 512, 1, 1), 2, "bchw", "vector"),
        ("AdaptiveAvgPool3d", (2, 512, 1, 1, 1), 2, "bcdhw", "vector"),
        ("Linear", (2, 10), 2, "bf", "vector"),
        ("Linear", (2, 7, 10), 2, "bnf", "tokens"),
        ("Linear", (2, 7, 7, 10), 2, "bhwc", "image"),
        ("LayerNorm", (1, 56, 48, 96), 1, "bhwc", "image"),
        ("LayerNorm", (1, 4, 7, 7, 96), 1, "bdhwc", "volume"),
        ("SwinTransformerBlock", (1, 14, 14, 384), 1, "bhwc", "image"),
        ("SwinTransformerBlock", (1, 4, 7, 7, 96), 1, "bdhwc", "volume"),
        ("SwinUNETR", (1, 14, 32, 32, 32), 1, "bcdhw", "volume"),
        ("Mlp", (1, 384, 14, 14), 1, "bchw", "image"),
        ("Mlp", (1, 14, 14, 384), 1, "bhwc", "image"),
        ("Embedding", (2, 9, 32), 2, "bnf", "tokens"),
        ("LSTM", (20, 3, 16), 3, "nbf", "tokens"),
        ("LSTM", (3, 20, 16), 3, "bnf", "tokens"),
        ("ResidualAttentionBlock", (50, 1, 768), 1, "nbf", "tokens"),
        ("MultiheadAttention", (2, 5, 32), 2, "bnf", "tokens"),
        ("MultiheadAttention", (2, 4, 5, 5), 2, "baqk", "attention"),
        ("MultiheadAttention", (2, 5, 5), 2, "bqk", "attention"),
        ("MultiheadAttention", (64, 49, 96), 1, ".nf", "tokens"),
        ("Linear", (128, 49, 96), 2, ".nf", "tokens"),
        ("Block", (1, 7, 7, 768), 1, "bhwc", "image"),
        ("Block", (1, 768, 7, 7), 1, "bchw", "image"),
        ("Block", (1, 32, 7, 9), 1, "bchw", "image"),
        ("Block", (2, 197, 768), 2, "bnf", "tokens"),
        ("Block", (3, 64, 64), 3, "bnf", "tokens"),
        ("Block", (), 1, "", "scalar"),
        ("Block", (1,), 1, "b", "scalar"),
        ("Block", (5,), 1, "f", "vector"),
        ("Block", (1, 2, 3, 4, 5, 6), 1, "b.....", "generic"),
        ("image", (1, 224, 224, 3), 1, "bhwc", "image"),
        ("image", (1, 3, 224, 224), 1, "bchw", "image"),
        ("image", (3, 224, 224), 3, "chw", "image"),
    ],
)
def test_dimensions_are_named(type_name, shape, batch, expected, kind):
    axes = infer(spec(*shape), type_name=type_name, batch=batch)
    assert letters(axes) == expected
    assert axes.kind == kind


@pytest.mark.parametrize(
    ("shape", "dtype", "expected", "kind"),
    [
        ((1, 16), "int64", "bn", "vector"),
        ((2, 60, 80), "int64", "bhw", "image"),
        ((2, 5, 80), "int64", "bnf", "tokens"),
    ],
)
def test_integers_may_be_indices(shape, dtype, expected, kind):
    axes = infer(spec(*shape, dtype=dtype), type_name="x", batch=shape[0])
    assert (letters(axes), axes.kind) == (expected, kind)


@pytest.mark.parametrize(
    ("tokens", "image", "special", "grid"),
    [
        (196, (224, 224), 0, (14, 14)),
        (197, (224, 224), 1, (14, 14)),
        (198, (224, 224), 2, (14, 14)),
        (200, (224, 224), 4, (14, 14)),
        (201, (224, 224), 5, (14, 14)),
        (50, (224, 224), 1, (7, 7)),
        (257, (518, 518), 1, (16, 16)),
        (281, (224, 320), 1, (14, 20)),
        (3136, (224, 224), 0, (56, 56)),
        (199, (224, 224), 0, None),
        (77, (224, 224), 0, None),
        (197, None, 0, None),
    ],
)
def test_patches_are_laid_out_where_there_is_an_image(tokens, image, special, grid):
    axes = infer(spec(2, tokens, 64), type_name="Block", batch=2, image=image)
    assert (axes.special, axes.grid) == (special, grid)


def test_a_text_of_sixteen_tokens_is_no_image():
    assert infer(spec(1, 16, 64), type_name="GPT2Block", batch=1).grid is None
    assert infer(spec(1, 17, 64), type_name="ViTLayer", batch=1).grid == (4, 4)


def test_the_aspect_of_the_input_tells_channels_from_rows():
    first = infer(spec(1, 48, 48, 64), type_name="Stage", batch=1, image=(192, 256))
    last = infer(spec(1, 48, 64, 64), type_name="Stage", batch=1, image=(192, 256))
    assert letters(first) == "bchw"
    assert letters(last) == "bhwc"
    assert letters(infer(spec(1, 30, 40), type_name="Head", batch=1, image=(30, 40))) == "bhw"


@pytest.mark.parametrize(
    ("type_name", "shape", "sure"),
    [("Conv2d", (1, 3, 5, 5), "known"), ("Block", (1, 3, 4), "likely"), ("Block", (1, 8, 3, 5), "guess")],
)
def test_the_reason_says_how_sure_it_is(type_name, shape, sure):
    reason = infer(spec(*shape), type_name=type_name, batch=1).reason
    assert reason.startswith(f"{sure}: ")
    assert type_name in reason


@given(
    st.lists(st.integers(-1, 70), max_size=7).map(tuple),
    st.sampled_from(["", "x", "Conv1d", "Conv2d", "BatchNorm1d", "Linear", "MultiheadAttention", "Softmax", "ViT"]),
    st.one_of(st.none(), st.integers(0, 70)),
    st.sampled_from(["float32", "int64", "bool", "complex64", "qint8", "float8_e4m3fn"]),
    st.sampled_from([None, (224, 224), (1, 1), (60, 70)]),
)
def test_any_tensor_gets_a_name_for_every_dimension(shape, type_name, batch, dtype, image):
    axes = infer(TensorSpec(shape, dtype, "meta"), type_name=type_name, batch=batch, image=image)
    assert len(axes.names) == len(shape)
    named = [name for name in axes.names if name != "other"]
    assert len(set(named)) == len(named)
    assert axes.reason
    if axes.grid is not None:
        rows, columns = axes.grid
        assert axes.special + rows * columns == shape[axes.names.index("token")]


@pytest.mark.parametrize(
    ("text", "shape", "kind"),
    [
        ("bchw", (1, 3, 4, 5), "image"),
        ("BHWC", (1, 4, 5, 3), "image"),
        ("hw", (4, 5), "image"),
        ("bnf", (1, 16, 5), "tokens"),
        ("bct", (1, 3, 9), "sequence"),
        ("bcdhw", (1, 2, 3, 4, 5), "volume"),
        ("bcthw", (1, 2, 3, 4, 5), "volume"),
        ("baqk", (1, 2, 4, 4), "attention"),
        ("b..", (1, 2, 3), "generic"),
        ("bf", (1, 7), "vector"),
        ("batch channel height width", (1, 3, 4, 5), "image"),
        ("batch, feature", (1, 3), "vector"),
        ("feature", (3,), "vector"),
        ("", (), "scalar"),
    ],
)
def test_users_name_dimensions_by_letters_or_words(text, shape, kind):
    axes = parse(text, spec(*shape))
    assert axes.kind == kind
    assert axes.reason == "said by the user"
    assert len(axes.names) == len(shape)


def test_users_tokens_are_patches_where_there_is_an_image():
    assert parse("bnf", spec(1, 17, 8)).grid is None
    assert parse("bnf", spec(1, 17, 8), image=(64, 64)).grid == (4, 4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bchw", "'bchw' name 4 dimensions, but the tensor has 3: 1×2×3"),
        ("bcx", "there is no axis 'x'"),
        ("batch channels", "there is no axis 'channels'"),
        ("bcc", "name channel twice"),
        ("bch", "have height without width"),
        ("bcq", "have query without key"),
    ],
)
def test_axes_that_do_not_fit_are_refused(text, words):
    with pytest.raises(AxesError) as raised:
        parse(text, spec(1, 2, 3))
    assert words in str(raised.value)


MODULES = [
    (nn.Conv2d(3, 6, 3), (2, 3, 9, 9), "bchw"),
    (nn.Conv3d(1, 2, 2), (2, 1, 4, 4, 4), "bcdhw"),
    (nn.Conv1d(2, 4, 3), (2, 2, 30), "bct"),
    (nn.MaxPool2d(2), (2, 3, 8, 8), "bchw"),
    (nn.AdaptiveAvgPool1d(4), (2, 3, 8), "bct"),
    (nn.BatchNorm1d(3).eval(), (2, 3), "bf"),
    (nn.Linear(8, 4), (2, 5, 8), "bnf"),
    (nn.TransformerEncoderLayer(8, 2, batch_first=True), (2, 5, 8), "bnf"),
    (nn.TransformerEncoderLayer(8, 2), (5, 2, 8), "nbf"),
    (nn.ZeroPad2d(2), (2, 3, 8, 8), "bchw"),
    (nn.PixelShuffle(2), (2, 12, 4, 4), "bchw"),
]


@pytest.mark.parametrize(("module", "shape", "expected"), MODULES, ids=lambda value: type(value).__name__)
def test_what_modules_really_give(module, shape, expected):
    with torch.no_grad():
        out = module(torch.randn(shape, generator=torch.Generator().manual_seed(0)))
    axes = infer(spec(*out.shape), type_name=type(module).__name__, batch=2)
    assert letters(axes) == expected


@pytest.mark.parametrize(
    ("tokens", "volume", "special", "block"),
    [
        (216, (96, 96, 96), 0, (6, 6, 6)),
        (217, (96, 96, 96), 1, (6, 6, 6)),
        (256, (128, 64, 128), 0, (8, 4, 8)),
        (1568, (16, 224, 224), 0, (8, 14, 14)),
        (1569, (8, 224, 224), 1, (8, 14, 14)),
        (215, (96, 96, 96), 0, None),
    ],
    ids=["MONAI ViT", "with a class token", "not a cube", "VideoMAE", "TimeSformer", "no patches"],
)
def test_patches_of_a_volume_or_a_video_are_a_block(tokens, volume, special, block):
    axes = infer(spec(2, tokens, 64), type_name="TransformerBlock", batch=2, volume=volume)
    assert (axes.kind, axes.special, axes.block, axes.grid) == ("tokens", special, block, None)


@pytest.mark.parametrize(
    ("tokens", "image", "name"),
    [
        (100, (224, 224), "DetrDecoderLayer"),
        (8, (256, 256), "Block"),
        (16, (1000, 1000), "QFormerLayer"),
        (77, (224, 224), "CLIPEncoderLayer"),
    ],
)
def test_queries_and_texts_beside_an_image_are_no_patches(tokens, image, name):
    assert infer(spec(1, tokens, 64), type_name=name, batch=1, image=image).grid is None


ARCHITECTURES = [
    ("ViTLayer", (1, 197, 768), (224, 224), "bnf", 1, (14, 14)),
    ("DeiTLayer", (1, 198, 768), (224, 224), "bnf", 2, (14, 14)),
    ("Dinov2WithRegistersLayer", (1, 261, 768), (224, 224), "bnf", 5, (16, 16)),
    ("SwinLayer", (1, 3136, 96), (224, 224), "bnf", 0, (56, 56)),
    ("SwinStage", (1, 49, 768), (224, 224), "bnf", 0, (7, 7)),
    ("SwinTransformerBlock", (1, 56, 56, 96), (224, 224), "bhwc", 0, None),
    ("SegformerLayer", (1, 16384, 32), (512, 512), "bnf", 0, (128, 128)),
    ("SegformerLayer", (1, 3249, 32), (225, 225), "bnf", 0, (57, 57)),
    ("SegformerLayer", (1, 192, 256), (384, 512), "bnf", 0, (12, 16)),
    ("ResidualAttentionBlock", (50, 1, 768), (224, 224), "nbf", 1, (7, 7)),
    ("BeitLayer", (1, 197, 768), (224, 224), "bnf", 1, (14, 14)),
]


@pytest.mark.parametrize(("name", "shape", "image", "expected", "special", "grid"), ARCHITECTURES)
def test_published_architectures(name, shape, image, expected, special, grid):
    axes = infer(spec(*shape), type_name=name, batch=1, image=image)
    assert (letters(axes), axes.special, axes.grid) == (expected, special, grid)


def test_frames_of_three_colours_are_a_video_where_they_are_given():
    assert letters(infer(spec(1, 8, 3, 32, 32), type_name="pixel_values", batch=1)) == "btchw"
    assert letters(infer(spec(1, 3, 8, 32, 32), type_name="pixel_values", batch=1)) == "bcdhw"
    assert letters(infer(spec(1, 8, 3, 32, 32), type_name="Block", batch=1)) == "bcdhw"


def test_hidden_states_of_a_recurrent_net_are_no_image():
    """Time comes first by default, and is taken for the batch."""
    assert letters(infer(spec(1, 2, 4), type_name="LSTM", batch=5)) == ".nf"


def test_a_lone_vector_is_one_sample():
    assert letters(infer(spec(8), type_name="x", batch=0)) == "f"
    assert letters(infer(spec(5, 8), type_name="Embedding", batch=0)) == "nf"
    assert letters(infer(spec(1, 3, 3, 9, 9), type_name="Block", batch=None)) == "bcdhw"
