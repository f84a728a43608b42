"""Convolutions. torch keeps channels second, MLX last: inputs and weights are transposed on the way in and out (views)."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.dtypes import category
from tdev_core.accelerators.mlx.layout import first, last
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.unfolded import correlate, input_gradient
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def spread(value: Any, n: int) -> list[int]:
    """Make a per-dimension list from an int list that may hold one number for all."""
    values = list(value)
    return values * n if len(values) == 1 else values


def _forward(
    x: Array, w: Array, stride: list[int], padding: list[int], dilation: list[int], groups: int
) -> Array:
    return first(correlate(last(x), last(w), stride, padding, dilation, groups))


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
    size = [
        (e - 1) * s - 2 * p + d * (k - 1) + more + 1
        for e, s, p, d, k, more in zip(
            x.shape[2:], stride, padding, dilation, kernel, extra, strict=True
        )
    ]
    if set(stride) != {1} and min(size) > 0:
        # It is the gradient that a plain convolution with this weight has for its input.
        y = input_gradient(last(x), last(w), size, stride, padding, dilation, groups)
        if y is not None:
            return first(y)
    # (Cin, Cout/g, k…) -> (Cout, k…, Cin/g)
    w = mx.reshape(w, (groups, w.shape[0] // groups, w.shape[1], *kernel))
    w = mx.transpose(w, (0, 2, *range(3, 3 + n), 1))
    w = mx.reshape(w, (-1, *kernel, w.shape[-1]))
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    low = [r - p for r, p in zip(reach, padding, strict=True)]
    high = [r - p + e for r, p, e in zip(reach, padding, extra, strict=True)]
    y = mx.conv_general(
        last(x), w, stride=1, padding=([max(v, 0) for v in low], [max(v, 0) for v in high]),
        kernel_dilation=dilation, input_dilation=stride, groups=groups, flip=True,
    )  # fmt: skip
    if min(*low, *high) < 0:
        cut = [
            slice(max(-a, 0), y.shape[1 + i] - max(-b, 0))
            for i, (a, b) in enumerate(zip(low, high, strict=True))
        ]
        y = y[(slice(None), *cut)]
    return first(y)


def _check(x: Array, w: Array, groups: int, transposed: bool) -> int:
    n = int(w.ndim) - 2
    channels = w.shape[0] if transposed else w.shape[1] * groups
    if category[x.dtype] != 2 or x.dtype != w.dtype or x.ndim != w.ndim or n not in (1, 2, 3):
        raise Decline("convolutions want one floating dtype and 1 to 3 spatial dimensions")
    if not x.size or not w.size or x.shape[1] != channels or w.shape[0] % groups:
        raise Decline("the weight does not fit the input, or one of them is empty")
    return n


def _check_steps(stride: Any, padding: Any, dilation: Any) -> None:
    if min(stride) < 1 or min(dilation) < 1 or min(padding) < 0:
        raise Decline("negative padding, or non-positive stride or dilation")


def _check_reach(x: Array, w: Array, stride: Any, padding: Any, dilation: Any) -> None:
    n = w.ndim - 2
    p, d = spread(padding, n), spread(dilation, n)
    _check_steps(stride, p, d)
    if any(
        i + 2 * q < (k - 1) * r + 1
        for i, q, k, r in zip(x.shape[2:], p, w.shape[2:], d, strict=True)
    ):
        raise Decline("Kernel size can't be greater than actual input size")


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
    if transposed:
        _check_steps(s, p, d)
        extra = spread(output_padding, n)
        if any(e >= max(a, b) for e, a, b in zip(extra, s, d, strict=True)):
            raise Decline("output padding must be smaller than either stride or dilation")
        return _transposed(x, w, s, p, d, extra, groups)
    _check_reach(x, w, stride, padding, dilation)
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
        y = first(last(y) + bias)
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
    else:
        _check_reach(x, w, stride, padding, dilation)
        n = w.ndim - 2
        s, p, d = spread(stride, n), spread(padding, n), spread(dilation, n)
        dx, dw = _gradients(g, x, w, output_mask, s, p, d, groups)
    db = mx.sum(last(g), axis=list(range(g.ndim - 1))) if output_mask[2] else None
    return dx, dw, db


def _gradients(
    g: Array,
    x: Array,
    w: Array,
    wanted: Any,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Any:
    """Compute the gradients of input and weight of a plain convolution; None where not wanted."""
    g, pair = last(g), [last(x), last(w)]
    out: list[Any] = [None, None]
    if wanted[0]:
        out[0] = input_gradient(g, pair[1], pair[0].shape[1:-1], stride, padding, dilation, groups)
    free = [i for i in (0, 1) if wanted[i] and out[i] is None]

    def forward(*given: Array) -> Array:
        both = list(pair)
        for i, a in zip(free, given, strict=True):
            both[i] = a
        return mx.conv_general(
            *both, stride=stride, padding=padding, kernel_dilation=dilation, groups=groups
        )

    if free:
        found = mx.vjp(forward, [pair[i] for i in free], [g])[1]
        for i, a in zip(free, found, strict=True):
            out[i] = a
    return (
        None if out[0] is None else first(out[0]),
        None if out[1] is None else mx.moveaxis(out[1], -1, 1),
    )
