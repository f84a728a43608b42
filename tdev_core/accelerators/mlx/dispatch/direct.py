"""The shortest way through an operator: float32 tensors, and numbers beside them.

Most calls of most programs are of that kind. An operator whose row says what MLX calls it then (`Row.float32`) is
answered without asking arrays for their types, which takes longer in MLX than its own call does. Whatever is not that
simple, and whatever goes wrong, is left to the operator's usual wrapper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.mlx import layout, runtime
from tdev_core.accelerators.mlx.dispatch.wrappers import CONJ_SEEN
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.registry import Decline, Row
from tdev_core.accelerators.mlx.storage.allocation import wrap
from tdev_core.accelerators.mlx.storage.contents import read, write

__all__ = ["function_of", "inplace", "through"]

Kernel = Callable[..., Any]


def through(operator: Any, row: Row, usual: Kernel) -> Kernel:
    """Make a wrapper of `row`'s overload that answers calls with float32 alone, and hands every other to `usual`."""
    if row.float32 is None:
        return usual
    get = _plain if operator._schema.name.removeprefix("aten::") in CONJ_SEEN else read
    kinds = [str(a.type) for a in operator._schema.arguments if not a.kwarg_only]
    if kinds == ["Tensor"]:
        return _one(function_of(row), get, usual)
    if kinds in (["Tensor", "Tensor"], ["Tensor", "number"]):
        return _two(function_of(row), get, usual)
    if kinds[0] == "List[Tensor]":
        return _list(function_of(row), get, usual)
    return _several(function_of(row), get, usual)


def _plain(x: Any) -> Any:
    """Do as `read`, of a tensor that is not the lazy negative of what it holds."""
    if x.is_neg():
        raise Decline("a negated view")
    return read(x)


def function_of(row: Row) -> Kernel:
    """Look up the function that a row with `Row.float32` names."""
    named = row.float32
    return getattr(mx, named) if isinstance(named, str) else named  # type: ignore[return-value]


def _one(function: Kernel, get: Kernel, usual: Kernel) -> Kernel:
    local, views, float32 = runtime._local, layout.below, torch.float32

    def call(x: Any, **kwargs: Any) -> Any:
        try:
            if local.adopted and x.dtype is float32 and not views and not kwargs:
                return wrap(function(get(x)), float32)
        except Exception:  # the usual wrapper meets it again, and knows what to do
            pass
        return usual(x, **kwargs)

    return call


def _two(function: Kernel, get: Kernel, usual: Kernel) -> Kernel:
    local, views, float32, tensor = runtime._local, layout.below, torch.float32, torch.Tensor

    def call(x: Any, y: Any, **kwargs: Any) -> Any:
        try:
            if local.adopted and x.dtype is float32 and not views and not kwargs:
                if isinstance(y, tensor):
                    if y.dtype is float32:
                        return wrap(function(get(x), get(y)), float32)
                elif type(y) is float or type(y) is int:
                    return wrap(function(get(x), y), float32)
        except Exception:
            pass
        return usual(x, y, **kwargs)

    return call


def _several(function: Kernel, get: Kernel, usual: Kernel) -> Kernel:
    local, views, float32, tensor = runtime._local, layout.below, torch.float32, torch.Tensor

    def operand(x: Any) -> Any:
        if x.dtype is not float32:
            raise Decline("not float32")
        return get(x)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if local.adopted and x.dtype is float32 and not views:
                values = [operand(a) if isinstance(a, tensor) else a for a in args]
                return wrap(function(get(x), *values, **kwargs), float32)
        except Exception:
            pass
        return usual(x, *args, **kwargs)

    return call


def _list(function: Kernel, get: Kernel, usual: Kernel) -> Kernel:
    local, float32 = runtime._local, torch.float32

    def call(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if local.adopted and all([x.dtype is float32 for x in tensors]):
                return wrap(function([get(x) for x in tensors], *args, **kwargs), float32)
        except Exception:  # as above
            pass
        return usual(tensors, *args, **kwargs)

    return call


def inplace(row: Row, usual: Kernel) -> Kernel:
    """Do the same for the in-place form of an element-wise operator of two operands."""
    if row.float32 is None:
        return usual
    function = function_of(row)
    local, views, float32, tensor = runtime._local, layout.below, torch.float32, torch.Tensor

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) == 1 and local.adopted and x.dtype is float32 and not views and not kwargs:
                (y,) = args
                if isinstance(y, tensor):
                    y = _plain(y) if y.dtype is float32 else None
                elif type(y) is not float and type(y) is not int:
                    y = None
                if y is not None:
                    a = _plain(x)
                    result = function(a, y)
                    if result.shape == a.shape:
                        write(x, result)
                        return x
        except Exception:
            pass
        return usual(x, *args, **kwargs)

    return call
