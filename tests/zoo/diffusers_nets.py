"""Hugging Face diffusers, as small as they go. Nothing is downloaded: weights are random."""

from __future__ import annotations

import diffusers
import torch

from zoo.built import Builder, Built


def unet() -> Built:
    model = diffusers.UNet2DModel(
        sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
        norm_num_groups=4, attention_head_dim=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    return Built(model.eval(), (torch.rand(1, 1, 16, 16), 10))


def conditioned_unet() -> Built:
    model = diffusers.UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16),
        norm_num_groups=4, cross_attention_dim=8, attention_head_dim=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )  # fmt: skip
    return Built(
        model.eval(), (torch.rand(1, 4, 16, 16),), {"timestep": 10, "encoder_hidden_states": torch.rand(1, 5, 8)}
    )


def autoencoder() -> Built:
    model = diffusers.AutoencoderKL(
        block_out_channels=(8, 16), norm_num_groups=4, down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    return Built(model.eval(), (torch.rand(1, 3, 16, 16),))


BUILDERS: dict[str, Builder] = {
    "UNet2D": unet,
    "UNet2D with conditions": conditioned_unet,
    "AutoencoderKL": autoencoder,
}
