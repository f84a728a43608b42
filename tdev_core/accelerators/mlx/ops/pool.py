"""Pooling, channels last. Windows are strided slices, one for each position in the kernel."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import Any

from tdev_core.accelerators.mlx.dtypes import category, is_half
from tdev_core.accelerators.mlx.layout import first, last
from tdev_core.accelerators.mlx.lazy import mx, np
from tdev_core.accelerators.mlx.ops.conv import spread
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


class Windows:
    """The geometry of pooling over `n` spatial axes; arrays are channels last, with a batch."""

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
        self.size = x.shape[1:-1]
        if min(self.stride) < 1:
            raise Decline("stride should not be zero")
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
        self.pads = []
        for i in range(n):
            need = (self.out[i] - 1) * self.stride[i] + self.dilation[i] * (self.kernel[i] - 1) + 1
            self.pads.append((self.padding[i], max(0, need - self.size[i] - self.padding[i])))
        self.inside = not any(map(any, self.pads))
        """Tell whether every window lies within the input."""

    def padded(self, x: Array, fill: float) -> Array:
        if self.inside:
            return x
        return mx.pad(
            x, [(0, 0), *self.pads, (0, 0)], constant_values=mx.array(fill, dtype=x.dtype)
        )

    def slices(self, x: Array) -> Any:
        """Yield, for each kernel position, the position and the elements there of every window."""
        for at in itertools.product(*map(range, self.kernel)):
            cut = tuple(
                slice(a * d, a * d + (m - 1) * s + 1, s)
                for a, d, m, s in zip(at, self.dilation, self.out, self.stride, strict=True)
            )
            yield at, x[(slice(None), *cut)]


def _batch(x: Array, n: int) -> Array:
    """Give `x` channels last and with a batch, which torch lets one leave out."""
    if category[x.dtype] != 2 or x.ndim not in (n + 1, n + 2) or 0 in x.shape:
        raise Decline("pooling wants non-empty floating input with one or two leading dimensions")
    return last(mx.expand_dims(x, 0) if x.ndim == n + 1 else x)


def _like(y: Array, x: Array) -> Array:
    """Give `y` torch's dimensions, with a batch if `x` has one."""
    return first(y) if x.ndim == y.ndim else mx.squeeze(first(y), 0)


def _max_pool(
    x: Array, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Array, Array]:
    b = _batch(x, n)
    w = Windows(b, n, kernel, stride, padding, dilation, ceil_mode)
    best: Any = None
    place: Any = None
    seen: Any = None
    for at, v in w.slices(w.padded(b, -math.inf)):
        here: Any = 0
        inside: Any = True
        for i in range(n):
            steps = mx.arange(w.out[i], dtype=mx.int32) * w.stride[i] + (
                at[i] * w.dilation[i] - w.padding[i]
            )
            steps = mx.reshape(steps, [*[-1 if j == i else 1 for j in range(n)], 1])
            here = here * w.size[i] + steps
            if not w.inside:
                inside = (steps >= 0) & (steps < w.size[i]) & inside
        if best is None:
            best, place = v, mx.broadcast_to(here, v.shape)
            seen = None if w.inside else mx.broadcast_to(inside, v.shape)
            continue
        better = (v > best) | (v != v)
        if not w.inside:  # an element in the padding never counts, not even for a window of -inf
            better = (better | ~seen) & inside
            seen = seen | inside
        best, place = mx.where(better, v, best), mx.where(better, here, place)
    return _like(best, x), _like(place.astype(mx.int64), x)


def _max_pool_backward(
    g: Array,
    x: Array,
    n: int,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    indices: Array,
) -> Array:
    gb, place, size = _batch(g, n), _places(indices, n), x.shape[-n:]
    wide = gb.astype(mx.float32) if is_half(gb) else gb
    kernel = spread(kernel, n)
    apart = (
        (not len(stride) or spread(stride, n) == kernel)
        and not any(spread(padding, n))
        and set(spread(dilation, n)) == {1}
        and all(m * k == s for m, k, s in zip(gb.shape[1:-1], kernel, size, strict=True))
    )
    r = _spread_out(wide, place, kernel, size) if apart else _scattered(wide, place, size)
    return _like(r.astype(x.dtype), x)


def _places(indices: Array, n: int) -> Array:
    return last(mx.expand_dims(indices, 0) if indices.ndim == n + 1 else indices)


def _spread_out(g: Array, place: Array, kernel: list[int], size: Any) -> Array:
    """Compute the gradient where windows tile the input: each element takes its window's if it is the greatest there."""
    batch, *out, channels = g.shape
    n = len(kernel)
    tiles = [batch, *itertools.chain.from_iterable((m, 1) for m in out), channels]
    own = mx.reshape(mx.arange(math.prod(size), dtype=place.dtype), (1, *_pairs(out, kernel), 1))
    hit = own == mx.reshape(place, tiles)
    r = mx.where(hit, mx.reshape(g, tiles), mx.zeros((), dtype=g.dtype))
    return mx.reshape(r, (batch, *(out[i] * kernel[i] for i in range(n)), channels))


def _pairs(out: Any, kernel: list[int]) -> tuple[int, ...]:
    return tuple(itertools.chain.from_iterable(zip(out, kernel, strict=True)))


def _scattered(g: Array, place: Array, size: Any) -> Array:
    batch, channels, plane = g.shape[0], g.shape[-1], math.prod(size)
    b = mx.reshape(mx.arange(batch, dtype=mx.int64) * (plane * channels), (batch, 1, 1))
    c = mx.arange(channels, dtype=mx.int64)
    at = mx.reshape(place, (batch, -1, channels)) * channels + b + c
    flat = mx.zeros((batch * plane * channels,), dtype=g.dtype)
    flat = flat.at[mx.reshape(at, (-1,))].add(mx.reshape(g, (-1,)))
    return mx.reshape(flat, (batch, *size, channels))


def _average(
    x: Array, n: int, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: int | None
) -> Array:  # fmt: skip
    b = _batch(x, n)
    return _like(_averaged(b, n, kernel, stride, padding, ceil_mode, include, divisor), x)


def _averaged(
    b: Array, n: int, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: int | None
) -> Array:  # fmt: skip
    w = Windows(b, n, kernel, stride, padding, [1], ceil_mode)
    total: Any = None
    wide = b.astype(mx.float32) if is_half(b) else b
    for _, v in w.slices(w.padded(wide, 0.0)):
        total = v if total is None else total + v
    counts = _counts(
        tuple(w.size), tuple(w.kernel), tuple(w.stride), tuple(w.padding), tuple(w.out), include, divisor
    )  # fmt: skip
    return (total / counts).astype(b.dtype)


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
    return mx.array(counts[..., None])  # one channel for all


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
        return _max_pool_backward(g, x, n, kernel_size, stride, padding, dilation, indices)

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
            x, n, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
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
            return _averaged(
                v, n, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
            )

        return _like(mx.vjp(forward, [_batch(x, n)], [_batch(g, n)])[1][0], x)


_pools(2)
_pools(3)
