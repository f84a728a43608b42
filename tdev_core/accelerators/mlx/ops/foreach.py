"""Lists of tensors at once: ``_foreach_*``.

A whole list is computed before any of it is written, so that a failure leaves the tensors as they were.
"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.dtypes import cast, category, to_mx
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.ops import extrema, norms
from tdev_core.accelerators.mlx.registry import OPERATORS, Decline, op
from tdev_core.accelerators.mlx.storage.allocation import wrap
from tdev_core.accelerators.mlx.storage.contents import read, write

Tensor = Any

_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac log log10 log1p log2 neg reciprocal round rsqrt
sigmoid sign sin sinh sqrt tan tanh trunc""".split()
_BINARY = {
    "add": ("List", "Scalar", "ScalarList", "Tensor"), "sub": ("List", "Scalar", "ScalarList"),
    "mul": ("List", "Scalar", "ScalarList", "Tensor"), "div": ("List", "Scalar", "ScalarList", "Tensor"),
    "pow": ("List", "Scalar", "ScalarList"), "maximum": ("List", "Scalar", "ScalarList"),
    "minimum": ("List", "Scalar", "ScalarList"), "clamp_max": ("List", "Scalar", "ScalarList"),
    "clamp_min": ("List", "Scalar", "ScalarList"), "lerp": ("List", "Scalar", "ScalarList"),
    "addcmul": ("Scalar", "ScalarList", "Tensor"), "addcdiv": ("Scalar", "ScalarList", "Tensor"),
}  # fmt: skip
_KERNELS = {
    "pow": "pow.Tensor_Tensor", "add": "add.Tensor", "sub": "sub.Tensor", "mul": "mul.Tensor", "div": "div.Tensor",
    "lerp": "lerp.Tensor", "clamp_max": "clamp_max.default", "clamp_min": "clamp_min.default",
}  # fmt: skip


def _array(t: Any) -> Any:
    return read(t) if isinstance(t, torch.Tensor) else t


def _each(kernel: Any, ternary: bool) -> Any:
    def run(self: list[Tensor], *args: Any, **kwargs: Any) -> list[Any]:
        kw = {k: _array(v) for k, v in kwargs.items()}
        if ternary and len(args) > 2:
            values = args[2]
            if isinstance(values, torch.Tensor):  # a vector of numbers on the host
                values = values.tolist()
            each = values if isinstance(values, (list, tuple)) else [values] * len(self)
            return [
                kernel(read(t), read(a), read(b), value=v)
                for t, a, b, v in zip(self, args[0], args[1], each, strict=True)
            ]
        columns = [a if isinstance(a, (list, tuple)) else [a] * len(self) for a in args]
        return [
            kernel(read(t), *map(_array, row), **kw) for t, *row in zip(self, *columns, strict=True)
        ]

    return run


def _list_ops(name: str, overload: str) -> None:
    base = f"_foreach_{name}"
    row = OPERATORS[_KERNELS.get(name, name + ".default")]
    kernel = {"maximum": extrema.clamp_min, "minimum": extrema.clamp_max}.get(name, row.kernel)
    run = _each(kernel, name in ("addcmul", "addcdiv"))

    @op(f"{base}.{overload}", mlx=row.mlx, note="one call for the whole list", raw=True)
    def functional(self: Any, *args: Any, **kwargs: Any) -> Any:
        return [wrap(r) for r in run(on_device(self), *args, **kwargs)]

    @op(f"{base}_.{overload}", mlx=row.mlx, note="one call for the whole list", raw=True)
    def inplace(self: Any, *args: Any, **kwargs: Any) -> None:
        results = run(on_device(self), *args, **kwargs)
        _store(self, results)


def on_device(tensors: Any) -> Any:
    """Give `tensors` back; declines where one of them is kept in host memory."""
    if any(t.dtype not in to_mx or t.is_conj() for t in tensors):
        raise Decline("a list with tensors that are kept in host memory")
    return tensors


def _store(tensors: Any, results: list[Any]) -> None:
    for t, r in zip(tensors, results, strict=True):
        if r.shape != t.shape or category[r.dtype] > category[to_mx[t.dtype]]:
            raise Decline("a result does not fit its tensor")
    for t, r in zip(tensors, results, strict=True):
        write(t, cast(r, to_mx[t.dtype]))


for _name in _UNARY:
    _list_ops(_name, "default")
for _name, _overloads in _BINARY.items():
    for _overload in _overloads:
        _list_ops(_name, _overload)


@op("_foreach_zero_", mlx="mx.zeros", raw=True)
def foreach_zero_(self: Any) -> None:
    for t in on_device(self):
        write(t, mx.zeros(tuple(t.shape), dtype=to_mx[t.dtype]))


@op("_foreach_copy_", mlx="mx.astype", raw=True)
def foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> None:
    for t, s in zip(self, src, strict=True):
        t.copy_(s)


@op("_foreach_norm.Scalar", mlx="mx.linalg.norm", raw=True)
def foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    return [wrap(norms.vector_norm(read(t), ord, dtype=dtype)) for t in on_device(self)]
