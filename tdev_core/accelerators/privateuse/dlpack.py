"""DLPack capsules on a device of ours: the one way from Python to a tensor with a device index.

Source: ``dlpack.h`` 1.0; ``aten/src/ATen/DLConvertor.cpp``.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["EXTENSION_DEVICE", "NAME", "ManagedTensor", "capsule", "empty_bytes"]


class ManagedTensor(ctypes.Structure):
    """``DLManagedTensor``, the structs within it laid out as its own fields."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


EXTENSION_DEVICE = 12  # kDLExtDev, which torch reads as PrivateUse1 (ATen/DLConvertor.cpp)

NAME = b"dltensor"
"""Of a capsule that nobody has consumed yet."""

_UINT8 = 1  # kDLUInt

_kept: list[object] = []
"""What the capsules point to; they are made once for each device and never freed."""

_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def capsule(address: int, name: Any = NAME) -> Any:
    """Make a capsule of the ``ManagedTensor`` at ``address``; ``name`` must live as long as it does."""
    return _new(address, name, None)


def empty_bytes(index: int) -> Any:
    """Make a DLPack capsule of no bytes on ``PrivateUse1`` device ``index``."""
    shape, strides = (ctypes.c_int64 * 1)(0), (ctypes.c_int64 * 1)(1)
    managed = ManagedTensor(
        device_type=EXTENSION_DEVICE,
        device_id=index,
        ndim=1,
        code=_UINT8,
        bits=8,
        lanes=1,
        shape=ctypes.addressof(shape),
        strides=ctypes.addressof(strides),
    )
    _kept.append((shape, strides, managed))
    return capsule(ctypes.addressof(managed))
