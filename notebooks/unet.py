"""A small U-Net that removes noise from photographs, and what the notebooks and its training share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

WEIGHTS = Path(__file__).parent / "unet_denoiser.pt"
STRONGEST = 0.3
"""Greatest standard deviation of the noise that it is trained on, for values from 0 to 1."""


class UNet(nn.Module):
    """Three levels down, three up. `x: [batch, 3, height, width]`, 0 to 1, sides divisible by 8; the same comes out."""

    def __init__(self, widths: tuple[int, int, int, int] = (16, 32, 48, 64)) -> None:
        super().__init__()
        one, two, three, four = widths
        self.enc1 = block(3, one)
        self.enc2 = block(one, two)
        self.enc3 = block(two, three)
        self.mid = block(three, four)
        self.dec3 = block(four + three, three)
        self.dec2 = block(three + two, two)
        self.dec1 = block(two + one, one)
        self.head = nn.Conv2d(one, 3, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        skip1 = self.enc1(x)
        skip2 = self.enc2(F.max_pool2d(skip1, 2))
        skip3 = self.enc3(F.max_pool2d(skip2, 2))
        y = self.mid(F.max_pool2d(skip3, 2))
        y = self.dec3(torch.cat([up(y), skip3], dim=1))
        y = self.dec2(torch.cat([up(y), skip2], dim=1))
        y = self.dec1(torch.cat([up(y), skip1], dim=1))
        output: Tensor = self.head(y)
        return output


def block(inputs: int, outputs: int) -> nn.Sequential:
    """Two convolutions, each with a ReLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel_size=3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, kernel_size=3, padding=1),
        nn.ReLU(inplace=True),
    )


def up(x: Tensor) -> Tensor:
    """Twice the size."""
    return F.interpolate(x, scale_factor=2.0, mode="nearest")


def load() -> UNet:
    """The trained network, in eval mode."""
    model = UNet()
    model.load_state_dict(torch.load(WEIGHTS, weights_only=True))
    return model.eval()


def as_tensor(photograph: npt.NDArray[np.uint8]) -> Tensor:
    """`[height, width, 3]` or `[height, width]`, 0 to 255, to `[1, 3, height, width]`, 0 to 1."""
    values = torch.from_numpy(photograph.copy()).float().div(255)
    values = values[..., None].expand(-1, -1, 3) if values.ndim == 2 else values
    return values.permute(2, 0, 1)[None].contiguous()


def add_noise(clean: Tensor, strength: float = 0.15, *, seed: int = 0) -> Tensor:
    """Gaussian noise of standard deviation `strength`, the same but for that under the same seed; not clipped."""
    return clean + strength * torch.randn(clean.shape, generator=torch.Generator().manual_seed(seed))


def psnr(image: Tensor, clean: Tensor) -> float:
    """Peak signal-to-noise ratio in dB, of values clipped to 0 to 1."""
    return -10 * F.mse_loss(image.clamp(0, 1), clean).log10().item()
