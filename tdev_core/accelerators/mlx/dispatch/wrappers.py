"""From rows of the operator table to kernels on torch's PrivateUse1 dispatch key.

Each wrapper adopts the stream, reads the arrays, calls the kernel and wraps the result.  Whatever goes wrong in a
kernel, the call runs again on the CPU: either the CPU can answer it (counted as a fallback), or it raises
torch's own error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.mlx import layout, runtime
from tdev_core.accelerators.mlx.dispatch import fallback
from tdev_core.accelerators.mlx.dtypes import cast, category, to_mx, to_torch
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.registry import Decline
from tdev_core.accelerators.mlx.storage import contents
from tdev_core.accelerators.mlx.storage.allocation import DeviceMismatch, wrap
from tdev_core.accelerators.mlx.storage.contents import read, resolve, write
from tdev_core.accelerators.mlx.storage.results import store
from tdev_core.errors import UnsupportedError

__all__ = ["functional", "inplace", "out_variant", "raw", "wrapped"]

Kernel = Callable[..., Any]
_PASS = (DeviceMismatch, UnsupportedError, KeyboardInterrupt)

CONJ_SEEN = frozenset(
    """mm bmm addmm addmv addbmm baddbmm mv dot vdot outer ger copy_ clone conj_physical _conj_physical
    resolve_conj resolve_neg linalg_svd _linalg_svd linalg_solve_triangular triangular_solve empty_like""".split()
)
"""Operators that torch calls with lazily conjugated or negated tensors instead of resolving them first."""


def _arrays(values: Any, get: Any) -> list[Any]:
    tensor = torch.Tensor
    return [
        get(v) if isinstance(v, tensor) else _arrays(v, get) if isinstance(v, (list, tuple)) and v and
        (isinstance(v[0], tensor) or v[0] is None) else v
        for v in values
    ]  # fmt: skip


def wrapped(result: Any) -> Any:
    """Wrap kernel results as tensors; None and numbers unchanged."""
    if isinstance(result, mx.array):
        return wrap(result)
    if isinstance(result, (tuple, list)):
        return type(result)(wrapped(r) for r in result)
    return result


def functional(op: Any, kernel: Kernel) -> Kernel:
    """Make the kernel of a functional overload; the forms with one or two operands are written out, since most calls are those."""
    get = resolve if op._schema.name.removeprefix("aten::") in CONJ_SEEN else read
    local = runtime._local
    array = mx.array
    tensor = torch.Tensor
    adopt = runtime.ready
    followed = layout.follow(kernel) if layout.elementwise(op) else kernel
    views = layout.below

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            local.adopted  # noqa: B018
        except AttributeError:
            adopt()
        try:
            values = [get(a) if isinstance(a, tensor) else a for a in args]
            result = followed(*values, **kwargs)
            if isinstance(result, array):
                return wrap(result)
            return wrapped(result)
        except _PASS:
            raise
        except Exception as error:
            why = reason(error)
        return fallback.run(
            op, args, kwargs, why
        )  # outside: what it raises is no consequence of `error`

    def call_lists(*args: Any, **kwargs: Any) -> Any:
        adopt()
        try:
            named = dict(zip(kwargs, _arrays(kwargs.values(), get), strict=True))
            return wrapped(followed(*_arrays(args, get), **named))
        except _PASS:
            raise
        except Exception as error:
            why = reason(error)
        return fallback.run(op, args, kwargs, why)

    def call_one(x: Any) -> Any:
        try:
            local.adopted  # noqa: B018
            result = (followed if views else kernel)(get(x))
            return wrap(result) if isinstance(result, array) else wrapped(result)
        except Exception:  # the call below meets it again, and knows what to do
            pass
        return call(x)

    def call_two(x: Any, y: Any, **kwargs: Any) -> Any:
        try:
            local.adopted  # noqa: B018
            run = followed if views else kernel
            result = run(get(x), get(y) if isinstance(y, tensor) else y, **kwargs)
            return wrap(result) if isinstance(result, array) else wrapped(result)
        except Exception:
            pass
        return call(x, y, **kwargs)

    if _has_lists(op):
        return call_lists
    positional = [a for a in op._schema.arguments if not a.kwarg_only]
    kinds = [str(a.type) for a in positional if not a.has_default_value()]
    if len(kinds) != len(positional):
        return call
    if kinds == ["Tensor"] and len(op._schema.arguments) == 1:
        return call_one
    return call_two if kinds in (["Tensor", "Tensor"], ["Tensor", "number"]) else call


def _has_lists(op: Any) -> bool:
    for a in op._schema.arguments:
        kind = str(a.type)
        if "List[Tensor]" in kind or "List[Optional[Tensor]]" in kind:
            return True
        if a.kwarg_only and "Tensor" in kind:
            return True
    return False


def bringing_indices(op: Any, call: Kernel) -> Kernel:
    """Wrap ``call`` to have CPU tensors among its indices taken to the device: torch lets indices lie on either side.

    Source: ``make_info`` in ``aten/src/ATen/native/TensorAdvancedIndexingUtils.h``.
    """
    kinds = [str(a.type) for a in op._schema.arguments]
    if "List[Optional[Tensor]]" not in kinds:
        return call
    place = kinds.index("List[Optional[Tensor]]")
    name = op._schema.arguments[place].name

    def brought(*args: Any, **kwargs: Any) -> Any:
        if name in kwargs:
            kwargs[name] = contents.all_here(kwargs[name])
        else:
            args = (*args[:place], contents.all_here(args[place]), *args[place + 1 :])
        return call(*args, **kwargs)

    return brought


def reason(error: Exception) -> str:
    """Say why a kernel gave up, for the warning."""
    return str(error) if isinstance(error, Decline) else f"{type(error).__name__}: {error}"


def raw(op: Any, kernel: Kernel) -> Kernel:
    """Make a kernel that takes and gives torch tensors itself."""
    adopt = runtime.ready

    def call(*args: Any, **kwargs: Any) -> Any:
        adopt()
        try:
            return kernel(*args, **kwargs)
        except _PASS:
            raise
        except (
            AttributeError
        ):  # of a Python number, which torch hands over where the schema says Tensor
            tensors = [_tensor(a, b) for a, b in zip(args, op._schema.arguments, strict=False)]
            if all(a is b for a, b in zip(tensors, args, strict=True)):
                raise
            why = None
        except (Decline, ValueError, TypeError) as error:
            why = reason(error)
        return call(*tensors, **kwargs) if why is None else fallback.run(op, args, kwargs, why)

    return call


def _tensor(value: Any, argument: Any) -> Any:
    if isinstance(value, (int, float, complex)) and "Tensor" in str(argument.type):
        return torch.tensor(value)
    return value


def inplace(op: Any, kernel: Kernel) -> Kernel:
    """Make the in-place form of a functional kernel: same computation, stored in the first argument."""
    adopt = runtime.ready
    if layout.elementwise(op):
        kernel = layout.follow(kernel)

    def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        adopt()
        try:
            a = resolve(self) if self.is_complex() else read(self)
            result = kernel(
                a,
                *_arrays(args, read),
                **dict(zip(kwargs, _arrays(kwargs.values(), read), strict=True)),
            )
            if result.shape != a.shape:
                raise Decline("the result's shape differs from the destination's")
            if result.dtype != a.dtype:
                result = _stored(result, a.dtype)
            if self.is_conj() or self.is_neg():
                raise Decline("the destination is a conjugated or negated view")
            write(self, result)
            return self
        except _PASS:
            raise
        except Exception as error:
            why = reason(error)
        return fallback.run(op, (self, *args), kwargs, why)

    return call


def _stored(result: Any, dtype: Any) -> Any:
    if category[result.dtype] > category[dtype]:
        raise Decline(f"a result of type {result.dtype} cannot be stored as {dtype}")
    return cast(result, dtype)


def out_variant(op: Any, kernel: Kernel, names: list[str]) -> Kernel:
    """Make the ``out=`` form of a functional kernel: results stored in the tensors `names`, resized where they are too small."""
    adopt = runtime.ready
    many = len(names) > 1

    def call(*args: Any, **kwargs: Any) -> Any:
        adopt()
        outs = [kwargs[n] for n in names]
        try:
            rest = {k: v for k, v in kwargs.items() if k not in names}
            named = dict(zip(rest, _arrays(rest.values(), resolve), strict=True))
            if (
                named.get("dtype", 0) is None
                and outs[0].dtype is not None
                and "dtype" in _DTYPE_FROM_OUT.get(op._schema.name, ())
            ):
                named["dtype"] = outs[0].dtype
            results = kernel(*_arrays(args, resolve), **named)
            results = list(results) if isinstance(results, (tuple, list)) else [results]
            for out, r in zip(outs, results, strict=True):
                if (
                    out.dtype not in to_mx
                    or out.device.type != "mlx"
                    or out.is_conj()
                    or out.is_neg()
                ):
                    raise Decline("the destination is not a plain device tensor")
                if r.dtype != to_mx[out.dtype] and not torch.can_cast(to_torch[r.dtype], out.dtype):
                    raise Decline("the result cannot be cast to the destination's dtype")
            for out, r in zip(outs, results, strict=True):
                store(out, cast(r, to_mx[out.dtype]))
            return tuple(outs) if many else outs[0]
        except _PASS:
            raise
        except Exception as error:
            why = reason(error)
        return fallback.run(op, args, kwargs, why)

    return call


_DTYPE_FROM_OUT = {
    "aten::sum": ("dtype",), "aten::mean": ("dtype",), "aten::prod": ("dtype",), "aten::cumsum": ("dtype",),
    "aten::cumprod": ("dtype",), "aten::nansum": ("dtype",), "aten::linalg_vector_norm": ("dtype",),
}  # fmt: skip
