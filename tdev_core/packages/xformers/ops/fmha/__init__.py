"""Stand in for ``xformers.ops.fmha``: attention of (batch, sequence, heads, channels) with biases."""

from __future__ import annotations

import torch

from tdev_core.packages.attention import attend
from tdev_core.packages.lacking import attributes_of, refuse
from tdev_core.packages.xformers.ops.fmha import attn_bias
from tdev_core.packages.xformers.ops.fmha.attn_bias import (
    AttentionBias,
    BlockDiagonalCausalMask,
    BlockDiagonalMask,
    LowerTriangularMask,
    LowerTriangularMaskWithTensorBias,
)

__all__ = [
    "AttentionBias",
    "AttentionOp",
    "AttentionOpBase",
    "BlockDiagonalCausalMask",
    "BlockDiagonalMask",
    "LowerTriangularMask",
    "MemoryEfficientAttentionCkOp",
    "MemoryEfficientAttentionCutlassFwdFlashBwOp",
    "MemoryEfficientAttentionCutlassOp",
    "MemoryEfficientAttentionFlashAttentionOp",
    "MemoryEfficientAttentionSplitKCkOp",
    "attn_bias",
    "memory_efficient_attention",
    "memory_efficient_attention_forward",
]

__getattr__ = attributes_of(__name__)


class AttentionOpBase:
    """Base of the kernels that a program may choose among; here one function computes for all of them."""


class _Forward(AttentionOpBase):
    pass


class _Backward(AttentionOpBase):
    pass


AttentionOp = tuple[type[AttentionOpBase] | None, type[AttentionOpBase] | None]

MemoryEfficientAttentionCkOp: AttentionOp = (_Forward, _Backward)
MemoryEfficientAttentionCutlassFwdFlashBwOp: AttentionOp = (_Forward, _Backward)
MemoryEfficientAttentionCutlassOp: AttentionOp = (_Forward, _Backward)
MemoryEfficientAttentionFlashAttentionOp: AttentionOp = (_Forward, _Backward)
MemoryEfficientAttentionSplitKCkOp: AttentionOp = (_Forward, _Backward)


def memory_efficient_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_bias: torch.Tensor | AttentionBias | None = None,
    p: float = 0.0,
    scale: float | None = None,
    *,
    op: object = None,
    output_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Return softmax(query · key · scale + bias) · value, shape (B, Mq, H, Kv).

    Args:
        query: shape (B, Mq, H, K); or (B, Mq, K), which is one head; or (B, Mq, G, H, K), heads in groups.
        key: shape (B, Mk, H, K), or as the query.
        value: shape (B, Mk, H, Kv), or as the query.
        attn_bias: a tensor of the scores' shape (B, H, Mq, Mk), (B, Mq, Mk) for one head, (B, G, H, Mq, Mk) for groups; or a bias.
        p: the probability with which a weight is dropped.
        scale: what scores are multiplied by; 1/sqrt(K) where it is None.
        op: which of the package's kernels is asked for; torch's own attention computes for each.
        output_dtype: the output's dtype; the query's where it is None.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
        UnsupportedError: a bias of another kind, or keys and values in quantized form.
    """
    _check(query, key, value, attn_bias, p)
    q, k, v = _heads(query), *_fewest(query, key, value)
    bias = attn_bias
    if isinstance(bias, torch.Tensor):
        out = attend(q, k, v, scale=scale, bias=_of_heads(bias, query.dim()), dropout=p)
    elif bias is None:
        out = attend(q, k, v, scale=scale, dropout=p)
    else:
        added = bias._bias if isinstance(bias, LowerTriangularMaskWithTensorBias) else None
        parts = [
            attend(
                q[:, begin:end],
                k[:, start:stop],
                v[:, start:stop],
                scale=scale,
                window=bias.window,
                first=bias.first(end - begin, stop - start),
                bias=None if added is None else _of_heads(added, query.dim()),
                dropout=p,
            )
            for begin, end, start, stop in bias.blocks(q.size(1), k.size(1))
        ]
        out = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
    shaped = out.reshape(*query.shape[:-1], value.size(-1))
    return shaped if output_dtype is None else shaped.to(output_dtype)


memory_efficient_attention_forward = torch.no_grad()(memory_efficient_attention)


def _heads(x: torch.Tensor) -> torch.Tensor:
    """Return ``x`` as (B, M, heads, channels)."""
    return x.unsqueeze(2) if x.dim() == 3 else x.flatten(2, -2)


def _fewest(query: torch.Tensor, *others: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return keys and values with as few heads as they have: a group that was expanded is one head."""
    expanded = query.dim() == 5 and all(x.stride(3) == 0 for x in others)
    return tuple(x[:, :, :, 0] if expanded else _heads(x) for x in others)


def _of_heads(bias: torch.Tensor, dimensions: int) -> torch.Tensor:
    """Return a bias of the scores as (B, heads, Mq, Mk)."""
    return bias.unsqueeze(1) if dimensions == 3 else bias.flatten(1, -3)


def _check(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: object, p: float
) -> None:
    tensors = {"query": query, "key": key, "value": value}
    shapes = ", ".join(f"{name} {tuple(x.shape)}" for name, x in tensors.items())
    if key.dtype == torch.int32:
        refuse("xformers.ops.memory_efficient_attention", "does not take keys and values of int32")
    if query.dim() not in (3, 4, 5) or any(x.dim() != query.dim() for x in (key, value)):
        _fail(f"{shapes}; each must be (B, M, K), (B, M, H, K) or (B, M, G, H, K)")
    same = (
        key.size(0) == value.size(0) == query.size(0)
        and key.size(1) == value.size(1)
        and key.shape[2:-1] == value.shape[2:-1] == query.shape[2:-1]
        and key.size(-1) == query.size(-1)
    )
    if not same:
        _fail(f"{shapes} do not fit each other; xformers broadcasts no heads")
    if not query.device == key.device == value.device:
        _fail(f"query, key and value are on {query.device}, {key.device} and {value.device}")
    if not query.dtype == key.dtype == value.dtype or not query.is_floating_point():
        _fail(f"query, key and value are {query.dtype}, {key.dtype} and {value.dtype}")
    if not 0.0 <= p <= 1.0:
        _fail(f"p is {p}, which is no probability")
    dense = bias._bias if isinstance(bias, LowerTriangularMaskWithTensorBias) else bias
    if isinstance(dense, torch.Tensor):
        if not dense.is_floating_point():
            _fail(
                f"the bias is {dense.dtype}; it is added to the scores: 0 where a key is seen, -inf where not"
            )
        wanted = (query.size(0), *query.shape[2:-1], query.size(1), key.size(1))
        if tuple(dense.shape) != wanted:
            _fail(f"the bias has shape {tuple(dense.shape)}; {wanted} is needed")
    elif isinstance(bias, attn_bias._OfBlocks):
        if query.size(0) != 1:
            _fail(
                f"{shapes}; with {type(bias).__name__} the batch is 1, its sequences one after another"
            )
    elif bias is not None and not isinstance(bias, AttentionBias):
        refuse("xformers.ops.memory_efficient_attention", f"has no bias {type(bias).__qualname__}")


def _fail(why: str) -> None:
    raise ValueError(f"xformers.ops.memory_efficient_attention: {why}")
