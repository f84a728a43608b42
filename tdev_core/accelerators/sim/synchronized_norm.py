"""The operators that ``torch.nn.SyncBatchNorm`` is made of, which torch has for CUDA alone.

A rank's statistics, those of all ranks gathered, the normalization by them, and the two halves of the gradient. Statistics
are float32 for half-precision inputs, as CUDA accumulates; dimension 1 of an input is the channels'.

Source: ``aten/src/ATen/native/cuda/Normalization.cuh``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api

__all__ = ["install"]

_Pair = tuple[torch.Tensor, torch.Tensor]
_HALVES = (torch.float16, torch.bfloat16)


def _accumulated(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in _HALVES else tensor


def _all_but_channels(tensor: torch.Tensor) -> list[int]:
    return [dim for dim in range(tensor.dim()) if dim != 1]


def _along(channels: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Shape one value for each channel so that it broadcasts over ``like``."""
    return channels.reshape([1, -1] + [1] * (like.dim() - 2))


def _stats(input: torch.Tensor, eps: float) -> _Pair:
    x = _accumulated(input)
    dims = _all_but_channels(x)
    return x.mean(dims), (x.var(dims, correction=0) + eps).rsqrt()


def _gathered(
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    momentum: float,
    eps: float,
    counts: torch.Tensor,
) -> _Pair:
    """Join the ranks' ``mean`` and ``invstd`` (ranks, channels) of ``counts`` values each; updates what runs, in place."""
    weights = counts.to(mean.dtype).reshape(-1, 1)
    total = weights.sum()
    joined = (mean * weights).sum(0) / total
    squares = ((invstd.pow(-2) - eps + (mean - joined).square()) * weights).sum(0)
    if running_mean is not None:
        running_mean.lerp_(joined.to(running_mean.dtype), momentum)
    if running_var is not None:
        running_var.lerp_((squares / (total - 1)).to(running_var.dtype), momentum)
    return joined, (squares / total + eps).rsqrt()


def _gathered_evenly(
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> _Pair:
    counts = mean.new_full((mean.size(0),), count)
    return _gathered(input, mean, invstd, running_mean, running_var, momentum, eps, counts)


def _normalized(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    eps: float,
) -> torch.Tensor:
    result = (_accumulated(input) - _along(mean, input)) * _along(invstd, input)
    if weight is not None:
        result = result * _along(weight, input)
    if bias is not None:
        result = result + _along(bias, input)
    return result.to(input.dtype)


def _normalized_into(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    eps: float,
    *,
    out: torch.Tensor,
) -> torch.Tensor:
    out.resize_(input.shape)
    return out.copy_(_normalized(input, weight, bias, mean, invstd, eps))


def _backward_reduced(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: torch.Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[torch.Tensor | None, ...]:
    """Sum what one rank adds to the gradients; None for each that is not asked for, as CUDA has it."""
    gradient = _accumulated(grad_out)
    dims = _all_but_channels(gradient)
    sum_dy = gradient.sum(dims)
    sum_dy_xmu = (gradient * (_accumulated(input) - _along(mean, input))).sum(dims)
    of_weight = of_bias = None
    if weight is not None and weight_g:
        of_weight = (sum_dy_xmu * invstd).to(weight.dtype)
    if weight is not None and bias_g:
        of_bias = sum_dy.to(weight.dtype)
    return (
        sum_dy if input_g else None,
        sum_dy_xmu if input_g else None,
        of_weight,
        of_bias,
    )


def _backward_of_input(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: torch.Tensor | None,
    sum_dy: torch.Tensor,
    sum_dy_xmu: torch.Tensor,
    count: torch.Tensor,
) -> torch.Tensor:
    total = count.sum()
    centered = _accumulated(input) - _along(mean, input)
    slope = _along(sum_dy_xmu / total * invstd.square(), input)
    scale = invstd if weight is None else invstd * weight
    gradient = _accumulated(grad_out) - _along(sum_dy / total, input) - centered * slope
    return (gradient * _along(scale, input)).to(input.dtype)


def install() -> None:
    """Register them."""
    kernels: dict[str, Callable[..., Any]] = {
        "batch_norm_stats": _stats,
        "batch_norm_gather_stats": _gathered_evenly,
        "batch_norm_gather_stats_with_counts": _gathered,
        "batch_norm_elemt": _normalized,
        "batch_norm_elemt.out": _normalized_into,
        "batch_norm_backward_reduce": _backward_reduced,
        "batch_norm_backward_elemt": _backward_of_input,
    }
    for name, kernel in kernels.items():
        torch_api.implement(f"aten::{name}", kernel)
