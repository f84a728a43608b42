"""The layouts that device ``mlx`` makes its tensors by, of torch, of DLPack and of CPython; no other module knows them.

* torch reads DLPack's extension device as PrivateUse1. A tensor made from such a capsule gets a storage of its true size,
  five times cheaper than ``set_`` on an empty tensor.
* torch keeps a pointer to the DLPack struct as long as a tensor made from it lives, even past the interpreter's end:
  structs are never freed (`struct_of`).
* torch renames a capsule that it has consumed, in CPython's own struct; writing the old name back makes the capsule whole
  again (`refillable`).
* DLPack has no float8 and no 32-bit complex numbers; torch then takes a bare address (`at_address`).

Source: ``dlpack.h`` 1.0; ``aten/src/ATen/DLConvertor.cpp``; ``Objects/capsule.c`` of CPython.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import Any

from tdev_core.accelerators.mlx.lazy import torch
from tdev_core.accelerators.privateuse.dlpack import EXTENSION_DEVICE, NAME, ManagedTensor, capsule

__all__ = ["NAME_AT", "Refillable", "Shape", "Struct", "at_address", "refillable", "struct_of"]

Shape = tuple[int, ...]

Struct = tuple[ManagedTensor, int]
"""A DLPack struct without a data pointer, and its own address."""

Refillable = tuple[Any, Any, Any]
"""The struct's data pointer, the capsule's name and the capsule.

Before each use the caller assigns the ``value`` of the first, the new storage's address, and of the second, `NAME_AT`.
A plain tuple, because it is unpacked for each result of each operator.
"""

_INT64 = ctypes.sizeof(ctypes.c_int64)
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_malloc = ctypes.pythonapi.PyMem_RawMalloc
_malloc.restype = ctypes.c_void_p
_malloc.argtypes = [ctypes.c_size_t]

_KINDS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), 0),
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), 1),
    **dict.fromkeys(("float16", "float32", "float64"), 2),
    "bfloat16": 4,
    **dict.fromkeys(("complex64", "complex128"), 5),
    "bool": 6,
}
"""torch's element types by name -> ``DLDataTypeCode``."""

_name = ctypes.create_string_buffer(NAME)
NAME_AT = ctypes.addressof(_name)
"""Where the name of a capsule is that nobody has consumed yet."""

_without_gil = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def struct_of(shape: Shape, dtype: Any, strides: Shape | None) -> Struct | None:
    """Make the DLPack struct of tensors of one shape and element type; None where DLPack has no such type.

    Struct, shape and strides lie in one block, which is never freed.
    """
    kind = _KINDS.get(str(dtype).removeprefix("torch."))
    if kind is None:
        return None
    n = len(shape)
    address = _malloc(ctypes.sizeof(ManagedTensor) + 2 * n * _INT64)
    shape_at = address + ctypes.sizeof(ManagedTensor)
    strides_at = shape_at + n * _INT64
    struct = ManagedTensor.from_address(address)
    struct.data, struct.offset = 0, 0
    struct.device_type, struct.device_id = EXTENSION_DEVICE, 0
    struct.code, struct.bits, struct.lanes = kind, dtype.itemsize * 8, 1
    struct.ndim, struct.shape, struct.strides = n, shape_at, None
    struct.context, struct.deleter = None, None
    (ctypes.c_int64 * n).from_address(shape_at)[:] = list(shape)
    if strides is not None:
        (ctypes.c_int64 * n).from_address(strides_at)[:] = list(strides)
        struct.strides = strides_at
    return struct, address


def refillable(address: int) -> Refillable | None:
    """Put the struct at `address` in a capsule that can be consumed more than once; None where that cannot be.

    Making a capsule anew is a call through ctypes, a tenth of what an operator costs; writing the old name back is one
    assignment. That takes the layout of CPython's capsules (header, pointer, name, context, destructor), which is looked
    at here, and the GIL, so that nobody comes between the assignment and the call.
    """
    if _without_gil or sys.implementation.name != "cpython":
        return None
    made = capsule(address, _name)
    pointer_at = id(made) + object.__basicsize__
    pointer = ctypes.c_void_p.from_address(pointer_at)
    name = ctypes.c_void_p.from_address(pointer_at + _POINTER)
    if pointer.value != address or name.value != NAME_AT:
        return None
    return ctypes.c_void_p.from_address(address), name, made


def at_address(address: int, shape: Shape, dtype: Any, strides: Shape, nbytes: int) -> torch.Tensor:
    """Make a tensor over a storage of `nbytes` at `address`, without DLPack."""
    storage = torch._C._construct_storage_from_data_pointer(address, torch.device("mlx", 0), nbytes)
    empty = torch._C._acc.create_empty_tensor((0,), dtype)
    set_ = torch.ops.aten.set_.source_Storage_storage_offset
    return set_._op_dk(torch._C.DispatchKey.CPU, empty, storage, 0, shape, strides)  # type: ignore[no-any-return]
