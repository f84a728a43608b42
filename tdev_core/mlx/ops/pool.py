"""Pooling. Windows are strided slices, one for each position in the kernel."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import Any

from tdev_core.mlx.dtypes import category, is_half
from tdev_core.mlx.lazy import mx, np
from tdev_core.mlx.ops.conv import spread
from tdev_core.mlx.registry import Decline, op

Array = Any


class Windows:
    """The geometry of pooling over the last `n` axes."""

    def __init__(
        self,
        x: Array,
        n: int,
        kernel: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
    ) -> None:
        self.n = n
        self.kernel = spread(kernel, n)
        self.stride = spread(stride, n) if len(stride) else self.kernel
        self.padding = spread(padding, n)
        self.dilation = spread(dilation, n)
        self.size = x.shape[-n:]
        if (
            category[x.dtype] != 2
            or x.ndim not in (n + 1, n + 2)
            or 0 in x.shape
            or min(self.stride) < 1
        ):
            raise Decline(
                "pooling wants non-empty floating input with one or two leading dimensions"
            )
        if any(
            p > ((k - 1) * d + 1) / 2 or p < 0
            for p, k, d in zip(self.padding, self.kernel, self.dilation, strict=True)
        ):
            raise Decline("pad should be at most half of effective kernel size")
        self.out = []
        for i in range(n):
            span = self.dilation[i] * (self.kernel[i] - 1) + 1
            rest = self.size[i] + 2 * self.padding[i] - span
            m = (rest + (self.stride[i] - 1 if ceil_mode else 0)) // self.stride[i] + 1
            if ceil_mode and (m - 1) * self.stride[i] >= self.size[i] + self.padding[i]:
                m -= 1
            if m < 1:
                raise Decline("Output size is too small")
            self.out.append(m)

    def padded(self, x: Array, fill: float) -> Array:
        pads = [(0, 0)] * (x.ndim - self.n)
        for i in range(self.n):
            need = (self.out[i] - 1) * self.stride[i] + self.dilation[i] * (self.kernel[i] - 1) + 1
            pads.append((self.padding[i], max(0, need - self.size[i] - self.padding[i])))
        return (
            mx.pad(x, pads, constant_values=mx.array(fill, dtype=x.dtype))
            if any(map(any, pads))
            else x
        )

    def slices(self, x: Array) -> Any:
        """Yields, for each kernel position, the position and the elements there of every window."""
        for at in itertools.product(*map(range, self.kernel)):
            cut = tuple(
                slice(a * d, a * d + (m - 1) * s + 1, s)
                for a, d, m, s in zip(at, self.dilation, self.out, self.stride, strict=True)
            )
            yield at, x[(..., *cut)]


def _max_pool(
    x: Array, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Array, Array]:
    w = Windows(x, n, kernel, stride, padding, dilation, ceil_mode)
    best: Any = None
    place: Any = None
    seen: Any = None
    for at, v in w.slices(w.padded(x, -math.inf)):
        here: Any = 0
        inside: Any = True
        for i in range(n):
            steps = mx.arange(w.out[i], dtype=mx.int32) * w.stride[i] + (
                at[i] * w.dilation[i] - w.padding[i]
            )
            steps = mx.reshape(steps, [-1 if j == i else 1 for j in range(n)])
            here = here * w.size[i] + steps
            inside = (steps >= 0) & (steps < w.size[i]) & inside
        if best is None:
            best, place, seen = v, mx.broadcast_to(here, v.shape), mx.broadcast_to(inside, v.shape)
            continue
        # an element in the padding never counts, not even for a window of -inf
        better = ((v > best) | (v != v) | ~seen) & inside
        best, place, seen = mx.where(better, v, best), mx.where(better, here, place), seen | inside
    return best, place.astype(mx.int64)


def _max_pool_backward(g: Array, x: Array, indices: Array, n: int) -> Array:
    plane = math.prod(x.shape[-n:])
    lead = math.prod(x.shape[:-n])
    base = mx.reshape(mx.arange(lead, dtype=mx.int64) * plane, (lead, 1))
    place = mx.reshape(mx.reshape(indices, (lead, -1)) + base, (-1,))
    wide = g.astype(mx.float32) if is_half(g) else g
    flat = mx.zeros((lead * plane,), dtype=wide.dtype).at[place].add(mx.reshape(wide, (-1,)))
    return mx.reshape(flat, x.shape).astype(x.dtype)


def _average(x: Array, w: Windows, count_include_pad: bool, divisor: int | None) -> Array:
    total: Any = None
    wide = x.astype(mx.float32) if is_half(x) else x
    for _, v in w.slices(w.padded(wide, 0.0)):
        total = v if total is None else total + v
    return (
        total
        / _counts(
            tuple(w.size),
            tuple(w.kernel),
            tuple(w.stride),
            tuple(w.padding),
            tuple(w.out),
            count_include_pad,
            divisor,
        )
    ).astype(x.dtype)


@lru_cache(maxsize=256)
def _counts(
    size: Any, kernel: Any, stride: Any, padding: Any, out: Any, include: bool, divisor: int | None
) -> Any:
    if divisor is not None:
        return float(divisor)
    counts = np.ones((), dtype=np.float32)
    for i in range(len(size)):
        start = np.arange(out[i]) * stride[i] - padding[i]
        end = np.minimum(start + kernel[i], size[i] + padding[i])
        if not include:
            start, end = np.maximum(start, 0), np.minimum(end, size[i])
        counts = counts[..., None] * (end - start).astype(np.float32)
    if (counts == counts.flat[0]).all():
        return float(counts.flat[0])
    return mx.array(counts)


def _pools(n: int) -> None:
    @op(f"max_pool{n}d_with_indices", mlx="mx.maximum, mx.where")
    def max_pool(
        x: Array,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = (0,),
        dilation: Any = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Array, Array]:
        return _max_pool(x, n, kernel_size, stride, padding, dilation, ceil_mode)

    @op(f"max_pool{n}d_with_indices_backward", mlx="array.at.add")
    def max_pool_backward(
        g: Array,
        x: Array,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
        indices: Array,
    ) -> Array:
        return _max_pool_backward(g, x, indices, n)

    @op(f"avg_pool{n}d", mlx="mx.add, mx.divide")
    def avg_pool(
        x: Array,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Array:
        if divisor_override == 0:
            raise Decline("divisor must be not zero")
        return _average(
            x,
            Windows(x, n, kernel_size, stride, padding, [1], ceil_mode),
            count_include_pad,
            divisor_override,
        )

    @op(f"avg_pool{n}d_backward", mlx="mx.vjp")
    def avg_pool_backward(
        g: Array,
        x: Array,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Array:
        def forward(v: Array) -> Array:
            return _average(
                v,
                Windows(v, n, kernel_size, stride, padding, [1], ceil_mode),
                count_include_pad,
                divisor_override,
            )

        return mx.vjp(forward, [x], [g])[1][0]


_pools(2)
_pools(3)
