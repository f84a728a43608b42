# ruff: noqa
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Attention(nn.Module):
    scale: Tensor

    def __init__(self, width: int, heads: int, device: torch.device | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, device=device)
        self.register_buffer("scale", torch.ones(1, device=device))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        out: int = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # wrong on purpose
        return out * self.scale
