"""Allocation and copies: the operators that fill storages, so their kernels see torch tensors."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import cast, mx_dtype, scalar_like, to_mx, to_torch
from tdev_core.accelerators.mlx.lazy import mx, torch, torch_api
from tdev_core.accelerators.mlx.ops.aliasing import as_strided
from tdev_core.accelerators.mlx.registry import Decline, op
from tdev_core.accelerators.mlx.storage import allocation, contents, transfer
from tdev_core.accelerators.mlx.storage.allocation import new, wrap, wrap_strided
from tdev_core.accelerators.mlx.storage.contents import read, resolve, wrap_host, write
from tdev_core.errors import UnsupportedError, no_memory

Tensor = Any

_INT32 = 2**31 - 1


def strides_of(shape: tuple[int, ...], memory_format: Any) -> tuple[int, ...] | None:
    """Compute the strides that a memory format asks for; None where it asks for none."""
    if memory_format in (None, torch.contiguous_format, torch.preserve_format):
        return None
    n = len(shape)
    if memory_format is torch.channels_last and n == 4:
        order: tuple[int, ...] = (0, 2, 3, 1)
    elif memory_format is torch.channels_last_3d and n == 5:
        order = (0, 2, 3, 4, 1)
    else:
        raise RuntimeError(
            f"required rank {5 if memory_format is torch.channels_last_3d else 4} tensor to use {memory_format} format"
        )
    strides, step = [0] * n, 1
    for i in reversed(order):
        strides[i] = step
        step *= max(shape[i], 1)
    return tuple(strides)


def allocate(shape: Any, dtype: Any, strides: tuple[int, ...] | None = None) -> Tensor:
    """Make a tensor with zeros in its storage (MLX has no uninitialised memory; the zeros are not written before use)."""
    shape = tuple(shape)
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    dtype = dtype or torch.get_default_dtype()
    if dtype.is_complex and dtype.itemsize == 4 or dtype.is_signed is None:
        raise RuntimeError(f"{dtype} tensors are not supported on device 'mlx'")
    _check_size(math.prod(shape) * dtype.itemsize, shape)
    t = new(shape, dtype, strides)
    s = t.untyped_storage()
    mlx = to_mx.get(dtype)
    if mlx is None:
        s._host = torch.UntypedStorage(s.nbytes())  # type: ignore[attr-defined]
        torch.empty(0, dtype=torch.uint8).set_(s._host).zero_()  # type: ignore[attr-defined]
    else:
        s._mx = mx.zeros((s.nbytes() // dtype.itemsize,) if strides else shape, dtype=mlx)  # type: ignore[attr-defined]
    return t


def _check_size(nbytes: int, shape: tuple[int, ...]) -> None:
    # MLX's allocator on Linux does not look at what the system answers, and crashes when the array is written.
    if nbytes > _capacity():
        raise torch.OutOfMemoryError(
            no_memory(
                "mlx:0",
                f"Tried to allocate {nbytes / 2**30:.2f} GiB. "
                f"GPU 0 has a total capacity of {_capacity() / 2**30:.2f} GiB.",
            )
        )
    if nbytes > _INT32 and max(shape) > _INT32:
        raise UnsupportedError(
            f"a dimension of {max(shape):,} elements is not supported on the 'mlx' backend: MLX counts the elements "
            "of a dimension in 32 bits. Instead: use more dimensions, or keep the tensor on the CPU.",
            "TDEV106",
        )


@lru_cache(maxsize=1)
def _capacity() -> int:
    return runtime.total_memory()


def _strided_layout(layout: Any) -> None:
    if layout is not None and layout is not torch.strided:
        raise RuntimeError(f"device 'mlx' has no tensors of layout {layout}; build them on the CPU")


@op("empty.memory_format", mlx="mx.zeros", raw=True)
def empty(
    size: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    memory_format: Any = None,
) -> Tensor:
    _strided_layout(layout)
    allocation.check_device(device)
    if pin_memory:
        raise RuntimeError("Cannot pin 'mlx' tensors: only dense CPU tensors can be pinned")
    return allocate(size, dtype, strides_of(tuple(size), memory_format))


@op("empty_strided", mlx="mx.zeros", raw=True)
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Tensor:
    _strided_layout(layout)
    allocation.check_device(device)
    size, stride = tuple(size), tuple(stride)
    if stride == allocation.contiguous_strides(size):
        return allocate(size, dtype)
    if 0 in size:
        return as_strided(allocate((0,), dtype), size, stride, 0)
    return as_strided(allocate((allocation.extent(size, stride),), dtype), size, stride, 0)


@op(
    "clone",
    mlx="",
    note="arrays are values: a clone shares the array until either is written to",
    raw=True,
)
def clone(x: Tensor, *, memory_format: Any = None) -> Tensor:
    if x.dtype not in to_mx:
        return wrap_host(contents.host(x), strided=memory_format in (None, torch.preserve_format))
    return laid_out(resolve(x), x, memory_format)


def laid_out(a: Any, x: Tensor, memory_format: Any) -> Tensor:
    """Make a tensor of `a` with the strides that `memory_format` asks for; preserve_format takes those of `x` when dense."""
    if x.is_contiguous() and memory_format in (
        None,
        torch.contiguous_format,
        torch.preserve_format,
    ):
        return wrap(a)
    shape = tuple(x.shape)
    strides = strides_of(shape, memory_format)
    if (
        strides is None
        and memory_format in (None, torch.preserve_format)
        and allocation.is_dense(x)
    ):
        strides = x.stride()
    if strides is None or strides == allocation.contiguous_strides(shape) or not a.size:
        return wrap(a)
    dtype = x.dtype if to_mx.get(x.dtype) == a.dtype else to_torch[a.dtype]
    return wrap_strided(a, dtype, strides)


def to_copy(
    x: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Answer ``aten._to_copy`` on the device; moves to other devices are torch's own (empty, then copy_)."""
    target = dtype or x.dtype
    away = device is not None and torch.device(device).type != "mlx"
    if away or x.device.type != "mlx" or x.dtype not in to_mx or target not in to_mx:
        return torch_api.kernel("_to_copy", key="CompositeExplicitAutograd")(
            x, dtype=dtype, layout=layout, device=device,
            pin_memory=pin_memory, non_blocking=False, memory_format=memory_format,
        )  # fmt: skip  # asked not to block, torch would want pinned memory, which this device has no use for
    _strided_layout(layout)
    allocation.check_device(device)
    return laid_out(cast(resolve(x), to_mx[target]), x, memory_format)


@op("copy_", mlx="mx.astype, mx.broadcast_to", raw=True)
def copy_(x: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    if x.device.type != "mlx":
        return copy_from(src, x)
    if x.is_conj() or x.is_neg() or x.dtype not in to_mx or src.dtype not in to_mx:
        return _copy_on_host(x, src)
    if src.device.type == "mlx":
        a = resolve(src)
    elif src.device.type == "cpu":
        a = transfer.upload(src.detach().resolve_conj().resolve_neg())
    else:
        raise RuntimeError(f"cannot copy from device '{src.device}' to 'mlx'")
    a = cast(a, to_mx[x.dtype])
    if a.shape != x.shape:
        if not _broadcasts(a.shape, tuple(x.shape)):
            raise RuntimeError(
                f"The expanded size of the tensor {tuple(x.shape)} must match the existing size {tuple(a.shape)} of the copied tensor"
            )
        a = mx.broadcast_to(
            mx.reshape(a, a.shape[a.ndim - x.dim() :]) if a.ndim > x.dim() else a, tuple(x.shape)
        )
    write(x, a)
    return x


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    extra = len(shape) - len(target)
    if extra > 0 and any(n != 1 for n in shape[:extra]):
        return False
    return all(n in (1, m) for n, m in zip(reversed(shape), reversed(target), strict=False))


def _copy_on_host(x: Tensor, src: Tensor) -> Tensor:
    value = contents.host(src) if src.device.type == "mlx" else src
    s = x.untyped_storage()
    with runtime.lock:
        data = contents.storage_bytes(x) if not hasattr(s, "_host") else s._host
        twin = torch.empty(0, dtype=x.dtype).set_(data, x.storage_offset(), x.shape, x.stride())
        if x.is_conj():
            twin = twin.conj()
        if x.is_neg():
            twin = torch._neg_view(twin)
        twin.copy_(value)
        contents.replace_bytes(x, data)
    return x


@op("_copy_from", mlx="mx.array", note="to and from the host", raw=True)
def copy_from(src: Tensor, dst: Tensor, non_blocking: bool = False) -> Tensor:
    if dst.device.type == "mlx":
        return copy_(dst, src)
    dst.copy_(contents.host(src))
    return dst


@op("_copy_from_and_resize", mlx="mx.array", note="to and from the host", raw=True)
def copy_from_and_resize(src: Tensor, dst: Tensor) -> Tensor:
    dst.resize_(src.shape)
    return copy_from(src, dst)


@op("fill_.Scalar", "fill_.Tensor", mlx="mx.full", raw=True)
def fill_(x: Tensor, value: Any) -> Tensor:
    mlx = mx_dtype(x.dtype)
    if x.is_conj() or x.is_neg():
        raise Decline("fill_ of a conjugated or negated view")
    if isinstance(value, torch.Tensor):
        if value.dim():
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
            )
        a = cast(read(value), mlx)
    else:
        a = _filler(value, mlx)
    write(x, mx.broadcast_to(a, tuple(x.shape)))
    return x


def _filler(value: Any, mlx: Any) -> Any:
    if isinstance(value, complex) and mlx != mx.complex64:
        raise RuntimeError("value cannot be converted to type without overflow")
    return scalar_like(value, mlx)


@op("zero_", mlx="mx.zeros", raw=True)
def zero_(x: Tensor) -> Tensor:
    write(x, mx.zeros(tuple(x.shape), dtype=mx_dtype(x.dtype)))
    return x


@op("_efficientzerotensor", mlx="mx.zeros", raw=True)
def efficientzerotensor(
    size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    return allocate(size, dtype)


@op("_local_scalar_dense", mlx="array.item", note="waits for the device", raw=True)
def local_scalar_dense(x: Tensor) -> Any:
    if x.dtype not in to_mx:
        return contents.host(x).item()
    return runtime.item(resolve(x))
