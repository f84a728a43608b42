"""Plain convolutions, channels last: MLX's own kernel, or on the CPU one matrix product over the unfolded input.

MLX's CPU kernel unfolds the input too, and then multiplies by the transposed weight in the form that its BLAS does not
vectorise (see ``matmul``); with the weight copied first, the same product takes half of the time.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.lazy import mx

__all__ = ["correlate", "input_gradient"]

Array = Any

_ROWS = 16
"""From as many output channels on the product's inner loop is long enough."""


def correlate(
    x: Array, w: Array, stride: list[int], padding: list[int], dilation: list[int], groups: int
) -> Array:
    """Apply ``mx.conv_general`` to `x` (batch, space…, in) and `w` (out, kernel…, in / groups)."""
    if groups != 1 or w.shape[0] < _ROWS or x.dtype != mx.float32 or not runtime.on_cpu:
        return mx.conv_general(
            x, w, stride=stride, padding=padding, kernel_dilation=dilation, groups=groups
        )
    if any(padding):
        x = mx.pad(x, [(0, 0), *((p, p) for p in padding), (0, 0)])
    batch, *size, channels = x.shape
    out, *kernel, _ = w.shape
    steps = [channels * math.prod(size[i + 1 :]) for i in range(len(size))]
    ends = [
        (n - d * (k - 1) - 1) // s + 1
        for n, d, k, s in zip(size, dilation, kernel, stride, strict=True)
    ]
    windows = mx.as_strided(
        mx.contiguous(
            x
        ),  # a constant or expanded image has strides of 0; nothing is copied where it is contiguous
        (batch, *ends, *kernel, channels),
        (
            channels * math.prod(size),
            *(n * s for n, s in zip(steps, stride, strict=True)),
            *(n * d for n, d in zip(steps, dilation, strict=True)),
            1,
        ),
        0,
    )
    width = math.prod(kernel) * channels
    matrix = mx.contiguous(mx.transpose(mx.reshape(w, (out, width))))
    y = mx.matmul(mx.reshape(windows, (-1, width)), matrix)
    return mx.reshape(y, (batch, *ends, out))


def input_gradient(
    g: Array,
    w: Array,
    size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Array | None:
    """Compute the gradient of an input of `size`, where it is such a product; None where MLX must derive it."""
    kernel = w.shape[1:-1]
    if groups != 1 or not runtime.on_cpu or g.dtype != mx.float32:
        return None
    if set(stride) != {1}:
        return _folded(g, w, size, stride, padding, dilation)
    reach = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True)]
    if min(reach) < 0 or w.shape[-1] < _ROWS:
        return None
    space = tuple(slice(None, None, -1) for _ in kernel)
    turned = mx.swapaxes(w[(slice(None), *space)], 0, -1)
    return correlate(g, turned, stride, reach, dilation, 1)


_MOST_PLACES = 64


def _folded(
    g: Array, w: Array, size: list[int], stride: list[int], padding: list[int], dilation: list[int]
) -> Array | None:
    """Multiply by the weight and add up what each place of the kernel gives.

    MLX puts zeros between the elements of `g` instead and multiplies by them too: the product of the strides times as much.
    """
    kernel, channels = w.shape[1:-1], w.shape[-1]
    if math.prod(kernel) > _MOST_PLACES:
        return None
    batch, *ends, out = g.shape
    product = mx.matmul(
        mx.reshape(g, (-1, out)), mx.contiguous(mx.reshape(w, (out, math.prod(kernel) * channels)))
    )
    places = mx.reshape(product, (batch, *ends, math.prod(kernel), channels))
    room = [
        max(n + 2 * p, d * (k - 1) + s * (e - 1) + 1)
        for n, p, d, k, s, e in zip(size, padding, dilation, kernel, stride, ends, strict=True)
    ]
    total = mx.zeros((batch, *room, channels))
    for number, place in enumerate(itertools.product(*map(range, kernel))):
        at = tuple(
            slice(d * i, d * i + s * (e - 1) + 1, s)
            for d, i, s, e in zip(dilation, place, stride, ends, strict=True)
        )
        total = total.at[(slice(None), *at)].add(places[..., number, :])
    inside = tuple(slice(p, p + n) for p, n in zip(padding, size, strict=True))
    return total[(slice(None), *inside)]
