"""Attention of a small model."""

import torch
import torch.nn.functional as F
from flash_attn import flash_attn_func, flash_attn_kvpacked_func, flash_attn_qkvpacked_func

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
        out = flash_attn_func(q, k, v, dropout_p=0.1 if self.training else 0.0, causal=causal)
        return out.view(batch, length, width)


def packed(qkv, kv):
    q = qkv[:, :, 0]
    one = flash_attn_qkvpacked_func(qkv, 0.0, None, True)
    two = flash_attn_kvpacked_func(q, kv, softmax_scale=0.5, window_size=(-1, -1)).reshape(q.shape)
    return one + two + flash_attn_func(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], causal=True)


def heads_first(q, k, v):
    return flash_attn_func(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
