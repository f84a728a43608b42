"""Group norm, in the order of memory that its input has. Statistics of 16-bit floats are float32.

Over the elements go only sums of each channel and one product and sum for each result; whatever belongs to groups is
computed from the channels' sums, which are few. What a convolution has given lies channels last, where an array
in groups would be a copy, and is left so.

Source: the same sums in ``aten/src/ATen/native/cpu/group_norm_kernel.cpp``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tdev_core.accelerators.mlx.dtypes import category
from tdev_core.accelerators.mlx.layout import below, first, last
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.activation import wide
from tdev_core.accelerators.mlx.ops.sums import total
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


class _Layout(NamedTuple):
    """The way in which an input (batch, channels, space…) lies in memory.

    Attributes:
        batch: number of images.
        channels: number of channels.
        group: number of groups.
        space: axis of the elements of a channel, of arrays as `flat` gives them: 1 for channels last, else 2.
    """

    batch: int
    channels: int
    group: int
    space: int

    def flat(self, x: Array) -> Array:
        """Return `x` as (batch, space, channels) or (batch, channels, space), in float32 where it has 16 bits."""
        if self.space == 1:
            return mx.reshape(wide(last(x)), (self.batch, -1, self.channels))
        return mx.reshape(wide(x), (self.batch, self.channels, -1))

    def shaped(self, y: Array, like: Array) -> Array:
        """Return a result of the form that `flat` gives as what torch is to get."""
        if self.space == 1:
            return first(mx.reshape(y.astype(like.dtype), last(like).shape))
        return mx.reshape(y, like.shape).astype(like.dtype)

    def spread(self, values: Array) -> Array:
        """Return (batch or 1, channels) so that it meets each element of a channel."""
        return mx.expand_dims(values, self.space)

    def grouped(self, sums: Array) -> Array:
        """Return the sums of channels (batch, channels) added up for each group: (batch, group)."""
        return total(mx.reshape(sums, (self.batch, self.group, -1)), axis=-1)

    def ungrouped(self, values: Array) -> Array:
        """Return (batch, group) for each channel: (batch, channels)."""
        return mx.repeat(values, self.channels // self.group, axis=1)


def _layout(x: Array, n: int, c: int, group: int) -> _Layout:
    if category[x.dtype] != 2 or not x.size or c % group:
        raise Decline("expected a non-empty floating input whose channels divide into the groups")
    return _Layout(n, c, group, 1 if id(x) in below else 2)


@op("native_group_norm", mlx="mx.sum, mx.rsqrt")
def group_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Array, Array, Array]:
    layout = _layout(x, N, C, group)
    share = 1.0 / (C // group * HxW)
    f = layout.flat(x)
    mean = layout.grouped(total(f, axis=layout.space)) * share
    centred = f - layout.spread(layout.ungrouped(mean))
    squares = layout.grouped(total(mx.square(centred), axis=layout.space))
    rstd = mx.rsqrt(squares * share + eps)
    scale = layout.ungrouped(rstd)
    y = centred * layout.spread(scale if weight is None else scale * wide(weight))
    if bias is not None:
        y = y + layout.spread(mx.reshape(wide(bias), (1, C)))
    stats = x.dtype if weight is None or weight.dtype == x.dtype else mx.float32
    return layout.shaped(y, x), mean.astype(stats), rstd.astype(stats)


@op("native_group_norm_backward", mlx="mx.multiply, mx.sum")
def group_norm_backward(
    g: Array,
    x: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Any,
) -> tuple[Any, Any, Any]:
    layout = _layout(x, N, C, group)
    f, gf = layout.flat(x), layout.flat(g)
    m, r = mx.reshape(wide(mean), (N, group)), mx.reshape(wide(rstd), (N, group))
    scale = layout.ungrouped(r)
    # Centred: a mean far from zero would leave few digits of the difference of two sums.
    centred = f - layout.spread(layout.ungrouped(m))
    products = total(gf * centred, axis=layout.space) * scale
    sums = total(gf, axis=layout.space)
    dx = dw = db = None
    if output_mask[0]:
        w = None if weight is None else mx.reshape(wide(weight), (1, C))
        share = 1.0 / (C // group * HxW)
        of_sums = layout.grouped(sums if w is None else sums * w) * share
        of_products = layout.grouped(products if w is None else products * w) * share
        dx = (
            gf * layout.spread(scale if w is None else scale * w)
            - centred * layout.spread(layout.ungrouped(of_products * r * r))
            - layout.spread(layout.ungrouped(of_sums * r))
        )
        dx = layout.shaped(dx, x)
    kind = x.dtype if weight is None else weight.dtype
    if output_mask[1]:
        dw = total(products, axis=0).astype(kind)
    if output_mask[2]:
        db = total(sums, axis=0).astype(kind)
    return dx, dw, db
