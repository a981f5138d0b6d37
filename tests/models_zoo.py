"""Small models of the families that people draw, named as their authors name them. Widths are tiny, depths are real."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def conv_block(channels: int, width: int, dims: int = 2) -> nn.Sequential:
    """Convolution, normalisation, activation, twice."""
    conv, norm = (nn.Conv2d, nn.BatchNorm2d) if dims == 2 else (nn.Conv3d, nn.BatchNorm3d)
    return nn.Sequential(
        conv(channels, width, 3, padding=1),
        norm(width),
        nn.ReLU(),
        conv(width, width, 3, padding=1),
        norm(width),
        nn.ReLU(),
    )


class BasicBlock(nn.Module):
    def __init__(self, channels: int, width: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample: nn.Module | None = None
        if stride > 1 or channels != width:
            self.downsample = nn.Sequential(nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int = 1) -> None:
        super().__init__()
        inner = width // 4
        self.conv1, self.bn1 = nn.Conv2d(channels, inner, 1), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = nn.Conv2d(inner, inner, 3, stride, 1), nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = nn.Conv2d(inner, width, 1), nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.downsample: nn.Module | None = None
        if stride > 1 or channels != width:
            self.downsample = nn.Sequential(nn.Conv2d(channels, width, 1, stride), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(y)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """`x: [batch, 3, 64, 64]`."""

    def __init__(self, block: type[nn.Module], depths: Sequence[int], width: int = 8) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = width
        for number, depth in enumerate(depths):
            out = width * 2**number
            blocks = [block(channels, out, 2 if number else 1), *(block(out, out) for _ in range(depth - 1))]
            self.add_module(f"layer{number + 1}", nn.Sequential(*blocks))
            channels = out
        self.depth = len(depths)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for number in range(self.depth):
            x = self.get_submodule(f"layer{number + 1}")(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


class CifarResNet(nn.Module):
    """`x: [batch, 3, 32, 32]`; three stages of three blocks, no pooling in the stem."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.layer1 = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 8), BasicBlock(8, 8))
        self.layer2 = nn.Sequential(BasicBlock(8, 16, 2), BasicBlock(16, 16), BasicBlock(16, 16))
        self.layer3 = nn.Sequential(BasicBlock(16, 32, 2), BasicBlock(32, 32), BasicBlock(32, 32))
        self.linear = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer3(self.layer2(self.layer1(self.bn1(self.conv1(x)).relu())))
        return self.linear(x.mean((2, 3)))


class VGG(nn.Module):
    """`x: [batch, 3, 32, 32]`; thirteen convolutions in one flat chain."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for width in (4, 4, 0, 8, 8, 0, 16, 16, 16, 0, 32, 32, 32, 0, 32, 32, 32, 0):
            if width:
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
                channels = width
            else:
                layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(32, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 48), nn.ReLU(), nn.Dropout(), nn.Linear(48, 10)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class SqueezeExcite(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.reduce, self.expand = nn.Conv2d(width, 2, 1), nn.Conv2d(2, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.expand(self.reduce(self.pool(x)).relu()).sigmoid()


class MBConv(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.expand, self.bn0 = nn.Conv2d(channels, 4 * channels, 1), nn.BatchNorm2d(4 * channels)
        self.depthwise = nn.Conv2d(4 * channels, 4 * channels, 3, stride, 1, groups=4 * channels)
        self.bn1, self.se = nn.BatchNorm2d(4 * channels), SqueezeExcite(4 * channels)
        self.project, self.bn2 = nn.Conv2d(4 * channels, width, 1), nn.BatchNorm2d(width)
        self.residual = stride == 1 and channels == width

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.silu(self.bn0(self.expand(x)))
        y = self.se(nn.functional.silu(self.bn1(self.depthwise(y))))
        y = self.bn2(self.project(y))
        return x + y if self.residual else y


class EfficientNet(nn.Module):
    """`x: [batch, 3, 64, 64]`; sixteen blocks in seven groups, in one list."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_stem, self.bn0 = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8)
        groups = [(1, 4, 1), (2, 6, 2), (2, 8, 2), (3, 10, 2), (3, 12, 1), (4, 14, 2), (1, 16, 1)]
        blocks: list[nn.Module] = []
        channels = 8
        for depth, width, stride in groups:
            for number in range(depth):
                blocks.append(MBConv(channels, width, 1 if number else stride))
                channels = width
        self.blocks = nn.ModuleList(blocks)
        self.conv_head, self.bn1 = nn.Conv2d(16, 64, 1), nn.BatchNorm2d(64)
        self.avg_pooling, self.dropout = nn.AdaptiveAvgPool2d(1), nn.Dropout()
        self.fc = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.silu(self.bn0(self.conv_stem(x)))
        for block in self.blocks:
            x = block(x)
        x = self.avg_pooling(nn.functional.silu(self.bn1(self.conv_head(x))))
        return self.fc(self.dropout(x.flatten(1)))


class DenseLayer(nn.Module):
    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(channels), nn.Conv2d(channels, 4 * growth, 1)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(self.norm1(x).relu())
        return torch.cat([x, self.conv2(self.norm2(y).relu())], 1)


class DenseNet(nn.Module):
    """`x: [batch, 3, 64, 64]`."""

    def __init__(self) -> None:
        super().__init__()
        layers: dict[str, nn.Module] = {"conv0": nn.Conv2d(3, 8, 7, 2, 3), "norm0": nn.BatchNorm2d(8)}
        layers |= {"relu0": nn.ReLU(), "pool0": nn.MaxPool2d(3, 2, 1)}
        channels = 8
        for number in range(1, 5):
            layers[f"denseblock{number}"] = nn.Sequential(*(DenseLayer(channels + 4 * i, 4) for i in range(3)))
            channels += 12
            if number < 4:
                layers[f"transition{number}"] = nn.Sequential(
                    nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, channels // 2, 1), nn.AvgPool2d(2)
                )
                channels //= 2
        self.features = nn.Sequential()
        for name, layer in layers.items():
            self.features.add_module(name, layer)
        self.classifier = nn.Linear(channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(nn.functional.adaptive_avg_pool2d(self.features(x).relu(), 1).flatten(1))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int = 2, *, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        context = x if context is None else context
        q, k, v = (
            y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in (self.q(x), self.k(context), self.v(context))
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).flatten(2))


class QuickGELU(nn.Module):
    """An activation that torch does not know."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class TransformerBlock(nn.Module):
    def __init__(self, width: int, *, causal: bool = False, cross: bool = False) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width), Attention(width, causal=causal)
        self.norm2, self.mlp = (
            nn.LayerNorm(width),
            nn.Sequential(nn.Linear(width, 4 * width), QuickGELU(), nn.Linear(4 * width, width)),
        )
        if cross:
            self.norm3, self.cross = nn.LayerNorm(width), Attention(width)

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        x = x + self.attn(self.norm1(x))
        if context is not None:
            x = x + self.cross(self.norm3(x), context)
        return x + self.mlp(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self, width: int, depth: int, length: int) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.zeros(1, length, width))
        self.dropout = nn.Dropout()
        self.layers = nn.Sequential(*(TransformerBlock(width) for _ in range(depth)))
        self.ln = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return self.ln(self.layers(self.dropout(x + self.pos_embedding)))


class ViT(nn.Module):
    """`x: [batch, 3, 32, 32]`; patches of 8, the head reads the class token."""

    def __init__(self, depth: int = 12, width: int = 16) -> None:
        super().__init__()
        self.conv_proj = nn.Conv2d(3, width, 8, 8)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.encoder = Encoder(width, depth, 17)
        self.heads = nn.Sequential(nn.Linear(width, 10))

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1)
        return self.heads(self.encoder(x)[:, 0])


class PatchMerging(nn.Module):
    """`x: [batch, height, width, channel]`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.reduction, self.norm = nn.Linear(4 * width, 2 * width, bias=False), nn.LayerNorm(4 * width)

    def forward(self, x: Tensor) -> Tensor:
        parts = [x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        return self.reduction(self.norm(torch.cat(parts, -1)))


class WindowBlock(nn.Module):
    """Attention within windows of 4 by 4. `x: [batch, height, width, channel]`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width), Attention(width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        windows = self.norm1(x).reshape(batch, height // 4, 4, width // 4, 4, channels).transpose(2, 3)
        y = self.attn(windows.reshape(-1, 16, channels)).reshape(windows.shape)
        x = x + y.transpose(2, 3).reshape(x.shape)
        return x + self.mlp(self.norm2(x))


class Permute(nn.Module):
    def __init__(self, *dims: int) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.dims)


class Swin(nn.Module):
    """`x: [batch, 3, 64, 64]`; stages and merging alternate in one chain, channels last."""

    def __init__(self, depths: Sequence[int] = (2, 2, 6, 2), width: int = 8) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Sequential(nn.Conv2d(3, width, 2, 2), Permute(0, 2, 3, 1), nn.LayerNorm(width))]
        for number, depth in enumerate(depths):
            layers.append(nn.Sequential(*(WindowBlock(width) for _ in range(depth))))
            if number < len(depths) - 1:
                layers.append(PatchMerging(width))
                width *= 2
        self.features = nn.Sequential(*layers)
        self.norm, self.permute = nn.LayerNorm(width), Permute(0, 3, 1, 2)
        self.avgpool, self.flatten = nn.AdaptiveAvgPool2d(1), nn.Flatten(1)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.flatten(self.avgpool(self.permute(self.norm(self.features(x))))))


class UNet(nn.Module):
    """`x: [batch, 1, 32, 32]` or `[batch, 1, 32, 32, 32]`: `levels` of encoders, pools, a bottleneck and back."""

    def __init__(self, levels: int = 3, dims: int = 2, width: int = 4) -> None:
        super().__init__()
        conv, up = (nn.Conv2d, nn.ConvTranspose2d) if dims == 2 else (nn.Conv3d, nn.ConvTranspose3d)
        pool = nn.MaxPool2d if dims == 2 else nn.MaxPool3d
        self.levels = range(1, levels + 1)
        channels = 1
        for level in self.levels:
            self.add_module(f"enc{level}", conv_block(channels, width, dims))
            self.add_module(f"pool{level}", pool(2))
            channels, width = width, width * 2
        self.bottleneck = conv_block(channels, width, dims)
        for level in reversed(self.levels):
            self.add_module(f"up{level}", up(width, width // 2, 2, 2))
            self.add_module(f"dec{level}", conv_block(width, width // 2, dims))
            width //= 2
        self.head = conv(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        part = self.get_submodule
        skips = []
        for level in self.levels:
            skips.append(part(f"enc{level}")(x))
            x = part(f"pool{level}")(skips[-1])
        x = self.bottleneck(x)
        for level in reversed(self.levels):
            x = part(f"dec{level}")(torch.cat([part(f"up{level}")(x), skips[level - 1]], 1))
        return self.head(x)


class Nested(nn.Module):
    """One level of a U-Net with the next one inside it."""

    def __init__(self, width: int, levels: int) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(width, 2 * width, 3, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU())
        self.inner: nn.Module = Nested(2 * width, levels - 1) if levels > 1 else conv_block(2 * width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width * (2 if levels > 1 else 1), width, 2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.up(self.inner(self.down(x)))], 1)


class NestedUNet(nn.Module):
    """`x: [batch, 1, 32, 32]` for three levels."""

    def __init__(self, levels: int = 3) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.body = Nested(4, levels)
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.stem(x)))


class UpBlock(nn.Module):
    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose3d(channels, width, 2, 2)
        self.conv = conv_block(2 * width, width, 3)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        return self.conv(torch.cat([self.up(x), skip], 1))


class UNETR(nn.Module):
    """`x: [batch, 1, 32, 32, 32]`; a ViT over patches of 16, tapped after blocks 3, 6 and 9 of 12."""

    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.patch_embedding = nn.Conv3d(1, hidden, 16, 16)
        self.blocks = nn.ModuleList(TransformerBlock(hidden) for _ in range(12))
        self.norm = nn.LayerNorm(hidden)
        self.encoder1 = conv_block(1, 2, 3)
        self.encoder2 = nn.Sequential(*(nn.ConvTranspose3d(hidden if i == 0 else 4, 4, 2, 2) for i in range(3)))
        self.encoder3 = nn.Sequential(*(nn.ConvTranspose3d(hidden if i == 0 else 6, 6, 2, 2) for i in range(2)))
        self.encoder4 = nn.ConvTranspose3d(hidden, 8, 2, 2)
        self.decoder5, self.decoder4 = UpBlock(hidden, 8), UpBlock(8, 6)
        self.decoder3, self.decoder2 = UpBlock(6, 4), UpBlock(4, 2)
        self.out = nn.Conv3d(2, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patch_embedding(x).flatten(2).transpose(1, 2)
        taps = []
        for number, block in enumerate(self.blocks):
            tokens = block(tokens)
            if number in (3, 6, 9):
                taps.append(self._volume(tokens))
        enc1, enc2, enc3, enc4 = (
            self.encoder1(x),
            *(encoder(tap) for encoder, tap in zip((self.encoder2, self.encoder3, self.encoder4), taps, strict=True)),
        )
        y = self.decoder4(self.decoder5(self._volume(self.norm(tokens)), enc4), enc3)
        return self.out(self.decoder2(self.decoder3(y, enc2), enc1))

    @staticmethod
    def _volume(tokens: Tensor) -> Tensor:
        return tokens.transpose(1, 2).unflatten(2, (2, 2, 2))


class GPT(nn.Module):
    """`tokens: [batch, length]`."""

    def __init__(self, depth: int = 12, width: int = 16) -> None:
        super().__init__()
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(50, width),
                "wpe": nn.Embedding(32, width),
                "drop": nn.Dropout(),
                "h": nn.ModuleList(TransformerBlock(width, causal=True) for _ in range(depth)),
                "ln_f": nn.LayerNorm(width),
            }
        )
        self.lm_head = nn.Linear(width, 50, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        parts = self.transformer
        x = parts["wte"](tokens) + parts["wpe"](torch.arange(tokens.shape[1], device=tokens.device))
        x = parts["drop"](x)
        for block in parts["h"]:  # type: ignore[union-attr]
            x = block(x)
        return self.lm_head(parts["ln_f"](x))


class Embeddings(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.word, self.position = nn.Embedding(50, width), nn.Embedding(32, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.norm(self.word(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device)))


class Layers(nn.Module):
    def __init__(self, width: int, depth: int, *, cross: bool = False) -> None:
        super().__init__()
        self.layer = nn.ModuleList(TransformerBlock(width, cross=cross) for _ in range(depth))

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        for layer in self.layer:
            x = layer(x, context)
        return x


class CrossLayers(Layers):
    """Layers that read a context too."""

    def __init__(self, width: int, depth: int) -> None:
        super().__init__(width, depth, cross=True)


class Pooler(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense, self.activation = nn.Linear(width, width), nn.Tanh()

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.dense(x[:, 0]))


class BERT(nn.Module):
    """`tokens: [batch, length]`."""

    def __init__(self, depth: int = 12, width: int = 16) -> None:
        super().__init__()
        self.embeddings, self.encoder, self.pooler = Embeddings(width), Layers(width, depth), Pooler(width)
        self.classifier = nn.Linear(width, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.classifier(self.pooler(self.encoder(self.embeddings(tokens))))


class Rotary(nn.Module):
    """Angles of the positions: nothing learned, nothing of the tokens' values."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("frequencies", 1 / 10 ** torch.linspace(0, 2, width))

    def forward(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
        return (positions[:, None] @ self.frequencies[None, :]).cos()


class LlamaBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.input_layernorm, self.self_attn = RMSNorm(width), Attention(width, causal=True)
        self.post_attention_layernorm = RMSNorm(width)
        self.gate_proj, self.up_proj = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.down_proj, self.act_fn = nn.Linear(2 * width, width), nn.SiLU()

    def forward(self, x: Tensor, angles: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x) * angles)
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(self.act_fn(self.gate_proj(y)) * self.up_proj(y))


class LlamaModel(nn.Module):
    def __init__(self, depth: int, width: int) -> None:
        super().__init__()
        self.embed_tokens, self.rotary_emb = nn.Embedding(50, width), Rotary(width)
        self.layers, self.norm = nn.ModuleList(LlamaBlock(width) for _ in range(depth)), RMSNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed_tokens(tokens)
        angles = self.rotary_emb(x)
        for layer in self.layers:
            x = layer(x, angles)
        return self.norm(x)


class Llama(nn.Module):
    """`tokens: [batch, length]`."""

    def __init__(self, depth: int = 16, width: int = 16) -> None:
        super().__init__()
        self.model, self.lm_head = LlamaModel(depth, width), nn.Linear(width, 50, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.lm_head(self.model(tokens))


class Seq2Seq(nn.Module):
    """`source, target: [batch, length]`; one embedding for both."""

    def __init__(self, depth: int = 6, width: int = 16) -> None:
        super().__init__()
        self.shared = nn.Embedding(50, width)
        self.encoder, self.decoder = Layers(width, depth), CrossLayers(width, depth)
        self.lm_head = nn.Linear(width, 50)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory = self.encoder(self.shared(source))
        return self.lm_head(self.decoder(self.shared(target), memory))


class TwoTowers(nn.Module):
    """`image: [batch, 3, 32, 32]`, `tokens: [batch, length]` -> similarities `[batch, batch]`."""

    def __init__(self, depth: int = 12, width: int = 16) -> None:
        super().__init__()
        self.patches, self.visual = nn.Conv2d(3, width, 8, 8), Layers(width, depth)
        self.words, self.textual = Embeddings(width), Layers(width, depth)
        self.visual_projection, self.text_projection = nn.Linear(width, 8), nn.Linear(width, 8)

    def forward(self, image: Tensor, tokens: Tensor) -> Tensor:
        x = self.visual(self.patches(image).flatten(2).transpose(1, 2))
        image_code = self.visual_projection(x.mean(1))
        text_code = self.text_projection(self.textual(self.words(tokens))[:, -1])
        return image_code @ text_code.T


class LSTMTagger(nn.Module):
    """`tokens: [batch, length]`."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(50, 8), nn.LSTM(8, 16, 2, batch_first=True)
        self.dropout, self.fc = nn.Dropout(), nn.Linear(16, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.fc(self.dropout(self.lstm(self.embedding(tokens))[0]))


class Unrolled(nn.Module):
    """`x: [batch, time, 4]`; one cell, called once for each time."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.cell, self.decode = nn.Linear(4, 8), nn.GRUCell(8, 16), nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(x.shape[0], 16)
        for step in self.encode(x).unbind(1):
            state = self.cell(step, state)
        return self.decode(state)


class Branches(nn.Module):
    """`x: [batch, 8]`; many heads side by side, joined."""

    def __init__(self, count: int = 40) -> None:
        super().__init__()
        self.stem = nn.Linear(8, 16)
        self.branches = nn.ModuleList(nn.Linear(16, 4) for _ in range(count))
        self.fuse = nn.Linear(4 * count, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        return self.fuse(torch.cat([branch(x) for branch in self.branches], -1))


class Expert(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x).relu())


class Experts(nn.Module):
    """Each token goes to its two best experts: which experts run, and on how many tokens, depends on the data."""

    def __init__(self, width: int, count: int = 8) -> None:
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(Expert(width) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.gate(flat).softmax(-1).topk(2)
        y = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == number)
            if len(token):
                y.index_add_(0, token, expert(flat[token]) * weights[token, slot, None])
        return y.view_as(x)


class MixtureBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.attn, self.norm2, self.moe = RMSNorm(width), Attention(width), RMSNorm(width), Experts(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.moe(self.norm2(x))


class Mixture(nn.Module):
    """`tokens: [batch, length]`."""

    def __init__(self, depth: int = 4, width: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.layers = nn.ModuleList(MixtureBlock(width) for _ in range(depth))
        self.norm, self.lm_head = RMSNorm(width), nn.Linear(width, 50)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))


class AutoEncoder(nn.Module):
    """`x: [batch, 1, 32, 32]`."""

    def __init__(self) -> None:
        super().__init__()
        widths = (1, 4, 8, 16)
        self.encoder, self.decoder = nn.Sequential(), nn.Sequential()
        for level in range(3):
            self.encoder.extend([nn.Conv2d(widths[level], widths[level + 1], 3, 2, 1), nn.ReLU()])
        for level in (2, 1, 0):
            self.decoder.extend([nn.ConvTranspose2d(widths[level + 1], widths[level], 2, 2), nn.ReLU()])

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(self.encoder(x))


class VAE(nn.Module):
    """`x: [batch, 16]`; gives the mean code's reconstruction, the mean and the log variance."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 8), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(8, 2), nn.Linear(8, 2)
        self.decoder = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 16))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        code = self.encoder(x)
        mean = self.mean(code)
        return self.decoder(mean), mean, self.log_variance(code)


class Siamese(nn.Module):
    """`a, b: [batch, 1, 16, 16]`; the same encoder on both."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 4, 3, 2, 1), nn.ReLU(), nn.Conv2d(4, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1)
        )
        self.head = nn.Linear(32, 1)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.head((self.encoder(a) - self.encoder(b)).abs().flatten(1))


class Gate(nn.Module):
    """What of the skip the lower level asks for."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.from_skip, self.from_below = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.weight = nn.Conv2d(width, 1, 1)

    def forward(self, skip: Tensor, below: Tensor) -> Tensor:
        return skip * self.weight((self.from_skip(skip) + self.from_below(below)).relu()).sigmoid()


class GatedUNet(UNet):
    """`x: [batch, 1, 32, 32]`; every skip goes through a gate."""

    def __init__(self, levels: int = 4, width: int = 4) -> None:
        super().__init__(levels, width=width)
        for level in self.levels:
            self.add_module(f"gate{level}", Gate(width * 2 ** (level - 1)))

    def forward(self, x: Tensor) -> Tensor:
        part = self.get_submodule
        skips = []
        for level in self.levels:
            skips.append(part(f"enc{level}")(x))
            x = part(f"pool{level}")(skips[-1])
        x = self.bottleneck(x)
        for level in reversed(self.levels):
            up = part(f"up{level}")(x)
            x = part(f"dec{level}")(torch.cat([up, part(f"gate{level}")(skips[level - 1], up)], 1))
        return self.head(x)


class SkipWrapper(nn.Module):
    """Concatenates its input with what the inner module makes of it."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.inner(x)], 1)


class WrappedUNet(nn.Sequential):
    """`x: [batch, 1, 16, 16]`; skips are modules around what lies lower."""

    def __init__(self) -> None:
        bottom = SkipWrapper(conv_block(8, 16))
        lower = nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1), bottom, nn.ConvTranspose2d(24, 4, 2, 2))
        super().__init__(nn.Conv2d(1, 4, 3, 2, 1), SkipWrapper(lower), nn.ConvTranspose2d(8, 2, 2, 2))


class SpeechEncoder(nn.Module):
    """`x: [batch, 20 bands, time]`: convolutions along time, then a transformer; a loss is computed aside."""

    def __init__(self, depth: int = 12, width: int = 16) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(20, width, 3, padding=1), nn.Conv1d(width, width, 3, 2, 1)
        self.probe = nn.Linear(width, 3)
        self.layers = nn.ModuleList(TransformerBlock(width) for _ in range(depth))
        self.proj = nn.Linear(width, 30)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv2(self.conv1(x).relu()).relu().transpose(1, 2)
        self.probe(x)
        for layer in self.layers:
            x = layer(x)
        return self.proj(x)


class DeepDecoder(nn.Module):
    """`x: [batch, 3, 64, 64]`: an encoder of many widths and a decoder, each one module, more than fit."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = PyramidEncoder(), PyramidDecoder()
        self.segment = nn.Conv2d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.segment(self.decoder(*self.encoder(x)))


class PyramidEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        widths = [(8, 4, 1), (4, 6, 2), (6, 8, 2), (8, 10, 2), (10, 12, 1), (12, 14, 2), (14, 16, 1)]
        self.blocks = nn.ModuleList(MBConv(a, b, stride) for a, b, stride in widths)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.stem(x)
        found = []
        for block in self.blocks:
            x = block(x)
            found.append(x)
        return [found[i] for i in (6, 4, 2, 1, 0)]


class PyramidDecoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = [(16 + 12, 12), (12 + 8, 8), (8 + 6, 6), (6 + 4, 4)]
        self.blocks = nn.ModuleList(conv_block(a, b) for a, b in widths)
        self.last = conv_block(4, 4)

    def forward(self, x: Tensor, *skips: Tensor) -> Tensor:
        for block, skip in zip(self.blocks, skips, strict=True):
            x = block(torch.cat([nn.functional.interpolate(x, skip.shape[2:]), skip], 1))
        return self.last(nn.functional.interpolate(x, scale_factor=2))


class DiffusionUNet(nn.Module):
    """`x: [batch, 4, 16, 16]`, `time: [batch]`; a vector of the time goes into every block."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.time_embedding = nn.Sequential(nn.Linear(1, 16), nn.SiLU(), nn.Linear(16, 16))
        self.conv_in = nn.Conv2d(4, width, 3, padding=1)
        self.down_blocks = nn.ModuleList(TimedBlock(width, width, "down" if i < 3 else "") for i in range(4))
        self.mid_block = TimedBlock(width, width, "")
        self.up_blocks = nn.ModuleList(TimedBlock(2 * width, width, "up" if i < 3 else "") for i in range(4))
        self.conv_norm_out, self.conv_out = nn.GroupNorm(2, width), nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        code = self.time_embedding(time[:, None])
        x = self.conv_in(x)
        skips = []
        for block in self.down_blocks:
            x, skip = block(x, code)
            skips.append(skip)
        x, _ = self.mid_block(x, code)
        for block in self.up_blocks:
            x, _ = block(torch.cat([x, skips.pop()], 1), code)
        return self.conv_out(self.conv_norm_out(x).relu())


class TimedBlock(nn.Module):
    def __init__(self, channels: int, width: int, resample: str) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(channels, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(16, width)
        self.resample: nn.Module | None = None
        if resample:
            self.resample = nn.Conv2d(width, width, 3, 2, 1) if resample == "down" else nn.Upsample(scale_factor=2)

    def forward(self, x: Tensor, code: Tensor) -> tuple[Tensor, Tensor]:
        y = self.conv1(x).relu() + self.time(code)[:, :, None, None]
        y = self.conv2(y.relu())
        return (y if self.resample is None else self.resample(y)), y


class Functional(nn.Module):
    """Calls no module."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 4))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x, self.weight).relu()


class MLP(nn.Sequential):
    """`x: [batch, 8]`."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(-1))
