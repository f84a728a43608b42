"""Variance, standard deviation and mean over axes."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import is_complex, is_int, upcast
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.axes import Dim, axes
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def moments(x: Array, picked: list[int], keepdim: bool, correction: float) -> tuple[Array, Array]:
    """Compute variance and mean over `picked`, in float32 for 16-bit floats (two passes)."""
    if not picked:
        return _variance_of_one(x, correction), x[...]
    wide = upcast(x)
    n = math.prod(x.shape[a] for a in picked)
    mean = sums.mean(wide, axis=picked, keepdims=True) if n else _mean_of_none(wide, picked)
    squares = sums.total(_squared(wide - mean), axis=picked, keepdims=keepdim)
    variance = _averaged(squares, n, correction)
    if not keepdim:
        mean = mx.squeeze(mean, picked)
    return (variance if is_complex(x) else variance.astype(x.dtype)), mean.astype(x.dtype)


def _variance_of_one(x: Array, correction: float) -> Array:
    return mx.zeros_like(x) if correction == 0 else mx.full(x.shape, math.nan, dtype=x.dtype)


def _mean_of_none(x: Array, picked: list[int]) -> Array:
    shape = [1 if i in picked else n for i, n in enumerate(x.shape)]
    return mx.full(shape, math.nan, dtype=x.dtype)


def _squared(d: Array) -> Array:
    return mx.real(d) ** 2 + mx.imag(d) ** 2 if is_complex(d) else d * d


def _averaged(squares: Array, n: int, correction: float) -> Array:
    """Divide a sum over `n` elements by the degrees of freedom; by 0 where none is left, as torch does."""
    if not n:
        return mx.full(squares.shape, math.nan, dtype=squares.dtype)
    free = max(n - correction, 0)
    return squares / free if free else squares / 0.0


def _correction(correction: Any) -> float:
    return 1 if correction is None else correction


def _floating(x: Array) -> Array:
    if is_int(x):
        raise Decline("std and var only support floating point and complex dtypes")
    return x


@op("var.correction", mlx="mx.var")
def var(x: Array, dim: Dim = None, *, correction: Any = None, keepdim: bool = False) -> Array:
    return moments(_floating(x), axes(x, dim), keepdim, _correction(correction))[0]


@op("std.correction", mlx="mx.std")
def std(x: Array, dim: Dim = None, *, correction: Any = None, keepdim: bool = False) -> Array:
    w = upcast(_floating(x))
    v = mx.sqrt(moments(w, axes(x, dim), keepdim, _correction(correction))[0])
    return v if is_complex(x) else v.astype(x.dtype)


@op("var_mean.correction", mlx="mx.var, mx.mean")
def var_mean(
    x: Array, dim: Dim = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Array, Array]:
    return moments(_floating(x), axes(x, dim), keepdim, _correction(correction))


@op("std_mean.correction", mlx="mx.std, mx.mean")
def std_mean(
    x: Array, dim: Dim = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Array, Array]:
    v, m = moments(upcast(_floating(x)), axes(x, dim), keepdim, _correction(correction))
    s = mx.sqrt(v)
    return (s if is_complex(x) else s.astype(x.dtype)), m.astype(x.dtype)
