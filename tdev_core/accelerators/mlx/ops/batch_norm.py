"""Batch norm, channels last. Statistics of 16-bit floats are float32; kernels that write running statistics see torch tensors."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import category, to_mx
from tdev_core.accelerators.mlx.layout import first, last
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.activation import wide
from tdev_core.accelerators.mlx.registry import Decline, op
from tdev_core.accelerators.mlx.storage.allocation import wrap
from tdev_core.accelerators.mlx.storage.contents import read, write

Array = Any


def _over(x: Array) -> list[int]:
    """List all axes but the channels', which are last when this is used."""
    if category[x.dtype] != 2 or x.ndim < 2 or not x.size:
        raise Decline("batch norm wants non-empty floating input with at least two dimensions")
    return list(range(x.ndim - 1))


def batch_stats(x: Array, eps: float) -> tuple[Array, Array, Array]:
    """Compute mean, biased variance and inverse standard deviation of each channel."""
    over = _over(x)
    f = wide(last(x))
    mean = sums.mean(f, axis=over)
    var = sums.mean(mx.square(f - mean), axis=over)
    return mean, var, mx.rsqrt(var + eps)


def normalised(
    x: Array, weight: Array | None, bias: Array | None, mean: Array, invstd: Array
) -> Array:
    scale = wide(invstd) if weight is None else wide(invstd) * wide(weight)
    y = (wide(last(x)) - wide(mean)) * scale
    return first((y if bias is None else y + wide(bias)).astype(x.dtype))


def batch_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array | None,
    var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array, Any, Any]:
    """Compute output, saved mean, saved inverse deviation, new running mean and variance (None where there were none)."""
    _over(x)
    if not training:
        if mean is None or var is None:
            raise Decline("evaluation needs running statistics")
        y = normalised(x, weight, bias, mean, mx.rsqrt(wide(var) + eps))
        nothing = mx.zeros((0,), dtype=mx.float32)
        return y, nothing, nothing, mean, var
    m, v, invstd = batch_stats(x, eps)
    n = x.size // x.shape[1]
    new_mean = (
        None if mean is None else ((1 - momentum) * wide(mean) + momentum * m).astype(mean.dtype)
    )
    unbiased = v * (n / (n - 1) if n > 1 else math.nan)
    new_var = (
        None
        if var is None
        else ((1 - momentum) * wide(var) + momentum * unbiased).astype(var.dtype)
    )
    return normalised(x, weight, bias, m, invstd), m, invstd, new_mean, new_var


@op(
    "native_batch_norm",
    "_native_batch_norm_legit",
    mlx="mx.mean, mx.var, mx.rsqrt",
    note="writes the running statistics",
    raw=True,
)
def native_batch_norm(
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    tensors = (x, weight, bias, running_mean, running_var)
    if any(t is not None and t.dtype not in to_mx for t in tensors):
        raise Decline(f"{x.dtype} tensors are kept in host memory")
    a, w, b, mean, var = (None if t is None else read(t) for t in tensors)
    y, m, r, new_mean, new_var = batch_norm(a, w, b, mean, var, training, momentum, eps)
    if training and running_mean is not None:
        write(running_mean, new_mean)
    if training and running_var is not None:
        write(running_var, new_var)
    return wrap(y), wrap(m), wrap(r)


@op("_native_batch_norm_legit.no_stats", mlx="mx.mean, mx.var, mx.rsqrt")
def batch_norm_no_stats(
    x: Array, weight: Array | None, bias: Array | None, training: bool, momentum: float, eps: float
) -> Any:
    return batch_norm(x, weight, bias, None, None, True, momentum, eps)[:3]


@op("_native_batch_norm_legit_functional", mlx="mx.mean, mx.var, mx.rsqrt")
def batch_norm_functional(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    return batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)


@op("_batch_norm_with_update_functional", mlx="mx.mean, mx.var, mx.rsqrt")
def batch_norm_with_update_functional(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    momentum: float,
    eps: float,
) -> Any:
    y, m, r, mean, var = batch_norm(x, weight, bias, running_mean, running_var, True, momentum, eps)
    return y, m, r, mx.zeros((0,), dtype=mx.uint8), mean, var


@op("_batch_norm_no_update", mlx="mx.rsqrt")
def batch_norm_no_update(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    momentum: float,
    eps: float,
) -> Any:
    y, m, r, _, _ = batch_norm(x, weight, bias, running_mean, running_var, False, momentum, eps)
    return y, m, r, mx.zeros((0,), dtype=mx.uint8)


@op("native_batch_norm_backward", mlx="mx.sum, mx.multiply")
def batch_norm_backward(
    g: Array,
    x: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    save_mean: Array | None,
    save_invstd: Array | None,
    train: bool,
    eps: float,
    output_mask: Any,
) -> tuple[Any, Any, Any]:
    over = _over(x)
    if train:
        if save_mean is None or save_invstd is None or not save_mean.size:
            save_mean, _, save_invstd = batch_stats(x, eps)
        m, r = save_mean, save_invstd
    else:
        if running_mean is None or running_var is None:
            raise Decline("evaluation needs running statistics")
        m, r = running_mean, mx.rsqrt(wide(running_var) + eps)
    f, gf = wide(last(x)), wide(last(g))
    r = wide(r)
    hat = (f - wide(m)) * r
    db = sums.total(gf, axis=over)
    dw = sums.total(gf * hat, axis=over)
    dx = None
    if output_mask[0]:
        scale = r if weight is None else r * wide(weight)
        if train:
            n = x.size // x.shape[1]
            dx = scale * (gf - (db + hat * dw) / n)
        else:
            dx = gf * scale
        dx = first(dx.astype(x.dtype))
    kind = x.dtype if weight is None else weight.dtype
    return (
        dx,
        dw.astype(kind) if output_mask[1] else None,
        db.astype(kind) if output_mask[2] else None,
    )
