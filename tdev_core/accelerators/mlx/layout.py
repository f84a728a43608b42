"""Channels last: which arrays are views of one, so that element-wise work can go on in the order of memory.

torch counts dimensions as (batch, channels, space…), MLX's convolutions as (batch, space…, channels).  Kernels that
compute channels last hand out a transposed view (`first`) and take their input back without one (`last`).  An
element-wise operator over such views would walk memory in strides and lose the order; `follow` lets it work on
what lies below.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.mlx.lazy import mx, torch

__all__ = ["below", "elementwise", "first", "follow", "last"]

Array = Any

below: dict[int, tuple[weakref.ref[Any], Array]] = {}
"""id of a view -> a reference that ends the entry with the view, and the array below it."""


def last(x: Array) -> Array:
    """Give `x` with its channels, the second dimension, moved to the end."""
    found = below.get(id(x))
    return mx.moveaxis(x, 1, -1) if found is None else found[1]


def first(y: Array) -> Array:
    """Give `y` with its channels, the last dimension, moved to the second place; `last` gives `y` back."""
    if y.ndim < 3:
        return y
    view = mx.moveaxis(y, -1, 1)
    key = id(view)
    below[key] = (weakref.ref(view, lambda _: below.pop(key, None)), y)
    return view


def _moved(x: Array, ndim: int) -> Array:
    if not isinstance(x, mx.array) or not x.ndim:
        return x
    return last(mx.reshape(x, (1,) * (ndim - x.ndim) + x.shape) if x.ndim < ndim else x)


def elementwise(operator: Any) -> bool:
    """Tell whether torch says that the operator works element by element, and nothing random is in it.

    What gives no tensor is none, whatever torch says: `equal` looks at shapes too, and gives a bool.
    """
    tags = operator.tags
    tensors = all(str(given.type) == "Tensor" for given in operator._schema.returns)
    return tensors and torch.Tag.pointwise in tags and torch.Tag.nondeterministic_seeded not in tags


def follow(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Make an element-wise kernel that computes channels last where an argument is a view of such an array."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if not below:
            return kernel(*args, **kwargs)
        for a in args:
            if id(a) in below:
                break
        else:
            return kernel(*args, **kwargs)
        ndim = a.ndim
        if any(isinstance(b, mx.array) and b.ndim > ndim for b in (*args, *kwargs.values())):
            return kernel(*args, **kwargs)
        r = kernel(
            *(_moved(b, ndim) for b in args), **{k: _moved(v, ndim) for k, v in kwargs.items()}
        )
        return tuple(first(x) for x in r) if isinstance(r, tuple) else first(r)

    return run
