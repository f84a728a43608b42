"""Allocation, copies and views: the operators that deal in storages, so their kernels see torch tensors."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

from tdev_core.accelerators.mlx import allocation, runtime, storage, transfer
from tdev_core.accelerators.mlx.allocation import new, wrap
from tdev_core.accelerators.mlx.dtypes import cast, mx_dtype, scalar_like, to_mx, to_torch
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.registry import Decline, op
from tdev_core.accelerators.mlx.storage import read, resolve, wrap_host, write
from tdev_core.backend import unsupported
from tdev_core.errors import no_memory

Tensor = Any

_INT32 = 2**31 - 1


def _strides(shape: tuple[int, ...], memory_format: Any) -> tuple[int, ...] | None:
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
    """A tensor with zeros in its storage (MLX has no uninitialised memory; the zeros are not written before use)."""
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
        unsupported(
            f"a dimension of {max(shape):,} elements",
            "MLX counts the elements of a dimension in 32 bits",
            "use more dimensions, or keep the tensor on the CPU",
        )


@lru_cache(maxsize=1)
def _capacity() -> int:
    from tdev_core.accelerators.mlx.accelerator import MlxAccelerator

    return MlxAccelerator().total(0)


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
    return allocate(size, dtype, _strides(tuple(size), memory_format))


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
    span = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    return as_strided(allocate((span,), dtype), size, stride, 0)


@op(
    "as_strided",
    mlx="mx.as_strided",
    note="a view of the storage; the array is re-read through it",
    raw=True,
)
def as_strided(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    return _native("as_strided", "default")(
        torch._C.DispatchKey.CPU, x, size, stride, storage_offset
    )


@op("view", "_unsafe_view", mlx="mx.reshape", note="a view of the storage", raw=True)
def view(x: Tensor, size: Any) -> Tensor:
    return _native("view", "default")(torch._C.DispatchKey.CPU, x, size)


@op("_reshape_alias", mlx="mx.as_strided", note="a view of the storage", raw=True)
def reshape_alias(x: Tensor, size: Any, stride: Any) -> Tensor:
    return as_strided(x, size, stride, x.storage_offset())


@op("unfold", mlx="mx.as_strided", note="a view of the storage", raw=True)
def unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return _native("unfold", "default")(torch._C.DispatchKey.CPU, x, dimension, size, step)


@op(
    "view.dtype",
    mlx="mx.view",
    note="a view of the storage, whose array is reinterpreted on reading",
    raw=True,
)
def view_dtype(x: Tensor, dtype: Any) -> Tensor:
    storage.share_dtypes(x, dtype)
    return _native("view", "dtype")(torch._C.DispatchKey.CompositeExplicitAutograd, x, dtype)


@op("view_as_real", mlx="mx.view", note="a view of the storage", raw=True)
def view_as_real(x: Tensor) -> Tensor:
    storage.share_dtypes(x, torch.float64 if x.dtype is torch.complex128 else torch.float32)
    return _native("view_as_real", "default")(torch._C.DispatchKey.CPU, x)


@op("view_as_complex", mlx="mx.view", note="a view of the storage", raw=True)
def view_as_complex(x: Tensor) -> Tensor:
    if x.dtype is torch.float16:
        raise RuntimeError("view_as_complex: complex32 tensors are not supported on device 'mlx'")
    storage.share_dtypes(x, torch.complex128 if x.dtype is torch.float64 else torch.complex64)
    return _native("view_as_complex", "default")(torch._C.DispatchKey.CPU, x)


ALONE = {"as_strided": "as_strided", "view": "view", "_unsafe_view": "view", "unfold": "unfold"}


def alone(overload: str) -> Any:
    """What answers a view operator without any Python in between, or None: torch's own kernel, bound to its key."""
    name, _, variant = overload.partition(".")
    if variant != "default" or name not in ALONE:
        return None
    return partial(_native(ALONE[name], variant), torch._C.DispatchKey.CPU)


_found: dict[tuple[str, str], Any] = {}


def _native(name: str, overload: str) -> Any:
    """torch's own C++ kernel of a view operator; it only computes strides and reads no data."""
    try:
        return _found[name, overload]
    except KeyError:
        found = getattr(getattr(torch.ops.aten, name), overload)._op_dk
        _found[name, overload] = found
        return found


@op(
    "clone",
    mlx="",
    note="arrays are values: a clone shares the array until either is written to",
    raw=True,
)
def clone(x: Tensor, *, memory_format: Any = None) -> Tensor:
    if x.dtype not in to_mx:
        return wrap_host(storage.host(x), strided=memory_format in (None, torch.preserve_format))
    return laid_out(resolve(x), x, memory_format)


def laid_out(a: Any, x: Tensor, memory_format: Any) -> Tensor:
    """`a` as a tensor with the strides that `memory_format` asks for; preserve_format takes those of `x` when dense."""
    if x.is_contiguous() and memory_format in (
        None,
        torch.contiguous_format,
        torch.preserve_format,
    ):
        return wrap(a)
    shape = tuple(x.shape)
    strides = _strides(shape, memory_format)
    if (
        strides is None
        and memory_format in (None, torch.preserve_format)
        and allocation.is_dense(x)
    ):
        strides = x.stride()
    if strides is None or strides == allocation.contiguous_strides(shape) or not a.size:
        return wrap(a)
    order = sorted(range(len(shape)), key=lambda i: (-strides[i], -shape[i]))
    t = new(shape, x.dtype if to_mx.get(x.dtype) == a.dtype else to_torch[a.dtype], strides)
    held: Any = t.untyped_storage()
    held._mx = mx.transpose(a, order)
    runtime.remember(held._mx)
    return t


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
    """``aten._to_copy`` on the device; moves to other devices are torch's own (empty, then copy_)."""
    target = dtype or x.dtype
    away = device is not None and torch.device(device).type != "mlx"
    if away or x.device.type != "mlx" or x.dtype not in to_mx or target not in to_mx:
        return _native("_to_copy", "default")(
            torch._C.DispatchKey.CompositeExplicitAutograd, x, dtype=dtype, layout=layout, device=device,
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
    value = storage.host(src) if src.device.type == "mlx" else src
    s = x.untyped_storage()
    data = storage.storage_bytes(x) if not hasattr(s, "_host") else s._host
    twin = torch.empty(0, dtype=x.dtype).set_(data, x.storage_offset(), x.shape, x.stride())
    if x.is_conj():
        twin = twin.conj()
    if x.is_neg():
        twin = torch._neg_view(twin)
    twin.copy_(value)
    storage.replace_bytes(x, data)
    return x


@op("_copy_from", mlx="mx.array", note="to and from the host", raw=True)
def copy_from(src: Tensor, dst: Tensor, non_blocking: bool = False) -> Tensor:
    if dst.device.type == "mlx":
        return copy_(dst, src)
    dst.copy_(storage.host(src))
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
        return storage.host(x).item()
    from tdev_core.accelerators.mlx import runtime

    return runtime.item(resolve(x))


@op("resize_", mlx="mx.concatenate", raw=True)
def resize_(x: Tensor, size: Any, *, memory_format: Any = None) -> Tensor:
    size = tuple(size)
    if size == tuple(x.shape):
        return x
    strides = _strides(size, memory_format) or allocation.contiguous_strides(size)
    wanted = (
        1 + sum((n - 1) * s for n, s in zip(size, strides, strict=True)) if 0 not in size else 0
    )
    held = x.untyped_storage().nbytes() // x.dtype.itemsize
    if wanted + x.storage_offset() <= held:
        x.data = as_strided(x, size, strides, x.storage_offset())
        return x
    grown = allocate((wanted + x.storage_offset(),), x.dtype)
    if held:
        old = as_strided(x.detach(), (held,), (1,), 0)
        grown[:held].copy_(old)
    x.data = as_strided(grown, size, strides, x.storage_offset())
    return x


@op("set_.source_Tensor", mlx="", note="the tensor takes another's storage", raw=True)
def set_tensor(x: Tensor, source: Tensor) -> Tensor:
    x.data = as_strided(source, source.shape, source.stride(), source.storage_offset())
    return x


@op("set_", mlx="", note="the tensor takes an empty storage", raw=True)
def set_empty(x: Tensor) -> Tensor:
    x.data = allocate((0,), x.dtype)
    return x


@op("set_.source_Storage", mlx="", note="the tensor takes a storage", raw=True)
def set_storage(x: Tensor, source: Any) -> Tensor:
    return set_strided(x, source, 0, (source.nbytes() // x.dtype.itemsize,), (1,))


@op("set_.source_Storage_storage_offset", mlx="", note="the tensor takes a storage", raw=True)
def set_strided(x: Tensor, source: Any, storage_offset: int, size: Any, stride: Any = ()) -> Tensor:
    size = tuple(size)
    stride = tuple(stride) if len(stride) == len(size) else allocation.contiguous_strides(size)
    span = storage_offset + (
        1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    )
    if span * x.dtype.itemsize > source.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)} and offset {storage_offset} need "
            f"{span * x.dtype.itemsize} bytes; the storage on device 'mlx' has {source.nbytes()} and cannot grow"
        )
    fresh = torch._C._acc.create_empty_tensor((0,), x.dtype)
    fresh = _native("set_", "source_Storage_storage_offset")(
        torch._C.DispatchKey.CPU, fresh, source, storage_offset, size, stride
    )
    if not any(hasattr(source, n) for n in ("_mx", "_raw", "_host", "_later")):
        raise RuntimeError("this storage on device 'mlx' holds no data: tdev did not make it")
    storage.settle(source)
    held = getattr(source, "_mx", None)
    if held is None or x.dtype not in to_mx or to_mx[x.dtype] != held.dtype:
        storage.share_dtypes(fresh, x.dtype)
    x.data = fresh
    return x
