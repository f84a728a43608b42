"""Tensors that take another storage, or another shape over their own: ``resize_`` and ``set_``.

Only metadata changes, by way of ``x.data``: torch's own kernels would grow a storage on the device ``meta``.
"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.dtypes import to_mx
from tdev_core.accelerators.mlx.lazy import torch_api
from tdev_core.accelerators.mlx.ops.aliasing import as_strided
from tdev_core.accelerators.mlx.ops.memory import allocate, strides_of
from tdev_core.accelerators.mlx.registry import op
from tdev_core.accelerators.mlx.storage import allocation, contents

Tensor = Any


@op("resize_", mlx="mx.concatenate", raw=True)
def resize_(x: Tensor, size: Any, *, memory_format: Any = None) -> Tensor:
    size = tuple(size)
    if size == tuple(x.shape):
        return x
    strides = strides_of(size, memory_format) or allocation.contiguous_strides(size)
    wanted = allocation.extent(size, strides)
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
    span = storage_offset + allocation.extent(size, stride)
    if span * x.dtype.itemsize > source.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)} and offset {storage_offset} need "
            f"{span * x.dtype.itemsize} bytes; the storage on device 'mlx' has {source.nbytes()} and cannot grow"
        )
    fresh = torch_api.tensor_over(source, 0, x.dtype, size, stride, storage_offset)
    if not any(hasattr(source, n) for n in ("_mx", "_raw", "_host", "_later")):
        raise RuntimeError("this storage on device 'mlx' holds no data: tdev did not make it")
    contents.settle(source)
    held = getattr(source, "_mx", None)
    if held is None or x.dtype not in to_mx or to_mx[x.dtype] != held.dtype:
        contents.share_dtypes(fresh, x.dtype)
    x.data = fresh
    return x
