"""Fourier transforms. torch gives the scaling as a number: 0 none, 1 by the root of the size, 2 by the size."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.axes import axes
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _scale(sizes: list[int], normalization: int) -> float:
    n = math.prod(sizes)
    return 1.0 if normalization == 0 else n**-0.5 if normalization == 1 else 1.0 / n


def _dims(x: Array, dim: Any, dtype: Any) -> list[int]:
    if x.dtype != dtype or not x.size or not x.ndim:
        raise Decline("transforms of nothing, or of another element type, are answered by the CPU")
    return axes(x, list(dim), empty_means_all=False)


@op("_fft_c2c", mlx="mx.fft.fftn, mx.fft.ifftn")
def c2c(x: Array, dim: Any, normalization: int, forward: bool) -> Array:
    over = _dims(x, dim, mx.complex64)
    if not over:
        return x[...]
    sizes = [x.shape[a] for a in over]
    scale = _scale(sizes, normalization)
    if forward:
        y = mx.fft.fftn(x, axes=over)
    else:
        y, scale = mx.fft.ifftn(x, axes=over), scale * math.prod(sizes)
    return y if scale == 1 else y * scale


@op("_fft_r2c", mlx="mx.fft.rfftn, mx.fft.fftn")
def r2c(x: Array, dim: Any, normalization: int, onesided: bool) -> Array:
    over = _dims(x, dim, mx.float32)
    scale = _scale([x.shape[a] for a in over], normalization)
    y = mx.fft.rfftn(x, axes=over) if onesided else mx.fft.fftn(x.astype(mx.complex64), axes=over)
    return y if scale == 1 else y * scale


@op("_fft_c2r", mlx="mx.fft.irfftn")
def c2r(x: Array, dim: Any, normalization: int, last_dim_size: int) -> Array:
    over = _dims(x, dim, mx.complex64)
    sizes = [x.shape[a] for a in over[:-1]] + [last_dim_size]
    if last_dim_size < 1:
        raise Decline("Invalid number of data points")
    y = mx.fft.irfftn(x, s=sizes, axes=over)
    scale = _scale(sizes, normalization) * math.prod(sizes)
    return y if scale == 1 else y * scale
