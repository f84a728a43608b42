"""Resampling: one small matrix, or one list of places, for each axis; the derivative is the transpose."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from tdev_core.accelerators.mlx.dtypes import category, is_half
from tdev_core.accelerators.mlx.lazy import mx, np
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def along(x: Array, a: int, matrix: Array) -> Array:
    """Apply an (out, in) `matrix` along axis `a`."""
    return mx.moveaxis(mx.matmul(mx.moveaxis(x, a, -1), mx.transpose(matrix)), -1, a)


def _separable(x: Array, matrices: list[Any]) -> Array:
    if category[x.dtype] != 2 or 0 in x.shape:
        raise Decline("resampling wants non-empty floating input")
    wide = x.astype(mx.float32) if is_half(x) else x
    n = len(matrices)
    for i, m in enumerate(matrices):
        wide = along(wide, x.ndim - n + i, mx.array(m))
    return wide.astype(x.dtype)


@lru_cache(maxsize=256)
def _adaptive(size: int, out: int) -> Any:
    m = np.zeros((out, size), dtype=np.float32)
    for i in range(out):
        start, end = i * size // out, -((-(i + 1) * size) // out)
        m[i, start:end] = 1.0 / (end - start)
    return m


def _adaptive_pools(n: int) -> None:
    @op(f"_adaptive_avg_pool{n}d", mlx="mx.matmul", note="mx.mean when the output is one element")
    def adaptive(x: Array, output_size: Any) -> Array:
        if x.ndim not in (n + 1, n + 2) or 0 in output_size:
            raise Decline("unexpected number of dimensions")
        if all(o == 1 for o in output_size) and x.size and category[x.dtype] == 2:
            wide = x.astype(mx.float32) if is_half(x) else x
            return mx.mean(wide, axis=list(range(x.ndim - n, x.ndim)), keepdims=True).astype(
                x.dtype
            )
        return _separable(
            x, [_adaptive(s, o) for s, o in zip(x.shape[-n:], output_size, strict=True)]
        )

    @op(f"_adaptive_avg_pool{n}d_backward", mlx="mx.matmul")
    def backward(g: Array, x: Array) -> Array:
        if all(o == 1 for o in g.shape[-n:]):
            return mx.broadcast_to(g / math.prod(x.shape[-n:]), x.shape)
        return _separable(
            g, [_adaptive(s, o).T.copy() for s, o in zip(x.shape[-n:], g.shape[-n:], strict=True)]
        )


_adaptive_pools(2)
_adaptive_pools(3)


def _scale(size: int, out: int, align: bool, factor: float | None) -> Any:
    if align:
        return np.float32((size - 1) / (out - 1) if out > 1 else 0.0)
    return np.float32(1.0 / factor if factor is not None and factor > 0 else size / out)


@lru_cache(maxsize=256)
def _linear(size: int, out: int, align: bool, factor: float | None) -> Any:
    scale = _scale(size, out, align, factor)
    at = np.arange(out, dtype=np.float32)
    at = (
        at * scale
        if align
        else np.maximum((at + np.float32(0.5)) * scale - np.float32(0.5), np.float32(0))
    )
    low = np.minimum(at.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    f = np.clip(at - low, 0, 1).astype(np.float32)
    m = np.zeros((out, size), dtype=np.float32)
    rows = np.arange(out)
    np.add.at(m, (rows, low), 1 - f)
    np.add.at(m, (rows, high), f)
    return m


@lru_cache(maxsize=256)
def _cubic(size: int, out: int, align: bool, factor: float | None) -> Any:
    scale = _scale(size, out, align, factor)
    at = np.arange(out, dtype=np.float32)
    at = at * scale if align else (at + np.float32(0.5)) * scale - np.float32(0.5)
    low = np.floor(at)
    t = (at - low).astype(np.float32)
    a = np.float32(-0.75)

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    m = np.zeros((out, size), dtype=np.float32)
    rows = np.arange(out)
    for k, weight in zip(
        (-1, 0, 1, 2), (far(t + 1), near(t), near(1 - t), far(2 - t)), strict=True
    ):
        np.add.at(m, (rows, np.clip(low + k, 0, size - 1).astype(np.int64)), weight)
    return m


@lru_cache(maxsize=256)
def _nearest(size: int, out: int, exact: bool, factor: float | None) -> Any:
    scale = _scale(size, out, False, factor)
    at = np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0.0)
    return np.minimum((at * scale).astype(np.int32), size - 1)


def _smooth(name: str, n: int, matrix: Any) -> None:
    @op(name, mlx="mx.matmul")
    def forward(x: Array, output_size: Any, align_corners: bool, *factors: float | None) -> Array:
        if x.ndim != n + 2 or min(output_size) < 1:
            raise Decline("the input does not fit the output size")
        return _separable(
            x,
            [
                matrix(s, o, align_corners, f)
                for s, o, f in zip(x.shape[2:], output_size, _each(factors, n), strict=True)
            ],
        )

    @op(f"{name}_backward", mlx="mx.matmul")
    def backward(
        g: Array, output_size: Any, input_size: Any, align_corners: bool, *factors: float | None
    ) -> Array:
        return _separable(
            g,
            [
                matrix(s, o, align_corners, f).T.copy()
                for s, o, f in zip(input_size[2:], output_size, _each(factors, n), strict=True)
            ],
        )


def _each(factors: tuple[Any, ...], n: int) -> list[Any]:
    return list(factors) + [None] * (n - len(factors))


_smooth("upsample_linear1d", 1, _linear)
_smooth("upsample_bilinear2d", 2, _linear)
_smooth("upsample_trilinear3d", 3, _linear)
_smooth("upsample_bicubic2d", 2, _cubic)


def _nearest_pair(name: str, n: int, exact: bool) -> None:
    @op(name, mlx="mx.take")
    def forward(x: Array, output_size: Any, *factors: float | None) -> Array:
        if x.ndim != n + 2 or 0 in x.shape or min(output_size) < 1:
            raise Decline("the input does not fit the output size")
        for i, (s, o, f) in enumerate(
            zip(x.shape[2:], output_size, _each(factors, n), strict=True)
        ):
            if s != o or f not in (None, 1.0):
                x = mx.take(x, mx.array(_nearest(s, o, exact, f)), axis=2 + i)
        return x

    @op(f"{name}_backward", mlx="array.at.add")
    def backward(g: Array, output_size: Any, input_size: Any, *factors: float | None) -> Array:
        dtype = g.dtype
        g = g.astype(mx.float32) if is_half(g) else g
        for i, (s, o, f) in enumerate(
            zip(input_size[2:], output_size, _each(factors, n), strict=True)
        ):
            shape = [*g.shape[: 2 + i], s, *g.shape[3 + i :]]
            if o == 2 * s and f in (None, 2.0) and not exact:
                g = mx.sum(mx.reshape(g, [*shape[: 3 + i], 2, *shape[3 + i :]]), axis=3 + i)
                continue
            place = mx.array(_nearest(s, o, exact, f))
            g = mx.zeros(shape, dtype=g.dtype).at[(*[slice(None)] * (2 + i), place)].add(g)
        return g.astype(dtype)


for _n in (1, 2, 3):
    _nearest_pair(f"upsample_nearest{_n}d", _n, False)
    _nearest_pair(f"_upsample_nearest_exact{_n}d", _n, True)
