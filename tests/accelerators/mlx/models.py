"""Small models of the kinds people train, and one way to train them on any device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        q, k, v = (
            self.qkv(self.norm1(x))
            .view(b, t, 3, self.heads, d // self.heads)
            .permute(2, 0, 3, 1, 4)
        )
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d)
        x = x + self.out(a)
        down: Tensor = self.down(F.gelu(self.up(self.norm2(x))))
        return x + down


class GPT(nn.Module):
    """Decoder with tied embeddings."""

    def __init__(
        self,
        vocabulary: int = 50,
        width: int = 32,
        layers: int = 2,
        heads: int = 4,
        length: int = 16,
    ) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, i: Tensor) -> Tensor:
        x = self.tokens(i) + self.places(torch.arange(i.shape[1], device=i.device))
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.head(self.norm(x))
        return out


class ResNet(nn.Module):
    """Strided stem with max pooling, one residual block with batch norm, global average pooling."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.stem, self.norm0 = nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width)
        self.conv1, self.norm1 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.down, self.head = nn.Conv2d(width, 2 * width, 1, 2), nn.Linear(2 * width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm0(self.stem(x))), 3, 2, 1)
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        x = F.relu(x + y)
        out: Tensor = self.head(F.adaptive_avg_pool2d(self.down(x), 1).flatten(1))
        return out


class ViT(nn.Module):
    """Patches, a class token, torch's own encoder layers."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 32, 8, 8)
        self.token, self.places = (
            nn.Parameter(torch.zeros(1, 1, 32)),
            nn.Parameter(torch.randn(1, 17, 32) * 0.02),
        )
        layer = nn.TransformerEncoderLayer(
            32, 4, 64, 0.0, F.gelu, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        out: Tensor = self.head(self.encoder(x)[:, 0])
        return out


class Tagger(nn.Module):
    """Two bidirectional LSTM layers and a GRU."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(30, 16)
        self.lstm = nn.LSTM(16, 16, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(32, 16, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, i: Tensor) -> Tensor:
        out: Tensor = self.head(self.gru(self.lstm(self.tokens(i))[0])[0])
        return out


class UNet(nn.Module):
    """One level down and up, group norm, a time embedding: the network of a diffusion step."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm1 = nn.Conv2d(3, 16, 3, 1, 1), nn.GroupNorm(4, 16)
        self.down, self.norm2 = nn.Conv2d(16, 32, 3, 2, 1), nn.GroupNorm(4, 32)
        self.up, self.last, self.time = (
            nn.ConvTranspose2d(32, 16, 2, 2),
            nn.Conv2d(32, 3, 1),
            nn.Linear(16, 32),
        )

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        a = F.silu(self.norm1(self.first(x)))
        angles = t[:, None].float() * torch.exp(-torch.arange(8, device=x.device) / 8 * 4.0)
        e = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        b = F.silu(self.norm2(self.down(a))) + e[:, :, None, None]
        b = F.interpolate(b, scale_factor=2.0, mode="nearest")
        b = F.interpolate(b, scale_factor=0.5, mode="bilinear")
        out: Tensor = self.last(torch.cat([self.up(b), a], 1))
        return out


MODELS: dict[str, Callable[[], nn.Module]] = {
    "gpt": GPT, "resnet": ResNet, "vit": ViT, "tagger": Tagger, "diffusion": UNet,
}  # fmt: skip


def loss(name: str, model: Any, device: str) -> Tensor:
    """One batch of random data, the same on every device."""
    g = torch.Generator().manual_seed(1)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g).to(device)

    def classes(n: int, *shape: int) -> Tensor:
        return torch.randint(0, n, shape, generator=g).to(device)

    if name == "gpt":
        i = classes(50, 4, 16)
        return F.cross_entropy(model(i).flatten(0, 1), i.roll(-1, 1).flatten())
    if name in ("resnet", "vit"):
        return F.cross_entropy(model(numbers(4, 3, 32, 32)), classes(10, 4), label_smoothing=0.1)
    if name == "tagger":
        return F.cross_entropy(model(classes(30, 4, 7)).flatten(0, 1), classes(5, 28))
    clean, noise, t = numbers(2, 3, 16, 16), numbers(2, 3, 16, 16), classes(100, 2)
    kept = torch.linspace(0.99, 0.01, 100, device=device)[t][:, None, None, None]
    return F.mse_loss(model(kept.sqrt() * clean + (1 - kept).sqrt() * noise, t), noise)


def losses(
    name: str, device: str, *, steps: int = 4, fused: bool = False, compiled: bool = False
) -> list[float]:
    """The losses of a few AdamW steps with clipped gradients."""
    torch.manual_seed(0)
    model = MODELS[name]().to(device)
    run: Any = torch.compile(model, backend="mlx") if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=fused)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(name, run, device)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append(value.item())
    return found
