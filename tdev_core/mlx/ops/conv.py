"""Convolutions. torch keeps channels second, MLX last: inputs and weights are transposed on the way in and out (views)."""

from __future__ import annotations

from typing import Any

from tdev_core.mlx.dtypes import category
from tdev_core.mlx.lazy import mx
from tdev_core.mlx.registry import Decline, op

Array = Any


def spread(value: Any, n: int) -> list[int]:
    """A per-dimension list from an int list that may hold one number for all."""
    values = list(value)
    return values * n if len(values) == 1 else values


def _last(x: Array) -> Array:
    return mx.moveaxis(x, 1, -1)


def _forward(
    x: Array, w: Array, stride: list[int], padding: list[int], dilation: list[int], groups: int
) -> Array:
    y = mx.conv_general(
        _last(x), _last(w), stride=stride, padding=padding, kernel_dilation=dilation, groups=groups
    )
    return mx.moveaxis(y, -1, 1)


def _transposed(
    x: Array,
    w: Array,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    extra: list[int],
    groups: int,
) -> Array:
    n = w.ndim - 2
    kernel = w.shape[2:]
    # (Cin, Cout/g, k…) -> (Cout, k…, Cin/g)
    w = mx.reshape(w, (groups, w.shape[0] // groups, w.shape[1], *kernel))
    w = mx.transpose(w, (0, 2, *range(3, 3 + n), 1))
    w = mx.reshape(w, (-1, *kernel, w.shape[-1]))
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    low = [r - p for r, p in zip(reach, padding, strict=True)]
    high = [r - p + e for r, p, e in zip(reach, padding, extra, strict=True)]
    y = mx.conv_general(
        _last(x), w, stride=1, padding=([max(v, 0) for v in low], [max(v, 0) for v in high]),
        kernel_dilation=dilation, input_dilation=stride, groups=groups, flip=True,
    )  # fmt: skip
    if min(*low, *high) < 0:
        cut = [
            slice(max(-a, 0), y.shape[1 + i] - max(-b, 0))
            for i, (a, b) in enumerate(zip(low, high, strict=True))
        ]
        y = y[(slice(None), *cut)]
    return mx.moveaxis(y, -1, 1)


def _check(x: Array, w: Array, groups: int, transposed: bool) -> int:
    n = int(w.ndim) - 2
    channels = w.shape[0] if transposed else w.shape[1] * groups
    if category[x.dtype] != 2 or x.dtype != w.dtype or x.ndim != w.ndim or n not in (1, 2, 3):
        raise Decline("convolutions want one floating dtype and 1 to 3 spatial dimensions")
    if not x.size or not w.size or x.shape[1] != channels or w.shape[0] % groups:
        raise Decline("the weight does not fit the input, or one of them is empty")
    return n


def _value(
    x: Array,
    w: Array,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Array:
    n = _check(x, w, groups, transposed)
    s, p, d = spread(stride, n), spread(padding, n), spread(dilation, n)
    if min(s) < 1 or min(d) < 1 or min(p) < 0:
        raise Decline("negative padding, or non-positive stride or dilation")
    if transposed:
        extra = spread(output_padding, n)
        if any(e >= max(a, b) for e, a, b in zip(extra, s, d, strict=True)):
            raise Decline("output padding must be smaller than either stride or dilation")
        return _transposed(x, w, s, p, d, extra, groups)
    if any(
        i + 2 * q < (k - 1) * r + 1
        for i, q, k, r in zip(x.shape[2:], p, w.shape[2:], d, strict=True)
    ):
        raise Decline("Kernel size can't be greater than actual input size")
    return _forward(x, w, s, p, d, groups)


@op("convolution", mlx="mx.conv_general")
def convolution(
    x: Array,
    w: Array,
    bias: Array | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Array:
    y = _value(x, w, stride, padding, dilation, transposed, output_padding, groups)
    if bias is not None:
        y = y + mx.reshape(bias, (-1, *[1] * (y.ndim - 2)))
    return y


@op("convolution_backward", mlx="mx.vjp of mx.conv_general")
def convolution_backward(
    g: Array,
    x: Array,
    w: Array,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> tuple[Any, Any, Any]:
    _check(x, w, groups, transposed)
    dx = dw = None
    if transposed:
        # <transposed(x, w), g> = <x, plain(g, w)>: both gradients follow from the plain convolution
        n = w.ndim - 2
        s, p, d = spread(stride, n), spread(padding, n), spread(dilation, n)
        if output_mask[0]:
            dx = _forward(g, w, s, p, d, groups)
        if output_mask[1]:
            (dw,) = mx.vjp(lambda b: _forward(g, b, s, p, d, groups), [w], [x])[1]
    elif output_mask[0] and output_mask[1]:
        dx, dw = mx.vjp(
            lambda a, b: _value(
                a, b, stride, padding, dilation, transposed, output_padding, groups
            ),
            [x, w],
            [g],
        )[1]
    elif output_mask[0]:
        (dx,) = mx.vjp(
            lambda a: _value(a, w, stride, padding, dilation, transposed, output_padding, groups),
            [x],
            [g],
        )[1]
    elif output_mask[1]:
        (dw,) = mx.vjp(
            lambda b: _value(x, b, stride, padding, dilation, transposed, output_padding, groups),
            [w],
            [g],
        )[1]
    db = mx.sum(g, axis=[0, *range(2, g.ndim)]) if output_mask[2] else None
    return dx, dw, db
