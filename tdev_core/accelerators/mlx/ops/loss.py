"""Losses and their derivatives. `reduction` is torch's number: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.mlx.bounds import check, refuse
from tdev_core.accelerators.mlx.dtypes import category
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.activation import floating, wide
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def reduced(x: Array, reduction: int) -> Array:
    if reduction == 0:
        return x
    return (
        sums.total(x) / x.size
        if reduction == 1 and x.size
        else sums.total(x) / (0.0 if reduction == 1 else 1.0)
    )


def _share(g: Array, reduction: int, n: int) -> Array:
    return g / n if reduction == 1 else g


def _loss(name: str, value: Callable[..., Array], slope: Callable[..., Array], mlx: str) -> None:
    @op(name, mlx=mlx)
    def forward(x: Array, target: Array, reduction: int = 1, *args: Any) -> Array:
        dtype = floating(x, target)
        return reduced(value(wide(x), wide(target), *args), reduction).astype(dtype)

    @op(f"{name}_backward", mlx=mlx)
    def backward(g: Array, x: Array, target: Array, reduction: int, *args: Any) -> Array:
        dtype = floating(g, x, target)
        d = slope(wide(x), wide(target), *args)
        r = _share(wide(g), reduction, d.size) * d
        return mx.broadcast_to(r, d.shape).astype(dtype)


def _smooth(x: Array, target: Array, beta: float = 1.0) -> Array:
    z = mx.abs(x - target)
    return mx.where(z < beta, 0.5 * z * z / beta, z - 0.5 * beta) if beta else z


def _smooth_slope(x: Array, target: Array, beta: float = 1.0) -> Array:
    d = x - target
    return mx.where(mx.abs(d) < beta, d / beta, mx.sign(d)) if beta else mx.sign(d)


def _huber(x: Array, target: Array, delta: float = 1.0) -> Array:
    z = mx.abs(x - target)
    return mx.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta))


def _huber_slope(x: Array, target: Array, delta: float = 1.0) -> Array:
    return mx.minimum(mx.maximum(x - target, -delta), delta)


_loss("mse_loss", lambda x, t: mx.square(x - t), lambda x, t: 2 * (x - t), "mx.square")
_loss("smooth_l1_loss", _smooth, _smooth_slope, "mx.where")
_loss("huber_loss", _huber, _huber_slope, "mx.where")
_loss(
    "soft_margin_loss",
    lambda x, t: mx.logaddexp(-t * x, mx.zeros_like(x)),
    lambda x, t: -t * mx.sigmoid(-t * x),
    "mx.logaddexp",
)


@op("binary_cross_entropy", mlx="mx.log")
def bce(x: Array, target: Array, weight: Array | None = None, reduction: int = 1) -> Array:
    dtype = floating(x, target)
    if x.size:
        refuse((x < 0) | (x > 1), RuntimeError("all elements of input should be between 0 and 1"))
    p, t = wide(x), wide(target)
    loss = (t - 1) * mx.maximum(mx.log1p(-p), -100) - t * mx.maximum(mx.log(p), -100)
    return reduced(loss if weight is None else loss * wide(weight), reduction).astype(dtype)


@op("binary_cross_entropy_backward", mlx="mx.divide")
def bce_backward(
    g: Array, x: Array, target: Array, weight: Array | None = None, reduction: int = 1
) -> Array:
    dtype = floating(g, x, target)
    p, t = wide(x), wide(target)
    d = (p - t) / mx.maximum((1 - p) * p, 1e-12)
    r = _share(wide(g), reduction, d.size) * (d if weight is None else d * wide(weight))
    return mx.broadcast_to(r, p.shape).astype(dtype)


@op("binary_cross_entropy_with_logits", mlx="mx.logaddexp")
def bce_logits(
    x: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
    reduction: int = 1,
) -> Array:
    dtype = floating(x, target)
    z, t = wide(x), wide(target)
    log_sigmoid = mx.minimum(z, 0) - mx.log1p(mx.exp(-mx.abs(z)))
    scale = 1 if pos_weight is None else (wide(pos_weight) - 1) * t + 1
    loss = (1 - t) * z - scale * log_sigmoid
    return reduced(loss if weight is None else loss * wide(weight), reduction).astype(dtype)


# --- negative log likelihood -----------------------------------------------------------------------


def _classes(
    x: Array, target: Array, weight: Array | None, ignore_index: int, a: int
) -> tuple[Array, Array, Array]:
    """Find safe class numbers, which of them count, and their weights (both with the class axis kept)."""
    if category[target.dtype] != 1:
        raise Decline("expected an integer target")
    n = x.shape[a]
    counts = target != ignore_index
    check(mx.where(counts, target, mx.zeros_like(target)), n)
    safe = mx.where(counts, target, mx.zeros_like(target))
    w = counts.astype(mx.float32)
    if weight is not None:
        if weight.shape != (n,):
            raise Decline("weight tensor should be defined either for all classes or no classes")
        w = w * mx.take(wide(weight), safe)
    return safe, counts, w


def _nll(
    x: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int, a: int
) -> tuple[Array, Array]:
    dtype = floating(x) if weight is None else floating(x, weight)
    if target.ndim != x.ndim - 1 or target.shape != (*x.shape[:a], *x.shape[a + 1 :]):
        raise Decline("target does not fit the input")
    safe, counts, w = _classes(x, target, weight, ignore_index, a)
    picked = mx.squeeze(mx.take_along_axis(wide(x), mx.expand_dims(safe, a), axis=a), a)
    loss = mx.where(counts, -picked * w, 0.0)
    if reduction == 0:
        return loss.astype(dtype), mx.zeros((), dtype=dtype)
    total = sums.total(w)
    value = sums.total(loss)
    return (value / total if reduction == 1 else value).astype(dtype), total.astype(dtype)


def _nll_backward(
    g: Array,
    x: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total: Array,
    a: int,
) -> Array:
    dtype = floating(x)
    safe, counts, w = _classes(x, target, weight, ignore_index, a)
    scale = -w * wide(g) / (wide(total) if reduction == 1 else 1)
    scale = mx.where(counts, scale, 0.0)
    shape = [1] * x.ndim
    shape[a] = x.shape[a]
    hot = mx.reshape(mx.arange(x.shape[a], dtype=safe.dtype), shape) == mx.expand_dims(safe, a)
    return mx.where(hot, mx.expand_dims(scale, a), 0.0).astype(dtype)


@op("nll_loss_forward", mlx="mx.take_along_axis")
def nll_loss(
    x: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    if x.ndim not in (1, 2):
        raise Decline("input tensor should be 1D or 2D")
    if not x.size:
        raise Decline("an empty loss")
    return _nll(x, target, weight, reduction, ignore_index, x.ndim - 1)


@op("nll_loss_backward", mlx="mx.where")
def nll_loss_backward(
    g: Array,
    x: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    return _nll_backward(g, x, target, weight, reduction, ignore_index, total_weight, x.ndim - 1)


@op("nll_loss2d_forward", mlx="mx.take_along_axis")
def nll_loss2d(
    x: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    if x.ndim != 4 or not x.size:
        raise Decline("only batches of spatial targets supported")
    return _nll(x, target, weight, reduction, ignore_index, 1)


@op("nll_loss2d_backward", mlx="mx.where")
def nll_loss2d_backward(
    g: Array,
    x: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    return _nll_backward(g, x, target, weight, reduction, ignore_index, total_weight, 1)
