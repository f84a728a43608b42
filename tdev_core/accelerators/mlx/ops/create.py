"""Factories: tensors made from numbers. They fall to the device's kernels because ``device=`` names it."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import mx_dtype, scalar_like
from tdev_core.accelerators.mlx.lazy import mx, np, torch
from tdev_core.accelerators.mlx.registry import Decline, op
from tdev_core.accelerators.mlx.storage.allocation import check_device
from tdev_core.accelerators.mlx.storage.transfer import upload

Array = Any


def _number_dtype(dtype: Any, *values: Any) -> Any:
    if dtype is not None:
        return dtype
    return torch.get_default_dtype() if any(isinstance(v, float) for v in values) else torch.int64


def _one_device(device: Any) -> None:
    check_device(device)
    if device is not None and torch.device(device).type != "mlx":
        raise Decline("a factory for another device")


@op("full", mlx="mx.full")
def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> Array:
    _one_device(device)
    if dtype is None:
        kind = type(fill_value)
        dtype = (
            torch.bool
            if kind is bool
            else torch.int64
            if kind is int
            else torch.get_default_dtype()
        )
        if kind is complex:
            dtype = torch.complex64
    return mx.broadcast_to(scalar_like(fill_value, mx_dtype(dtype)), tuple(size))


@op("arange", "arange.start", "arange.start_step", mlx="mx.arange")
def arange(*bounds: Any, dtype: Any = None, device: Any = None, **_: Any) -> Array:
    _one_device(device)
    start, end, step = (
        (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    )
    mlx = mx_dtype(_number_dtype(dtype, start, end, step))
    if step == 0 or (end - start) * step < 0 or not math.isfinite(start) or not math.isfinite(end):
        raise Decline("upper bound and lower bound inconsistent with step sign")
    if (
        all(isinstance(v, int) for v in (start, end, step))
        and mlx in (mx.int64, mx.int32)
        and abs(end) < 2**31
        and abs(start) < 2**31
    ):
        return mx.arange(start, end, step, dtype=mlx)
    n = math.ceil((end - start) / step)
    values = (
        start + np.arange(n) * step
        if isinstance(step, float) or isinstance(start, float)
        else np.arange(n, dtype=np.int64) * step + start
    )
    return _as(values, mlx)


def _as(values: Any, mlx: Any) -> Array:
    """Compute numbers in float64 on the host, rounded once."""
    if mlx == mx.bool_:
        return mx.array(values != 0)
    if values.dtype == np.float64 and mlx in (mx.float32, mx.float16, mx.bfloat16):
        return mx.array(values.astype(np.float32)).astype(mlx)
    if values.dtype == np.float64 and mlx != mx.complex64:
        return mx.array(np.trunc(values).astype(np.int64)).astype(mlx)
    return mx.array(values.astype(np.complex64) if mlx == mx.complex64 else values).astype(mlx)


@op("linspace", mlx="mx.linspace", note="computed on the host in float64 and rounded once")
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, **_: Any
) -> Array:
    _one_device(device)
    mlx = mx_dtype(dtype or torch.get_default_dtype())
    if steps < 0 or isinstance(start, complex) or isinstance(end, complex):
        raise Decline("number of steps must be non-negative, ends real")
    if mlx in (mx.float32, mx.float16, mx.bfloat16):
        return _as(np.linspace(start, end, steps), mlx)
    raise Decline("linspace over integers or complex numbers")


@op("eye", "eye.m", mlx="mx.eye")
def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, **_: Any) -> Array:
    _one_device(device)
    columns = n if m is None else m
    if n < 0 or columns < 0:
        raise Decline("n and m must be greater or equal to 0")
    diagonal = mx.expand_dims(mx.arange(n), 1) == mx.arange(columns)
    return diagonal.astype(mx_dtype(dtype or torch.get_default_dtype()))


@op(
    "kaiser_window",
    "kaiser_window.periodic",
    "kaiser_window.beta",
    mlx="mx.array",
    note="computed on the host",
)
def kaiser_window(
    length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    device: Any = None,
    **_: Any,
) -> Array:
    _one_device(device)
    dtype = dtype or torch.get_default_dtype()
    mx_dtype(dtype)
    return upload(torch.kaiser_window(length, periodic, beta, dtype=dtype, device="cpu"))


@op("tril_indices", mlx="mx.array", note="computed on the host")
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **_: Any
) -> Array:
    _one_device(device)
    return mx.array(np.stack(np.tril_indices(row, offset, col)).astype(np.int64)).astype(
        mx_dtype(dtype or torch.int64)
    )


@op("triu_indices", mlx="mx.array", note="computed on the host")
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **_: Any
) -> Array:
    _one_device(device)
    return mx.array(np.stack(np.triu_indices(row, offset, col)).astype(np.int64)).astype(
        mx_dtype(dtype or torch.int64)
    )


def _like(name: str, value: int) -> None:
    @op(f"{name}_like", mlx=f"mx.{name}_like")
    def kernel(
        x: Array,
        *,
        dtype: Any = None,
        device: Any = None,
        memory_format: Any = None,
        layout: Any = None,
        **_: Any,
    ) -> Array:
        _one_device(device)
        if memory_format not in (
            None,
            torch.preserve_format,
            torch.contiguous_format,
        ) or layout not in (None, torch.strided):
            raise Decline("another memory format or layout")
        return mx.broadcast_to(
            mx.array(value, dtype=x.dtype if dtype is None else mx_dtype(dtype)), x.shape
        )

    @op(name, mlx=f"mx.{name}")
    def factory(size: Any, *, dtype: Any = None, device: Any = None, **kwargs: Any) -> Array:
        return full(size, value, dtype=dtype or torch.get_default_dtype(), device=device)

    @op(f"new_{name}", mlx=f"mx.{name}")
    def method(x: Array, size: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> Array:
        _one_device(device)
        return mx.broadcast_to(
            mx.array(value, dtype=x.dtype if dtype is None else mx_dtype(dtype)), tuple(size)
        )


_like("zeros", 0)
_like("ones", 1)


@op("full_like", mlx="mx.full")
def full_like(
    x: Array,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    memory_format: Any = None,
    layout: Any = None,
    **_: Any,
) -> Array:
    _one_device(device)
    return mx.broadcast_to(
        scalar_like(fill_value, x.dtype if dtype is None else mx_dtype(dtype)), x.shape
    )


@op("scalar_tensor", mlx="mx.array")
def scalar_tensor(value: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> Array:
    _one_device(device)
    return scalar_like(value, mx_dtype(dtype or torch.get_default_dtype()))
