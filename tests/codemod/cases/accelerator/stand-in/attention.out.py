"""Attention of a small model."""

import torch
import torch.nn.functional as F

from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, causal=True):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(batch, length, self.heads, -1)
        k = k.view(batch, length, self.heads, -1)
        v = v.view(batch, length, self.heads, -1)
        out = F.scaled_dot_product_attention(
            q.transpose(1, 2),
            k.transpose(1, 2),
            v.transpose(1, 2),
            dropout_p=0.1 if self.training else 0.0,
            is_causal=causal,
        ).transpose(1, 2).contiguous()
        return out.view(batch, length, width)


def packed(qkv, kv):
    q = qkv[:, :, 0]
    one = F.scaled_dot_product_attention(
        *qkv.transpose(1, 3).unbind(2), is_causal=True
    ).transpose(1, 2).contiguous()
    two = F.scaled_dot_product_attention(
        q.transpose(1, 2), *kv.transpose(1, 3).unbind(2), scale=0.5, enable_gqa=True
    ).transpose(1, 2).reshape(q.shape)
    return one + two + F.scaled_dot_product_attention(
        qkv[:, :, 0].transpose(1, 2),
        qkv[:, :, 1].transpose(1, 2),
        qkv[:, :, 2].transpose(1, 2),
        is_causal=True,
    ).transpose(1, 2).contiguous()


def heads_first(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True).transpose(1, 2).contiguous()
