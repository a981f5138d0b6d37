"""The automatic cut of models from libraries, where these are installed. Widths are small, depths as usual."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from selection.traces import cut, image, tokens

Case = tuple[Callable[[Any], Any], Any, list[str]]


@pytest.fixture(autouse=True)
def _quietly() -> Iterator[None]:
    """Libraries warn of their own affairs, and are kept off the network."""
    torch.manual_seed(0)
    os.environ["HF_HUB_OFFLINE"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def rows(path: str, *numbers: int) -> list[str]:
    return [f"{path}.{n}" for n in numbers]


def test_efficientnet_lite() -> None:
    package = pytest.importorskip("efficientnet_lite_pytorch")
    model = package.EfficientNet.from_name("efficientnet-lite0").eval()
    assert cut(model, image(3, 64, 64)) == [
        "_conv_stem", *rows("_blocks", 0, 2, 4, 7, 10, 14, 15), "_conv_head", "_avg_pooling",
    ]  # fmt: skip


SUB, CUBE = "model.1.submodule", image(1, 32, 32, 32)
MONAI: dict[str, Case] = {
    "UNet": (
        lambda n: n.UNet(2, 1, 2, (4, 8, 16, 32, 64), (2, 2, 2, 2), num_res_units=2),
        image(1, 32, 32),
        [
            "model.0", f"{SUB}.0", f"{SUB}.1.submodule.0", f"{SUB}.1.submodule.1.submodule.0",
            f"{SUB}.1.submodule.1.submodule.1.submodule", f"{SUB}.1.submodule.1.submodule.2", f"{SUB}.1.submodule.2",
            f"{SUB}.2", "model.2",
        ],
    ),
    "BasicUNet": (
        lambda n: n.BasicUNet(2, 1, 2, features=(4, 4, 8, 16, 32, 4)),
        image(1, 32, 32),
        [
            "conv_0", "down_1", "down_2", "down_3", "down_4", "upcat_4", "upcat_3", "upcat_2", "upcat_1", "final_conv",
        ],
    ),
    "BasicUNetPlusPlus": (
        lambda n: n.BasicUNetPlusPlus(2, 1, 2, features=(4, 4, 8, 16, 32, 4)),
        image(1, 32, 32),
        [
            "conv_0_0", "conv_1_0", "conv_2_0", "conv_3_0", "conv_4_0", "upcat_3_1", "upcat_2_2", "upcat_1_3",
            "upcat_0_4", "final_conv_0_4",
        ],
    ),
    "UNETR": (
        lambda n: n.UNETR(1, 2, (32, 32, 32), feature_size=4, hidden_size=24, mlp_dim=48, num_heads=2),
        CUBE,
        [
            "vit.patch_embedding", *rows("vit.blocks", 3, 6, 9, 11), "decoder5", "decoder4", "decoder3", "decoder2",
            "out",
        ],
    ),
    "SwinUNETR": (
        lambda n: n.SwinUNETR(1, 2, feature_size=12),
        image(1, 64, 64, 64),
        [
            "swinViT.patch_embed", "swinViT.layers1.0", "swinViT.layers2.0", "swinViT.layers3.0", "encoder10",
            "decoder5", "decoder4", "decoder3", "decoder2", "decoder1",
        ],
    ),
    "SegResNet": (
        lambda n: n.SegResNet(2, 8, 1, 2),
        image(1, 32, 32),
        ["convInit", *rows("down_layers", 0, 1, 2, 3), *rows("up_layers", 0, 1, 2), "conv_final"],
    ),
    "DynUNet": (
        lambda n: n.DynUNet(2, 1, 2, [3] * 5, [1, 2, 2, 2, 2], [2, 2, 2, 2], filters=[4, 8, 16, 32, 64]),
        image(1, 32, 32),
        [
            "input_block", *rows("downsamples", 0, 1, 2), "bottleneck", *rows("upsamples", 0, 1, 2, 3), "output_block",
        ],
    ),
    "VNet": (
        lambda n: n.VNet(2, 1, 2),
        image(1, 32, 32),
        [
            "in_tr", "down_tr32", "down_tr64", "down_tr128", "down_tr256", "up_tr256", "up_tr128", "up_tr64", "up_tr32",
            "out_tr",
        ],
    ),
    "DenseNet121": (
        lambda n: n.DenseNet121(2, 1, 3),
        image(1, 64, 64),
        ["features.conv0", *(f"features.denseblock{i}" for i in (1, 2, 3, 4)), "class_layers"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MONAI)
def test_monai(name: str) -> None:
    make, x, expected = MONAI[name]
    assert cut(make(pytest.importorskip("monai.networks.nets", exc_type=ImportError)).eval(), x) == expected


def test_monai_attention_unet_keeps_every_level_and_no_gate() -> None:
    nets = pytest.importorskip("monai.networks.nets", exc_type=ImportError)
    stages = cut(nets.AttentionUnet(2, 1, 2, (4, 8, 16, 32), (2, 2, 2)).eval(), image(1, 32, 32))
    inner = "model.1.submodule.1.submodule.1"
    assert stages[0] == "model.0"
    assert [s for s in stages if s.endswith("merge")] == [
        f"{inner}.merge",
        "model.1.submodule.1.merge",
        "model.1.merge",
    ]
    assert f"{inner}.submodule" in stages


SMALL = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
TEXT = {**SMALL, "vocab_size": 50}
TRANSFORMERS: dict[str, Case] = {
    "BERT": (
        lambda t: t.BertForSequenceClassification(t.BertConfig(num_hidden_layers=12, **TEXT)),
        tokens(),
        ["bert.embeddings", *rows("bert.encoder.layer", 0, 3, 6, 8, 11), "bert.pooler", "classifier"],
    ),
    "GPT-2": (
        lambda t: t.GPT2LMHeadModel(
            t.GPT2Config(n_embd=32, n_layer=12, n_head=4, vocab_size=50, bos_token_id=0, eos_token_id=0)
        ),
        tokens(),
        ["transformer.wte", *rows("transformer.h", 0, 2, 4, 7, 9, 11), "lm_head"],
    ),
    "Llama": (
        lambda t: t.LlamaForCausalLM(t.LlamaConfig(num_hidden_layers=16, num_key_value_heads=2, **TEXT)),
        tokens(),
        ["model.embed_tokens", *rows("model.layers", 0, 3, 6, 9, 12, 15), "lm_head"],
    ),
    "Mixtral": (
        lambda t: t.MixtralForCausalLM(
            t.MixtralConfig(num_hidden_layers=8, num_key_value_heads=2, num_local_experts=4, **TEXT)
        ),
        tokens(),
        ["model.embed_tokens", *rows("model.layers", *range(8)), "lm_head"],
    ),
    "T5": (
        lambda t: t.T5ForConditionalGeneration(
            t.T5Config(vocab_size=50, d_model=32, d_kv=8, d_ff=64, num_layers=6, num_heads=4)
        ),
        {"input_ids": tokens(9), "decoder_input_ids": tokens(5)},
        [
            "encoder.embed_tokens", *rows("encoder.block", 0, 3, 5),
            "decoder.embed_tokens", *rows("decoder.block", 0, 3, 5), "lm_head",
        ],
    ),
    "ViT": (
        lambda t: t.ViTForImageClassification(t.ViTConfig(num_hidden_layers=12, image_size=32, patch_size=8, **SMALL)),
        image(3, 32, 32),
        ["vit.embeddings", *rows("vit.layers", 0, 2, 4, 7, 9, 11), "classifier"],
    ),
    "Swin": (
        lambda t: t.SwinForImageClassification(
            t.SwinConfig(
                image_size=64, patch_size=2, embed_dim=16, depths=[2, 2, 6, 2], num_heads=[1, 2, 4, 8], window_size=4
            )
        ),
        image(3, 64, 64),
        ["swin.embeddings", *rows("swin.encoder.layers", 0, 1, 2, 3), "swin.pooler", "classifier"],
    ),
    "SegFormer": (
        lambda t: t.SegformerForSemanticSegmentation(
            t.SegformerConfig(hidden_sizes=[8, 16, 20, 32], decoder_hidden_size=16, num_labels=5)
        ),
        image(3, 64, 64),
        [
            *rows("segformer.stages", 0, 1, 2, 3), "decode_head.linear_projections.3", "decode_head.linear_fuse",
            "decode_head.classifier",
        ],
    ),
    "CLIP": (
        lambda t: t.CLIPModel(
            t.CLIPConfig(
                text_config={"vocab_size": 50, "num_hidden_layers": 12, "eos_token_id": 2, **SMALL},
                vision_config={"image_size": 32, "patch_size": 8, "num_hidden_layers": 12, **SMALL},
                projection_dim=16,
            )
        ),
        {"input_ids": tokens(), "pixel_values": image(3, 32, 32)},
        [
            "vision_model.embeddings", *rows("vision_model.encoder.layers", 0, 6, 11), "visual_projection",
            "text_model.embeddings", *rows("text_model.encoder.layers", 0, 6, 11), "text_projection",
        ],
    ),
    "Whisper": (
        lambda t: t.WhisperForConditionalGeneration(
            t.WhisperConfig(
                vocab_size=50, num_mel_bins=20, encoder_layers=4, decoder_layers=4, d_model=32, encoder_ffn_dim=64,
                encoder_attention_heads=4, decoder_attention_heads=4, decoder_ffn_dim=64, max_source_positions=50,
                max_target_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
            )
        ),
        {"input_features": torch.ones(1, 20, 100), "decoder_input_ids": tokens(5)},
        [
            "model.encoder.conv1", *rows("model.encoder.layers", 0, 1, 2, 3),
            "model.decoder.embed_tokens", *rows("model.decoder.layers", 0, 1, 2, 3),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name: str) -> None:
    make, x, expected = TRANSFORMERS[name]
    assert cut(make(pytest.importorskip("transformers")).eval(), x) == expected


NOISY, STEP = image(4, 16, 16), torch.tensor([3])
DIFFUSERS: dict[str, Case] = {
    "UNet2DModel": (
        lambda d: d.UNet2DModel(
            sample_size=16, in_channels=4, out_channels=4, block_out_channels=(8, 8, 16, 16), norm_num_groups=4,
            attention_head_dim=8,
        ),
        (NOISY, STEP),
        ["conv_in", *rows("down_blocks", 0, 1, 2, 3), "mid_block", *rows("up_blocks", 0, 1, 2, 3)],
    ),
    "UNet2DConditionModel": (
        lambda d: d.UNet2DConditionModel(
            sample_size=16, block_out_channels=(8, 16, 16, 16), norm_num_groups=4, cross_attention_dim=16,
            attention_head_dim=4, layers_per_block=1,
        ),
        {"sample": NOISY, "timestep": STEP, "encoder_hidden_states": torch.ones(1, 7, 16)},
        ["conv_in", *rows("down_blocks", 0, 1, 2, 3), "mid_block", *rows("up_blocks", 0, 1, 2, 3)],
    ),
    "AutoencoderKL": (
        lambda d: d.AutoencoderKL(
            block_out_channels=(8, 16, 16, 16), norm_num_groups=4, down_block_types=("DownEncoderBlock2D",) * 4,
            up_block_types=("UpDecoderBlock2D",) * 4, layers_per_block=2,
        ),
        image(3, 64, 64),
        [
            "encoder.conv_in", *rows("encoder.down_blocks", 0, 1), "encoder.mid_block", "post_quant_conv",
            "decoder.mid_block", *rows("decoder.up_blocks", 0, 1, 2, 3),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFUSERS)
def test_diffusers(name: str) -> None:
    make, x, expected = DIFFUSERS[name]
    assert cut(make(pytest.importorskip("diffusers")).eval(), x) == expected
