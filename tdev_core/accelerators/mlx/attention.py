"""``scaled_dot_product_attention`` kept whole, on MLX's fused kernel.

torch would choose among its own fused kernels by device, and otherwise compose the operator from matrix products; a kernel
on the autograd key sees it first.  The work is done by two operators of our own, so that compiled graphs keep it whole
too.  Dropout, and everything else that MLX's kernel does not take, is composed as torch composes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tdev_core.accelerators.mlx.dispatch import wrappers
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.table import WHOLE
from tdev_core.accelerators.privateuse import torch_api

__all__ = ["GRAPH", "attention", "install"]

Array = Any

_SCHEMAS = (
    "attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale) -> Tensor",
    "attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale) "
    "-> (Tensor, Tensor, Tensor)",
)


def forward(
    query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float
) -> Array:
    """Compute attention over arrays of shape (batch, heads, length, width)."""
    kind = mask if mask is not None else "causal" if causal else None
    return mx.fast.scaled_dot_product_attention(query, key, value, scale=scale, mask=kind)


def backward(
    grad: Array,
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    causal: bool,
    scale: float,
) -> tuple[Array, ...]:
    """Compute the gradients of query, key and value, by MLX's own derivative of its kernel."""
    return tuple(
        mx.vjp(lambda q, k, v: forward(q, k, v, mask, causal, scale), [query, key, value], [grad])[
            1
        ]
    )


GRAPH = {"tdev_mlx::attention.default": forward, "tdev_mlx::attention_backward.default": backward}
"""Kernels for compiled graphs."""

_library: Any = None


def install() -> None:
    """Define the two operators and put `attention` on the autograd key."""
    global _library

    _library = torch.library.Library("tdev_mlx", "DEF")
    for schema in _SCHEMAS:
        _library.define(schema)
    ops = torch.ops.tdev_mlx
    _library.impl("attention", wrappers.functional(ops.attention.default, forward), "PrivateUse1")
    _library.impl(
        "attention_backward",
        wrappers.functional(ops.attention_backward.default, backward),
        "PrivateUse1",
    )
    _library.impl("attention", _shape_forward, "Meta")
    _library.impl("attention_backward", _shape_backward, "Meta")
    (overload,) = WHOLE
    name = f"aten::{overload.removesuffix('.default')}"
    torch_api.implement(name, attention, "AutogradPrivateUse1")
    torch_api.implement(name, attention)


def _shape_forward(query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float) -> Any:
    return query.new_empty((*query.shape[:3], value.shape[3]))


def _shape_backward(
    grad: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float
) -> Any:
    return tuple(t.new_empty(t.shape) for t in (query, key, value))


_C: Any = torch._C


def _check(query: Any, key: Any, value: Any, mask: Any) -> None:
    """Refuse what torch refuses before it chooses a kernel, in its words.

    Source: ``validate_sdpa_input`` in ``aten/src/ATen/native/transformers/attention.cpp``.
    """
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if mask is not None and mask.dtype not in (torch.bool, torch.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {mask.dtype} and  query.dtype: {query.dtype} instead."
        )
    # The fused kernel here is none of torch's: a program that allows any kernel is served by it.
    if not (
        _C._get_math_sdp_enabled()
        or _C._get_flash_sdp_enabled()
        or _C._get_mem_efficient_sdp_enabled()
        or _C._get_cudnn_sdp_enabled()
    ):
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to "
            "turning off both the math kernel and the fused kernels."
        )


_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def _fits(query: Any, key: Any, value: Any, mask: Any, causal: bool, gqa: bool) -> bool:
    if not query.dim() == key.dim() == value.dim() == 4 or query.dtype not in _FLOATS:
        return False
    if not (
        query.dtype is key.dtype is value.dtype and query.shape[0] == key.shape[0] == value.shape[0]
    ):
        return False
    if (
        query.shape[3] != key.shape[3]
        or key.shape[1:3] != value.shape[1:3]
        or 0 in (*query.shape, *key.shape, *value.shape)
    ):
        return False
    heads = query.shape[1] % key.shape[1] == 0 if gqa else query.shape[1] == key.shape[1]
    if not heads or (causal and (mask is not None or query.shape[2] != key.shape[2])):
        return False
    return mask is None or (
        mask.dtype is query.dtype
        and mask.device == query.device
        and not mask.requires_grad
        and mask.numel() > 0
        and _covers(mask.shape, (*query.shape[:3], key.shape[2]))
    )


def _covers(mask: Sequence[int], scores: Sequence[int]) -> bool:
    pairs = zip(reversed(mask), reversed(scores), strict=False)
    return len(mask) <= len(scores) and all(m in (1, n) for m, n in pairs)


class _Attention(torch.autograd.Function):
    """Once differentiable by MLX; through torch's composition where the gradient must be differentiated again."""

    @staticmethod
    def forward(
        ctx: Any, query: Any, key: Any, value: Any, mask: Any, causal: bool, scale: float
    ) -> Any:
        ctx.save_for_backward(query, key, value, mask)
        ctx.causal, ctx.scale = causal, scale
        return torch.ops.tdev_mlx.attention(query, key, value, mask, causal, scale)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        query, key, value, mask = ctx.saved_tensors
        if torch.is_grad_enabled():
            out = composed(
                query, key, value, mask, 0.0, ctx.causal, ctx.scale, query.shape[1] != key.shape[1]
            )
            wanted = [
                t for t, n in zip((query, key, value), ctx.needs_input_grad, strict=False) if n
            ]
            found = iter(torch.autograd.grad(out, wanted, grad, create_graph=True))
            return (
                *(next(found) if n else None for n in ctx.needs_input_grad[:3]),
                None,
                None,
                None,
            )
        grads = torch.ops.tdev_mlx.attention_backward(
            grad, query, key, value, mask, ctx.causal, ctx.scale
        )
        return (
            *(g if n else None for g, n in zip(grads, ctx.needs_input_grad, strict=False)),
            None,
            None,
            None,
        )


def composed(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    dropout_p: float,
    causal: bool,
    scale: float | None,
    gqa: bool = False,
) -> Any:
    """Compute attention from matrix products, differentiable any number of times."""
    if mask is not None and mask.dtype is torch.bool:
        mask = torch.zeros(mask.shape, dtype=query.dtype, device=query.device).masked_fill(
            ~mask, -math.inf
        )
    math_ = torch.ops.aten._scaled_dot_product_attention_math
    return math_(query, key, value, mask, dropout_p, causal, scale=scale, enable_gqa=gqa)[0]


def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
              scale: float | None = None, enable_gqa: bool = False) -> Any:  # fmt: skip
    """Answer ``aten::scaled_dot_product_attention`` on the autograd key of the device."""
    _check(query, key, value, attn_mask)
    if dropout_p == 0.0 and _fits(query, key, value, attn_mask, is_causal, enable_gqa):
        factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        if torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value)):
            return _Attention.apply(query, key, value, attn_mask, is_causal, factor)  # type: ignore[no-untyped-call]
        return torch.ops.tdev_mlx.attention(query, key, value, attn_mask, is_causal, factor)
    return composed(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
