"""MONAI's segmentation networks, as small as they go."""

from __future__ import annotations

import torch
from monai.networks import nets
from torch import nn

from zoo.built import Builder, Built


def _on_volume(model: nn.Module, side: int = 32, channels: int = 1) -> Built:
    return Built(model.eval(), (torch.rand(1, channels, side, side, side),))


def _on_image(model: nn.Module, side: int = 32, channels: int = 1) -> Built:
    return Built(model.eval(), (torch.rand(1, channels, side, side),))


def unet() -> Built:
    return _on_volume(nets.UNet(3, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=2))


def basic_unet() -> Built:
    return _on_image(nets.BasicUNet(2, 1, 2, features=(4, 4, 8, 16, 16, 4)))


def basic_unet_odd() -> Built:
    """A side that does not halve evenly: the decoder pads."""
    return _on_image(nets.BasicUNet(2, 1, 2, features=(4, 4, 8, 16, 16, 4)), side=36)


def attention_unet() -> Built:
    return _on_image(nets.AttentionUnet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2)))


def unetr() -> Built:
    model = nets.UNETR(1, 2, img_size=16, feature_size=4, hidden_size=12, mlp_dim=24, num_heads=2, spatial_dims=2)
    return _on_image(model, side=16)


def swin_unetr() -> Built:
    model = nets.SwinUNETR(
        1, 2, feature_size=12, depths=(2, 2, 2, 2), num_heads=(1, 2, 4, 8), window_size=2, spatial_dims=2
    )
    return _on_image(model, side=64)


def seg_resnet() -> Built:
    return _on_volume(
        nets.SegResNet(3, init_filters=8, in_channels=1, out_channels=2, blocks_down=(1, 1, 2), blocks_up=(1, 1)),
        side=16,
    )


def dyn_unet() -> Built:
    model = nets.DynUNet(
        2, 1, 2, kernel_size=(3, 3, 3), strides=(1, 2, 2), upsample_kernel_size=(2, 2), filters=(4, 8, 16)
    )
    return _on_image(model)


def dyn_unet_supervised() -> Built:
    model = nets.DynUNet(
        2, 1, 2, kernel_size=(3,) * 4, strides=(1, 2, 2, 2), upsample_kernel_size=(2,) * 3, filters=(4, 4, 8, 16),
        deep_supervision=True, deep_supr_num=2,
    )  # fmt: skip
    return _on_image(model)


def vnet() -> Built:
    return _on_image(nets.VNet(2, 1, 2))


BUILDERS: dict[str, Builder] = {
    "UNet": unet,
    "BasicUNet": basic_unet,
    "BasicUNet, odd side": basic_unet_odd,
    "AttentionUnet": attention_unet,
    "UNETR": unetr,
    "SwinUNETR": swin_unetr,
    "SegResNet": seg_resnet,
    "DynUNet": dyn_unet,
    "DynUNet, supervised": dyn_unet_supervised,
    "VNet": vnet,
}
