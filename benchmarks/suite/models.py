"""The models of the suite, with random weights, and what each is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .nets import Branching, Cells, Heads, Mixture, Recurrent, ResNet, Reused, chain


@dataclass(frozen=True, slots=True)
class Case:
    """`args` are what the forward takes, by position, which every tool accepts."""

    model: nn.Module
    args: tuple[Any, ...]


def _image(side: int, channels: int = 3, batch: int = 1) -> Tensor:
    return torch.rand(batch, channels, side, side)


def _tokens(vocabulary: int, length: int) -> Tensor:
    return torch.randint(vocabulary, (1, length))


def _resnet18() -> Case:
    return Case(ResNet((2, 2, 2, 2), bottleneck=False), (_image(224),))


def _resnet50() -> Case:
    return Case(ResNet((3, 4, 6, 3), bottleneck=True), (_image(224),))


def _monai_unet() -> Case:
    from monai.networks.nets import UNet

    return Case(
        UNet(3, 1, 2, channels=(16, 32, 64, 128), strides=(2, 2, 2), num_res_units=2), (torch.rand(1, 1, *(64,) * 3),)
    )


def _basic_unet() -> Case:
    from monai.networks.nets import BasicUNet

    return Case(BasicUNet(2, 1, 2), (_image(128, 1),))


def _swin_unetr() -> Case:
    from monai.networks.nets import SwinUNETR

    return Case(SwinUNETR(1, 2, feature_size=24, spatial_dims=2), (_image(128, 1),))


def _gpt2() -> Case:
    from transformers import GPT2Config, GPT2LMHeadModel

    return Case(GPT2LMHeadModel(GPT2Config(use_cache=False)), (_tokens(50_257, 64),))


def _bert() -> Case:
    from transformers import BertConfig, BertModel

    return Case(BertModel(BertConfig()), (_tokens(30_522, 128),))


def _vit() -> Case:
    from transformers import ViTConfig, ViTForImageClassification

    return Case(ViTForImageClassification(ViTConfig(num_labels=1000)), (_image(224),))


def _unet2d() -> Case:
    from diffusers import UNet2DModel

    model = UNet2DModel(sample_size=64, in_channels=3, out_channels=3, block_out_channels=(64, 128, 128, 256))
    return Case(model, (_image(64), torch.tensor(10)))


def _heads() -> Case:
    return Case(Heads(32), (_image(64), torch.rand(1, 16), _tokens(100, 12)))


MODELS: dict[str, Callable[[], Case]] = {
    "ResNet-18": _resnet18,
    "ResNet-50": _resnet50,
    "MONAI UNet": _monai_unet,
    "MONAI BasicUNet": _basic_unet,
    "MONAI SwinUNETR": _swin_unetr,
    "GPT-2 small": _gpt2,
    "BERT base": _bert,
    "ViT base": _vit,
    "diffusers UNet2D": _unet2d,
    "LSTM": lambda: Case(Recurrent(128), (torch.randn(4, 50, 128),)),
    "LSTMCell, 60 steps": lambda: Case(Cells(64), (torch.randn(8, 60, 64),)),
    "one module, 20 calls": lambda: Case(Reused(16), (_image(32, 16),)),
    "data-dependent control flow": lambda: Case(Branching(256), (torch.randn(32, 256),)),
    "three inputs, three heads": _heads,
    "chain of 1,000 modules": lambda: Case(chain(1_000), (torch.randn(8, 64),)),
    "mixture of experts": lambda: Case(Mixture(128), (torch.randn(64, 128),)),
}


def build(name: str) -> Case:
    torch.manual_seed(0)
    case = MODELS[name]()
    case.model.eval()
    return case
