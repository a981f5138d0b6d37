"""Networks of the suite that are not in a library, each with something that is hard for a tracer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Residual(nn.Module):
    """`convolutions` are (kernel, width) in order; the widest step, of kernel 3, is the one that strides."""

    def __init__(self, channels: int, convolutions: Sequence[tuple[int, int]], stride: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs, left = channels, stride
        for number, (kernel, width) in enumerate(convolutions):
            step = left if kernel == 3 else 1
            left = 1 if kernel == 3 else left
            layers += [nn.Conv2d(inputs, width, kernel, step, kernel // 2, bias=False), nn.BatchNorm2d(width)]
            layers += [nn.ReLU(inplace=True)] if number + 1 < len(convolutions) else []
            inputs = width
        self.body = nn.Sequential(*layers)
        changed = stride != 1 or inputs != channels
        self.shortcut = (
            nn.Sequential(nn.Conv2d(channels, inputs, 1, stride, bias=False), nn.BatchNorm2d(inputs))
            if changed
            else nn.Identity()
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    """`x: [batch, 3, height, width]`. ResNet-18 with basic blocks, ResNet-50 with bottlenecks."""

    def __init__(self, depths: Sequence[int], *, bottleneck: bool) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = 64
        for level, depth in enumerate(depths):
            width = 64 << level
            steps = [(1, width), (3, width), (1, 4 * width)] if bottleneck else [(3, width), (3, width)]
            blocks = []
            for number in range(depth):
                blocks.append(Residual(channels, steps, 2 if level and not number else 1))
                channels = steps[-1][1]
            self.add_module(f"layer{level + 1}", nn.Sequential(*blocks))
        self.levels = len(depths)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(channels, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.stem(x))
        for level in range(self.levels):
            x = self.get_submodule(f"layer{level + 1}")(x)
        return self.fc(self.avgpool(x).flatten(1))


class Cells(nn.Module):
    """`x: [batch, step, feature]`. One LSTM cell, a call for each step."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.cell, self.head = nn.LSTMCell(features, features), nn.Linear(features, 10)

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[0], x.shape[2])
        for step in range(x.shape[1]):
            h, c = self.cell(x[:, step], (h, c))
        return self.head(h)


class Reused(nn.Module):
    """`x: [batch, channel, height, width]`. One convolution, 20 calls."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(20):
            x = self.conv(x).relu()
        return x


class Branching(nn.Module):
    """`x: [batch, feature]`. How often the block runs depends on the values, and so does the head."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(features, features), nn.Tanh())
        self.small, self.large = nn.Linear(features, 10), nn.Linear(features, 10)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(1 + int(x.abs().mean() * 5)):
            x = x + self.block(x)
        return self.small(x) if x.sum() < 0 else self.large(x)


class Heads(nn.Module):
    """An image, a vector and token ids, joined; three heads in a dict."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.image = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, 2, 1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.vector = nn.Sequential(nn.Linear(16, width), nn.ReLU())
        self.tokens = nn.Embedding(100, width)
        self.trunk = nn.Sequential(nn.Linear(3 * width, width), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(width, size) for name, size in (("a", 10), ("b", 2), ("c", 1))})

    def forward(self, image: Tensor, vector: Tensor, tokens: Tensor) -> dict[str, Tensor]:
        parts = [self.image(image).flatten(1), self.vector(vector), self.tokens(tokens).mean(1)]
        joined = self.trunk(torch.cat(parts, 1))
        return {name: head(joined) for name, head in self.heads.items()}


class Mixture(nn.Module):
    """`x: [token, feature]`. Each token goes through two of eight experts; some experts may see none."""

    def __init__(self, features: int, experts: int = 8) -> None:
        super().__init__()
        self.gate = nn.Linear(features, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(features, 2 * features), nn.GELU(), nn.Linear(2 * features, features))
            for _ in range(experts)
        )

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            token, rank = (chosen == number).nonzero(as_tuple=True)
            if len(token):
                out.index_add_(0, token, expert(x[token]) * weights[token, rank, None])
        return out


class Recurrent(nn.Module):
    """`x: [batch, step, feature]`. An LSTM of two layers, and a head on its last state."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(features, features, 2, batch_first=True), nn.Linear(features, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


def chain(modules: int, features: int = 64) -> nn.Module:
    """`x: [batch, feature]`."""
    return nn.Sequential(*(nn.ReLU() if i % 2 else nn.Linear(features, features) for i in range(modules)))
