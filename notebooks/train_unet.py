"""Train the U-Net of the quickstart: `python notebooks/train_unet.py`. About a quarter of an hour on one core.

It learns from photographs that lie in the scikit-image wheel. Their photograph of a cat is not among them: on that one
the network is measured, and the notebook shows it.
"""

from __future__ import annotations

import torch
from skimage import data
from torch import Tensor, nn
from unet import STRONGEST, WEIGHTS, UNet, add_noise, as_tensor, psnr

PHOTOGRAPHS = (
    "astronaut",
    "camera",
    "coffee",
    "coins",
    "hubble_deep_field",
    "immunohistochemistry",
    "retina",
    "rocket",
)
STEPS = 8000
BATCH = 8
SIDE = 64
PEAK_RATE = 2e-3


def main() -> None:
    """Train, report, and write the weights."""
    # One thread: the same sums in the same order, whatever the machine.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = UNet()
    photographs = [as_tensor(getattr(data, name)())[0] for name in PHOTOGRAPHS]
    photographs += [as_tensor(photograph)[0] for photograph in data.stereo_motorcycle()[:2]]
    optimiser = torch.optim.Adam(model.parameters(), lr=PEAK_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=PEAK_RATE, total_steps=STEPS)
    for step in range(1, STEPS + 1):
        clean = torch.stack([patch(photographs) for _ in range(BATCH)])
        strength = STRONGEST * torch.rand(BATCH, 1, 1, 1)
        # Weighted, or the strongest noise would be all that counts.
        loss = ((model(clean + strength * torch.randn_like(clean)) - clean) ** 2 / (0.05 + strength)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 500 == 0:
            print(f"step {step:5d}   {report(model)}", flush=True)
    torch.save(model.state_dict(), WEIGHTS)
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size / 1024:.0f} KiB")


def patch(photographs: list[Tensor]) -> Tensor:
    """A random square out of a random photograph, turned, mirrored and its colours swapped: `[3, SIDE, SIDE]`."""
    photograph = photographs[int(torch.randint(len(photographs), ()))]
    top = int(torch.randint(photograph.shape[1] - SIDE + 1, ()))
    left = int(torch.randint(photograph.shape[2] - SIDE + 1, ()))
    turns, mirrored = int(torch.randint(4, ())), bool(torch.randint(2, ()))
    square = photograph[:, top : top + SIDE, left : left + SIDE].rot90(turns, (1, 2))
    return (square.flip(2) if mirrored else square)[torch.randperm(3)]


@torch.no_grad()
def report(model: nn.Module) -> str:
    """PSNR on the photograph that was held out."""
    cat = as_tensor(data.cat())[..., :296, :448]
    noisy = add_noise(cat)
    return f"cat: {psnr(noisy, cat):.2f} dB -> {psnr(model(noisy), cat):.2f} dB"


if __name__ == "__main__":
    main()
