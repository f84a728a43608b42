"""The layouts that device ``mlx`` makes its tensors by, of torch, of DLPack and of CPython; no other module knows them.

* torch reads DLPack's extension device as PrivateUse1. A tensor made from such a capsule gets a storage of its true size,
  five times cheaper than ``set_`` on an empty tensor.
* torch reads a struct's shape while it makes a tensor, and keeps a pointer to the struct as long as the tensor lives,
  even past the interpreter's end: structs are never freed, but they are written anew for other shapes (`Struct`).
* torch renames a capsule that it has consumed, in CPython's own struct; writing the old name back makes the capsule whole
  again (`Struct.refillable`).
* DLPack has no float8 and no 32-bit complex numbers; torch then takes a bare address (`at_address`).

Structs and capsules are made by the public names of DLPack and of CPython. What is nobody's promise is where CPython
keeps a capsule's name: it is looked at once, and without it every tensor takes a capsule of its own.

Source: ``dlpack.h`` 1.0; ``aten/src/ATen/DLConvertor.cpp``; ``Objects/capsule.c`` of CPython.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from tdev_core.accelerators.mlx.lazy import torch, torch_api
from tdev_core.accelerators.privateuse.dlpack import EXTENSION_DEVICE, NAME, ManagedTensor, capsule
from tdev_core.internals import lose

__all__ = ["NAME_AT", "Refillable", "Shape", "Struct", "at_address", "code_of"]

Shape = tuple[int, ...]

Refillable = tuple[Any, Any, Any]
"""A struct's data pointer, its capsule's name and the capsule.

Before each use the caller assigns the ``value`` of the first, the new storage's address, and of the second, `NAME_AT`.
A plain tuple, because it is unpacked for each result of each operator.
"""

_INT64 = ctypes.sizeof(ctypes.c_int64)
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_malloc = ctypes.pythonapi.PyMem_RawMalloc
_malloc.restype = ctypes.c_void_p
_malloc.argtypes = [ctypes.c_size_t]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]

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


def code_of(dtype: Any) -> int | None:
    """Find DLPack's code of a torch element type; None where it has none."""
    return _KINDS.get(str(dtype).removeprefix("torch."))


class Struct:
    """A DLPack struct of `dimensions` dimensions, to make any number of tensors from; one thread's at a time.

    Struct, shape and strides lie in one block, which is never freed.
    """

    __slots__ = ("_fields", "_shape", "_strides", "address", "dimensions", "refillable")

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.address = _malloc(ctypes.sizeof(ManagedTensor) + 2 * dimensions * _INT64)
        sizes = ctypes.c_int64 * dimensions
        self._fields = fields = ManagedTensor.from_address(self.address)
        fields.shape = shape_at = self.address + ctypes.sizeof(ManagedTensor)
        self._shape = sizes.from_address(shape_at)
        self._strides = sizes.from_address(shape_at + dimensions * _INT64)
        fields.data, fields.offset = 0, 0
        fields.device_type, fields.device_id = EXTENSION_DEVICE, 0
        fields.lanes, fields.ndim = 1, dimensions
        fields.context, fields.deleter = None, None
        self.refillable = _refillable(self.address)

    def describe(self, shape: Shape, code: int, itemsize: int, strides: Shape | None) -> None:
        """Write what the tensors made from now on have: shape, element type and, unless they are contiguous, strides."""
        self._fields.code, self._fields.bits = code, itemsize * 8
        self._shape[:] = list(shape)
        if strides is None:
            self._fields.strides = None
        else:
            self._strides[:] = list(strides)
            self._fields.strides = ctypes.addressof(self._strides)

    def at(self, data: int) -> Any:
        """Give a capsule for one tensor, whose storage is at the address `data`."""
        if self.refillable is None:
            self._fields.data = data
            return capsule(self.address, _name)
        address, name, made = self.refillable
        address.value = data
        name.value = NAME_AT
        return made


def _refillable(address: int) -> Refillable | None:
    """Put the struct at `address` in a capsule that can be consumed more than once; None where that cannot be.

    Making a capsule anew is a call through ctypes, a tenth of what an operator costs; writing the old name back is one
    assignment. That takes the layout of CPython's capsules, which `_layout_is_known` has looked at.
    """
    if sys.implementation.name != "cpython" or not _layout_is_known():
        return None
    made = capsule(address, _name)
    return ctypes.c_void_p.from_address(address), _name_in(made), made


def _name_in(made: Any) -> ctypes.c_void_p:
    """Find the name in a capsule: CPython's header, the pointer, the name, the context, the destructor."""
    return ctypes.c_void_p.from_address(id(made) + object.__basicsize__ + _POINTER)


@functools.cache
def _layout_is_known() -> bool:
    """Tell whether the name of a capsule is where it is written: a name written there is the one that CPython reads.

    Without it new tensors take longer, which is told once.
    """
    address, other = ctypes.addressof(_name), ctypes.create_string_buffer(b"tdev_other")
    probe = capsule(address, _name)
    known = type(probe).__basicsize__ >= object.__basicsize__ + 2 * _POINTER
    if known:
        name = _name_in(probe)
        known = name.value == NAME_AT
    if known:
        name.value = ctypes.addressof(other)
        known = bool(_is_valid(probe, other)) and not _is_valid(probe, _name)
        name.value = NAME_AT
    if not known:
        lose("PyCapsule", "Each new tensor on device 'mlx' takes longer to make", "another layout")
    return known


def at_address(address: int, shape: Shape, dtype: Any, strides: Shape, nbytes: int) -> torch.Tensor:
    """Make a tensor over a storage of `nbytes` at `address`, without DLPack."""
    storage = torch_api.storage_over(address, nbytes, torch.device("mlx", 0))
    return torch_api.tensor_over(storage, 0, dtype, shape, strides, 0)
