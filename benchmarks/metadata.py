"""Time of the metadata pass beside that of a plain forward: `python benchmarks/metadata.py [rounds]`.

Prints a table and JSON. One thread; the two take turns, so that a busy machine slows both sides alike, and the medians
are of processor time. The ratio is the median over the rounds of record / plain.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nf_widget.inputs import model_device, normalise
from nf_widget.running import record_conditions
from nf_widget.tracing.record import record


class ConvNet(nn.Module):
    """A stem and residual blocks: 44 modules."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
            for _ in range(8)
        )
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3)))


class Block(nn.Module):
    """A transformer block: attention and a feed-forward part, each with a residual."""

    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.qkv, self.out = nn.Linear(features, 3 * features), nn.Linear(features, features)
        self.mlp = nn.Sequential(nn.Linear(features, 4 * features), nn.GELU(), nn.Linear(4 * features, features))

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, features = x.shape
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (p.view(batch, tokens, self.heads, -1).transpose(1, 2) for p in parts)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, tokens, features)
        x = x + self.out(mixed)
        return x + self.mlp(self.norm2(x))


class Loop(nn.Module):
    """One LSTM cell, 60 steps."""

    def __init__(self, features: int = 64) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(features, features)

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[0], x.shape[2])
        for step in range(x.shape[1]):
            h, c = self.cell(x[:, step], (h, c))
        return h


class Reused(nn.Module):
    """One convolution, 20 calls."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(20):
            x = self.conv(x).relu()
        return x


def chain() -> nn.Module:
    return nn.Sequential(*(nn.Linear(64, 64) if i % 2 == 0 else nn.ReLU() for i in range(1_000)))


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "conv net": (ConvNet, (1, 3, 144, 144)),
    "12-layer transformer": (lambda: nn.Sequential(*(Block(384, 6) for _ in range(12))), (1, 196, 384)),
    "LSTM cell, 60 steps": (Loop, (8, 60, 64)),
    "chain of 1,000 modules": (chain, (8, 64)),
    "one module, 20 calls": (Reused, (1, 16, 32, 32)),
}


def measure(make: Callable[[], nn.Module], shape: tuple[int, ...], rounds: int) -> dict[str, float]:
    """Milliseconds of a plain forward and of `record`, and the ratio."""
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(shape)
    inputs = normalise(model, x, None)
    conditions = record_conditions(model, model_device(model), "eval", grad=False)

    def plain() -> None:
        with torch.no_grad():
            model(x)

    def recorded() -> None:
        record(model, inputs, conditions)

    pairs = [(_seconds(plain), _seconds(recorded)) for _ in range(rounds + 1)][1:]  # the first round warms up
    return {
        "plain_ms": statistics.median(a for a, _ in pairs) * 1e3,
        "record_ms": statistics.median(b for _, b in pairs) * 1e3,
        "ratio": statistics.median(b / a for a, b in pairs),
    }


def _seconds(function: Callable[[], None]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    found = {name: measure(make, shape, rounds) for name, (make, shape) in CASES.items()}
    print(f"{'':24}{'plain':>10}{'record':>10}{'ratio':>8}")
    for name, row in found.items():
        print(f"{name:24}{row['plain_ms']:>7.1f} ms{row['record_ms']:>7.1f} ms{row['ratio']:>8.2f}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
