"""Matrix products. 16-bit floats accumulate as MLX's own kernels do; integers are multiplied in float64's range or not at all."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import category, is_complex, is_half, is_int, scalar_like
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any
_TERMS = 1 << 13  # of a product's element: MLX adds them in one row on a processor, see `sums`


def _second(b: Array, rows: int) -> Array:
    """Give the second factor as it is best given to MLX, `rows` being the rows of the first.

    The BLAS in MLX's build for Linux does not vectorise the loop over a transposed second factor: a product takes twice
    as long as one with a copy of it.  On Metal both are equal.
    """
    return mx.contiguous(b) if rows >= 16 and runtime.on_cpu else b


def _rows(a: Array) -> int:
    return int(a.size // a.shape[-1])


def _multiplied(a: Array, b: Array, rows: int) -> Array:
    """Multiply floats; the terms of an element of the result, where they are many, in blocks that are then added."""
    n = a.shape[-1]
    if n <= _TERMS or not runtime.on_cpu or a.ndim != b.ndim:
        return mx.matmul(a, _second(b, rows))
    whole, rest = n - n % _TERMS, None
    if whole < n:
        (a, a_rest), (b, b_rest) = mx.split(a, [whole], axis=-1), mx.split(b, [whole], axis=-2)
        rest = mx.matmul(a_rest, b_rest)
    blocks = (whole // _TERMS, _TERMS)
    r = mx.matmul(mx.swapaxes(mx.unflatten(a, -1, blocks), -2, -3), mx.unflatten(b, -2, blocks))
    r = sums.total(r, axis=-3)
    return r if rest is None else r + rest


def product(a: Array, b: Array) -> Array:
    """Compute ``a @ b`` over the last two axes, for every element type; both must have the same.

    MLX multiplies floats and complex64 only; integers go by broadcasting and a sum, which is exact.
    """
    if a.dtype != b.dtype:
        raise Decline(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")
    if a.shape[-1] != b.shape[-2]:
        raise Decline("mat1 and mat2 shapes cannot be multiplied")
    if 0 in (*a.shape, *b.shape):
        shape = (*a.shape[:-1], b.shape[-1]) if a.ndim == b.ndim else None
        if shape is None:
            raise Decline("an empty product with broadcasting")
        return mx.zeros(shape, dtype=a.dtype)
    if not is_int(a):
        return _multiplied(a, b, a.shape[-2])
    if a.dtype == mx.bool_:
        raise Decline("matrix products of bool are not implemented")
    if math.prod(a.shape) * b.shape[-1] > 1 << 26:
        raise Decline("an integer product of this size would need too much memory")
    r = mx.sum(mx.expand_dims(a, -1) * mx.expand_dims(b, -3), axis=-2)
    return r if r.dtype == a.dtype else r.astype(a.dtype)


def _mm_float32(a: Array, b: Array) -> Array:
    if a.ndim != 2 or b.ndim != 2 or not a.size or not b.size:
        raise Decline("not two matrices with elements")
    return _multiplied(a, b, _rows(a))


@op("mm", mlx="mx.matmul", float32=_mm_float32)
def mm(a: Array, b: Array) -> Array:
    if a.ndim != 2 or b.ndim != 2:
        raise Decline("mm wants two matrices")
    return product(a, b)


@op("bmm", mlx="mx.matmul")
def bmm(a: Array, b: Array) -> Array:
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0]:
        raise Decline("bmm wants two batches of equally many matrices")
    return product(a, b)


@op("mv", mlx="mx.matmul")
def mv(a: Array, v: Array) -> Array:
    if a.ndim != 2 or v.ndim != 1 or a.shape[1] != v.shape[0]:
        raise Decline("mv wants a matrix and a vector that fit")
    return product(a, mx.expand_dims(v, 1))[:, 0]


@op("dot", mlx="mx.inner")
def dot(a: Array, b: Array) -> Array:
    if a.ndim != 1 or b.ndim != 1 or a.shape != b.shape or a.dtype != b.dtype:
        raise Decline("dot wants two vectors of one length and dtype")
    if a.dtype == mx.bool_:
        raise Decline("dot is not defined for bool")
    if is_int(a):
        return mx.sum(a * b).astype(a.dtype)
    return product(mx.expand_dims(a, 0), mx.expand_dims(b, 1))[0, 0]


@op("vdot", mlx="mx.inner, mx.conjugate")
def vdot(a: Array, b: Array) -> Array:
    return dot(mx.conjugate(a) if is_complex(a) else a, b)


def scaled(bias: Array, r: Array, beta: Any, alpha: Any) -> Array:
    """Compute ``beta * bias + alpha * r`` in the dtype of `r`; a zero `beta` ignores `bias` altogether, NaN included."""
    dtype = r.dtype
    if bias.dtype != dtype:
        raise Decline("self and the product must have the same dtype")
    if category[dtype] < 2 and (isinstance(alpha, float) or isinstance(beta, float)):
        raise Decline(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if dtype == mx.bool_:
        raise Decline("not defined for bool")
    if is_half(r) and not (alpha == 1 and beta == 1):
        r, bias = r.astype(mx.float32), bias.astype(mx.float32)
    if alpha != 1:
        r = r * scalar_like(alpha, r.dtype)
    if beta != 0:
        shape = r.shape
        r = r + (bias if beta == 1 else bias * scalar_like(beta, r.dtype))
        if r.shape != shape:
            raise Decline("self cannot be broadcast to the shape of the product")
    return r if r.dtype == dtype else r.astype(dtype)


@op("addmm", mlx="mx.addmm")
def addmm(bias: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    if beta == 1 and alpha == 1 and bias.dtype == a.dtype == b.dtype and category[a.dtype] == 2 and a.ndim == b.ndim == 2 \
            and a.shape[1] == b.shape[0] and a.size and b.size and bias.shape in ((b.shape[1],), (a.shape[0], b.shape[1])):  # fmt: skip
        return mx.addmm(bias, a, _second(b, a.shape[0]))
    return scaled(bias, mm(a, b), beta, alpha)


@op("addmv", mlx="mx.matmul, mx.add")
def addmv(bias: Array, a: Array, v: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    return scaled(bias, mv(a, v), beta, alpha)


@op("baddbmm", mlx="mx.addmm")
def baddbmm(bias: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    return scaled(bias, bmm(a, b), beta, alpha)


@op("addbmm", mlx="mx.matmul, mx.sum")
def addbmm(bias: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    if is_half(a) and bias.dtype == b.dtype == a.dtype:
        wide = addbmm(*(v.astype(mx.float32) for v in (bias, a, b)), beta=beta, alpha=alpha)
        return wide.astype(a.dtype)
    return scaled(bias, sums.total(bmm(a, b), axis=0).astype(a.dtype), beta, alpha)


@op("addr", mlx="mx.outer, mx.add")
def addr(bias: Array, u: Array, v: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    if u.ndim != 1 or v.ndim != 1 or u.dtype != v.dtype or u.dtype == mx.bool_:
        raise Decline("addr wants two vectors of one dtype")
    if is_half(u) and bias.dtype == u.dtype:
        return addr(*(x.astype(mx.float32) for x in (bias, u, v)), beta=beta, alpha=alpha).astype(
            u.dtype
        )
    return scaled(bias, mx.expand_dims(u, 1) * v, beta, alpha)


def _affine(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Apply `linear` to arrays of one floating dtype."""
    if weight.ndim != 2 or not x.ndim or not x.size or not weight.size:
        raise Decline("linear wants a matrix of weights, and elements")
    if bias is None:
        return mx.matmul(x, _second(mx.transpose(weight), _rows(x)))
    if bias.shape != weight.shape[:1]:
        raise Decline("linear wants a bias of one number for each output")
    return mx.addmm(bias, x, _second(mx.transpose(weight), _rows(x)))


@op(
    "linear",
    mlx="mx.addmm",
    note="kept whole, so that no transpose is dispatched; its backward is linear_backward",
    float32=_affine,
)
def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    if (
        x.dtype != weight.dtype
        or category[x.dtype] != 2
        or (bias is not None and bias.dtype != x.dtype)
        or x.shape[-1:] != weight.shape[-1:]
    ):
        raise Decline("linear wants one floating dtype and matching widths")
    return _affine(x, weight, bias)


@op("linear_backward", mlx="mx.matmul, mx.sum")
def linear_backward(
    x: Array, g: Array, weight: Array, output_mask: list[bool]
) -> tuple[Any, Any, Any]:
    if is_complex(g):
        weight, x = mx.conjugate(weight), mx.conjugate(x)
    dx = mx.matmul(g, weight) if output_mask[0] else None
    g2 = mx.reshape(g, (-1, g.shape[-1]))
    dw = mx.matmul(mx.transpose(g2), mx.reshape(x, (-1, x.shape[-1]))) if output_mask[1] else None
    db = sums.total(g2, axis=0) if output_mask[2] else None
    return dx, dw, db
