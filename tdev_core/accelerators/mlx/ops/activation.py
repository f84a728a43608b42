"""Activations and their derivatives. 16-bit floats are computed in float32, as torch's kernels do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.mlx.dtypes import category, is_float
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.axes import axis
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


def floating(*xs: Array) -> Any:
    """Find the one floating dtype of `xs`."""
    dtype = xs[0].dtype
    if category[dtype] != 2 or any(x.dtype != dtype for x in xs):
        raise Decline("one floating dtype is wanted")
    return dtype


def wide(x: Array) -> Array:
    return x.astype(mx.float32) if x.dtype in (mx.float16, mx.bfloat16) else x


def _in_float32(*names: str, mlx: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a kernel whose array arguments share a floating dtype and whose result has it too."""

    def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
        @op(*names, mlx=mlx)
        def run(*args: Any, **kwargs: Any) -> Any:
            arrays = [a for a in args if isinstance(a, mx.array)]
            arrays += [a for a in kwargs.values() if isinstance(a, mx.array)]
            dtype = floating(*arrays)
            if dtype == mx.float32:
                return kernel(*args, **kwargs)
            args = tuple(wide(a) if isinstance(a, mx.array) else a for a in args)
            kwargs = {k: wide(a) if isinstance(a, mx.array) else a for k, a in kwargs.items()}
            r = kernel(*args, **kwargs)
            return tuple(x.astype(dtype) for x in r) if isinstance(r, tuple) else r.astype(dtype)

        return run

    return register


@op("relu", mlx="mx.maximum", float32=lambda x: mx.maximum(x, 0.0))
def relu(x: Array) -> Array:
    if category[x.dtype] in (0, 3):
        raise Decline("relu is for real numbers")
    return mx.maximum(x, mx.array(0, dtype=x.dtype))


@op("threshold", mlx="mx.where")
def threshold(x: Array, threshold: Any, value: Any) -> Array:
    if category[x.dtype] in (0, 3):
        raise Decline("threshold is for real numbers")
    return mx.where(x <= threshold, mx.array(value, dtype=x.dtype), x)


@op("threshold_backward", mlx="mx.where")
def threshold_backward(g: Array, x: Array, threshold: Any) -> Array:
    if g.dtype != x.dtype or category[x.dtype] in (0, 3):
        raise Decline("one real dtype is wanted")
    return mx.where(x <= threshold, mx.zeros_like(g), g)


def _tanh_gelu(x: Array) -> tuple[Array, Array]:
    inner = _SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)
    return mx.tanh(inner), _SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x)


@_in_float32("gelu", mlx="mx.erf")
def gelu(x: Array, *, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return 0.5 * x * (1 + _tanh_gelu(x)[0])
    return x * (1 + mx.erf(x * math.sqrt(0.5))) * 0.5


@_in_float32("gelu_backward", mlx="mx.erf, mx.exp")
def gelu_backward(g: Array, x: Array, *, approximate: str = "none") -> Array:
    if approximate == "tanh":
        t, slope = _tanh_gelu(x)
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    cdf = 0.5 * (1 + mx.erf(x * math.sqrt(0.5)))
    return g * (cdf + x * mx.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)))


@_in_float32("silu", mlx="mx.sigmoid")
def silu(x: Array) -> Array:
    return x * mx.sigmoid(x)


@_in_float32("silu_backward", mlx="mx.sigmoid")
def silu_backward(g: Array, x: Array) -> Array:
    s = mx.sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


@op("sigmoid_backward", mlx="mx.multiply")
def sigmoid_backward(g: Array, y: Array) -> Array:
    y = mx.conjugate(y) if category[y.dtype] == 3 else y
    return g * (y * (1 - y))


@op("tanh_backward", mlx="mx.multiply")
def tanh_backward(g: Array, y: Array) -> Array:
    y = mx.conjugate(y) if category[y.dtype] == 3 else y
    return g * (1 - y * y)


@op("logit_backward", mlx="mx.where")
def logit_backward(g: Array, x: Array, eps: float | None = None) -> Array:
    floating(g, x)
    slope = g / (x * (1 - x))
    if eps is None:
        return mx.where((x < 0) | (x > 1), mx.array(math.nan, dtype=x.dtype), slope)
    return mx.where((x < eps) | (x > 1 - eps), mx.zeros_like(g), slope)


@_in_float32("leaky_relu", mlx="mx.where")
def leaky_relu(x: Array, negative_slope: Any = 0.01) -> Array:
    return mx.where(x > 0, x, x * negative_slope)


@_in_float32("leaky_relu_backward", mlx="mx.where")
def leaky_relu_backward(g: Array, x: Array, negative_slope: Any, self_is_result: bool) -> Array:
    return mx.where(x > 0, g, g * negative_slope)


@_in_float32("elu", mlx="mx.expm1")
def elu(x: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Array:
    low = mx.expm1(mx.minimum(x, 0) * input_scale) * (alpha * scale)
    return mx.where(x > 0, x * scale, mx.where(mx.isnan(x), x, low))


@_in_float32("elu_backward", mlx="mx.exp")
def elu_backward(
    g: Array, alpha: Any, scale: Any, input_scale: Any, is_result: bool, x: Array
) -> Array:
    if is_result:
        low = g * input_scale * (x + alpha * scale)
    else:
        low = g * (input_scale * alpha * scale) * mx.exp(mx.minimum(x, 0) * input_scale)
    return mx.where(x <= 0, low, g * scale)


@op("hardtanh", mlx="mx.clip")
def hardtanh(x: Array, min_val: Any = -1, max_val: Any = 1) -> Array:
    if not is_float(x):
        raise Decline("hardtanh over integers is answered by the CPU")
    return mx.minimum(
        mx.maximum(x, mx.array(min_val, dtype=x.dtype)), mx.array(max_val, dtype=x.dtype)
    )


@_in_float32("hardtanh_backward", mlx="mx.where")
def hardtanh_backward(g: Array, x: Array, min_val: Any, max_val: Any) -> Array:
    return mx.where((x <= min_val) | (x >= max_val), 0.0, g)


@_in_float32("hardswish", mlx="mx.clip")
def hardswish(x: Array) -> Array:
    return x * mx.clip(x + 3, 0, 6) / 6


@_in_float32("hardswish_backward", mlx="mx.where")
def hardswish_backward(g: Array, x: Array) -> Array:
    return mx.where(x <= -3, 0.0, mx.where(x < 3, g * (x / 3 + 0.5), g))


@_in_float32("hardsigmoid", mlx="mx.clip")
def hardsigmoid(x: Array) -> Array:
    return mx.clip(x + 3, 0, 6) / 6


@_in_float32("hardsigmoid_backward", mlx="mx.where")
def hardsigmoid_backward(g: Array, x: Array) -> Array:
    return mx.where((x > -3) & (x < 3), g / 6, 0.0)


@_in_float32("softplus", mlx="mx.logaddexp")
def softplus(x: Array, beta: Any = 1, threshold: Any = 20) -> Array:
    z = x * beta
    return mx.where(z > threshold, x, mx.log1p(mx.exp(mx.minimum(z, threshold))) / beta)


@_in_float32("softplus_backward", mlx="mx.sigmoid")
def softplus_backward(g: Array, x: Array, beta: Any, threshold: Any) -> Array:
    z = x * beta
    return mx.where(z > threshold, g, g * mx.sigmoid(z))


@_in_float32("mish", mlx="mx.tanh, mx.logaddexp")
def mish(x: Array) -> Array:
    return x * mx.tanh(mx.logaddexp(x, mx.zeros_like(x)))


@_in_float32("mish_backward", mlx="mx.tanh, mx.sigmoid")
def mish_backward(g: Array, x: Array) -> Array:
    t = mx.tanh(mx.logaddexp(x, mx.zeros_like(x)))
    return g * (t + x * mx.sigmoid(x) * (1 - t * t))


@_in_float32("log_sigmoid_forward", mlx="mx.logaddexp")
def log_sigmoid_forward(x: Array) -> tuple[Array, Array]:
    z = mx.exp(-mx.abs(x))
    return mx.minimum(x, 0) - mx.log1p(z), z


@_in_float32("log_sigmoid_backward", mlx="mx.sigmoid")
def log_sigmoid_backward(g: Array, x: Array, buffer: Array) -> Array:
    return g * mx.sigmoid(-x)


@_in_float32("_prelu_kernel", mlx="mx.where")
def prelu(x: Array, weight: Array) -> Array:
    return mx.where(x > 0, x, x * weight)


@_in_float32("_prelu_kernel_backward", mlx="mx.where")
def prelu_backward(g: Array, x: Array, weight: Array) -> tuple[Array, Array]:
    return mx.where(x > 0, g, g * weight), mx.where(x > 0, 0.0, g * x)


@_in_float32("glu", mlx="mx.sigmoid")
def glu(x: Array, dim: int = -1) -> Array:
    a = axis(x, dim)
    if not x.ndim or x.shape[a] % 2:
        raise Decline("Halving dimension must be even")
    left, right = mx.split(x, 2, axis=a)
    return left * mx.sigmoid(right)


@_in_float32("glu_backward", mlx="mx.sigmoid")
def glu_backward(g: Array, x: Array, dim: int) -> Array:
    a = axis(x, dim)
    left, right = mx.split(x, 2, axis=a)
    s = mx.sigmoid(right)
    return mx.concatenate([g * s, g * left * s * (1 - s)], axis=a)


@_in_float32("softshrink", mlx="mx.where")
def softshrink(x: Array, lambd: Any = 0.5) -> Array:
    if lambd < 0:
        raise Decline("lambda must be greater or equal to 0")
    return mx.where(
        x > lambd, x - lambd, mx.where(x < -lambd, x + lambd, mx.where(mx.isnan(x), x, 0.0))
    )


@_in_float32("hardshrink", mlx="mx.where")
def hardshrink(x: Array, lambd: Any = 0.5) -> Array:
    return mx.where((x >= -lambd) & (x <= lambd), 0.0, x)


@_in_float32("softshrink_backward", "hardshrink_backward", mlx="mx.where")
def shrink_backward(g: Array, x: Array, lambd: Any) -> Array:
    return mx.where((x >= -lambd) & (x <= lambd), 0.0, g)
