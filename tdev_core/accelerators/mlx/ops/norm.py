"""Normalisation. Statistics of 16-bit floats are float32."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import category
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.activation import wide
from tdev_core.accelerators.mlx.ops.moments import moments
from tdev_core.accelerators.mlx.registry import Decline, op
from tdev_core.accelerators.mlx.storage.allocation import defer, wrap
from tdev_core.accelerators.mlx.storage.contents import read

Array = Any


def _flat(x: Array, shape: Any, *params: Array | None) -> tuple[int, Array, list[Array | None]]:
    shape = tuple(shape)
    n = math.prod(shape)
    if category[x.dtype] != 2 or not shape or x.shape[-len(shape) :] != shape or not x.size:
        raise Decline("expected a non-empty floating input that ends in normalized_shape")
    if any(p is not None and p.shape != shape for p in params):
        raise Decline("expected weight and bias of normalized_shape")
    return (
        n,
        mx.reshape(x, (-1, n)),
        [None if p is None else mx.reshape(wide(p), (n,)) for p in params],
    )


def layer_norm(
    x: Array, shape: Any, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """Compute ``native_layer_norm`` over arrays, for compiled graphs: output, mean, reciprocal deviation."""
    n, flat, (w, b) = _flat(x, shape, weight, bias)
    f = wide(flat)
    y = mx.reshape(_layer_norm(f, w, b, eps), x.shape).astype(x.dtype)
    return y, *layer_stats(x, shape, eps)


def _layer_norm(rows: Array, weight: Array | None, bias: Array | None, eps: float) -> Array:
    """Normalise each row; MLX's function adds up a row as its sums do."""
    if sums.are_exact(rows.shape[-1]):
        return mx.fast.layer_norm(rows, weight, bias, eps)
    var, mean = moments(rows, [rows.ndim - 1], True, 0)
    y = (rows - mean) * mx.rsqrt(var + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def layer_stats(x: Array, shape: Any, eps: float) -> tuple[Array, Array]:
    """Compute mean and reciprocal deviation of each row."""
    f = wide(mx.reshape(x, (-1, math.prod(shape))))
    rows = (*x.shape[: x.ndim - len(shape)], *[1] * len(shape))
    var, mean = moments(f, [1], False, 0)
    return mx.reshape(mean, rows).astype(x.dtype), mx.reshape(mx.rsqrt(var + eps), rows).astype(
        x.dtype
    )


@op(
    "native_layer_norm",
    mlx="mx.fast.layer_norm",
    note="mean and deviation are computed when they are looked at; the derivative does not",
    raw=True,
)
def native_layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    a = read(x)
    w, b = (None if t is None else read(t) for t in (weight, bias))
    if w is not None and a.dtype == w.dtype == mx.float32 and len(shape) == 1 and a.size:
        _flat_check(a, shape, w, b)
        y = _layer_norm(a, w, b, eps)
    else:
        y = layer_norm(a, shape, w, b, eps)[0]
    rows = (*x.shape[: x.dim() - len(shape)], *[1] * len(shape))
    found: list[Any] = []

    def stat(i: int) -> Any:
        if not found:
            found.extend(layer_stats(a, shape, eps))
        return found[i]

    mean, rstd = defer(rows, x.dtype, lambda: stat(0)), defer(rows, x.dtype, lambda: stat(1))
    rstd.untyped_storage()._eps = eps  # type: ignore[attr-defined]
    return wrap(y), mean, rstd


def _flat_check(x: Array, shape: Any, *params: Array | None) -> None:
    shape = tuple(shape)
    if x.shape[-len(shape) :] != shape or any(p is not None and p.shape != shape for p in params):
        raise Decline("expected an input that ends in normalized_shape, and weight and bias of it")


@op("native_layer_norm_backward", mlx="mx.vjp of mx.fast.layer_norm", raw=True)
def native_layer_norm_backward(
    g: Any, x: Any, shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any, output_mask: Any
) -> Any:
    ga, a = read(g), read(x)
    w, b = (None if t is None else read(t) for t in (weight, bias))
    eps = getattr(rstd.untyped_storage(), "_eps", None)
    if eps is None or w is None or b is None or not ga.dtype == a.dtype == w.dtype == b.dtype:
        eps = None
    one = a.dtype == mx.float32 and len(shape) == 1
    if eps is None or not one or not sums.are_exact(a.size // a.shape[-1]):
        found = layer_norm_backward(ga, a, shape, read(mean), read(rstd), w, b, output_mask)
        return tuple(None if r is None else wrap(r) for r in found)
    _, grads = mx.vjp(lambda f, s, o: mx.fast.layer_norm(f, s, o, eps), [a, w, b], [ga])
    return tuple(wrap(r) if wanted else None for r, wanted in zip(grads, output_mask, strict=True))


def layer_norm_backward(
    g: Array,
    x: Array,
    shape: Any,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    bias: Array | None,
    output_mask: Any,
) -> tuple[Any, Any, Any]:
    n, flat, (w, b) = _flat(x, shape, weight, bias)
    f, g2 = wide(flat), mx.reshape(wide(g), (-1, n))
    m, r = mx.reshape(wide(mean), (-1, 1)), mx.reshape(wide(rstd), (-1, 1))
    hat = (f - m) * r
    dx = dw = db = None
    if output_mask[0]:
        gw = g2 if w is None else g2 * w
        dx = r * (
            gw
            - sums.mean(gw, axis=-1, keepdims=True)
            - hat * sums.mean(gw * hat, axis=-1, keepdims=True)
        )
        dx = mx.reshape(dx, x.shape).astype(x.dtype)
    if output_mask[1] and weight is not None:
        dw = mx.reshape(sums.total(g2 * hat, axis=0), weight.shape).astype(weight.dtype)
    if output_mask[2] and bias is not None:
        db = mx.reshape(sums.total(g2, axis=0), bias.shape).astype(bias.dtype)
    return dx, dw, db


@op("_fused_rms_norm", mlx="mx.fast.rms_norm")
def rms_norm(x: Array, shape: Any, weight: Array | None, eps: float | None) -> tuple[Array, Array]:
    n, flat, (w,) = _flat(x, shape, weight)
    eps = float(mx.finfo(x.dtype).eps) if eps is None else eps
    f = wide(flat)
    rstd = mx.rsqrt(sums.mean(f * f, axis=-1) + eps)
    y = mx.fast.rms_norm(f, w, eps)
    return mx.reshape(y, x.shape).astype(x.dtype), mx.reshape(
        rstd, (*x.shape[: x.ndim - len(shape)], *[1] * len(shape))
    )


@op("_fused_rms_norm_backward", mlx="mx.multiply, mx.mean")
def rms_norm_backward(
    g: Array, x: Array, shape: Any, rstd: Array, weight: Array | None, output_mask: Any
) -> tuple[Any, Any]:
    n, flat, (w,) = _flat(x, shape, weight)
    f, g2, r = wide(flat), mx.reshape(wide(g), (-1, n)), mx.reshape(wide(rstd), (-1, 1))
    hat = f * r
    dx = dw = None
    if output_mask[0]:
        gw = g2 if w is None else g2 * w
        dx = mx.reshape(
            r * (gw - hat * sums.mean(gw * hat, axis=-1, keepdims=True)), x.shape
        ).astype(x.dtype)
    if output_mask[1] and weight is not None:
        dw = mx.reshape(sums.total(g2 * hat, axis=0), weight.shape).astype(weight.dtype)
    return dx, dw


GRAPH: dict[str, Any] = {
    "native_layer_norm.default": layer_norm,
    "native_layer_norm_backward.default": layer_norm_backward,
}
"""aten overload -> kernel over arrays, for compiled graphs, where the eager row takes tensors."""
