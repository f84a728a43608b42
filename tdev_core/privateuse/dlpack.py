"""An empty DLPack tensor on a device of ours: the one way from Python to a tensor with a device index.

Source: ``dlpack.h`` 1.0; ``aten/src/ATen/DLConvertor.cpp``.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["empty_bytes"]


class _DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("index", ctypes.c_int32)]


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_EXTENSION_DEVICE = 12  # kDLExtDev, which torch reads as PrivateUse1 (ATen/DLConvertor.cpp)

_kept: list[object] = []
"""What the capsules point to; they are made once for each device and never freed."""


def empty_bytes(index: int) -> Any:
    """A DLPack capsule of no bytes on ``PrivateUse1`` device ``index``."""
    shape, strides = (ctypes.c_int64 * 1)(0), (ctypes.c_int64 * 1)(1)
    device, uint8 = _DLDevice(_EXTENSION_DEVICE, index), _DLDataType(1, 8, 1)
    managed = _DLManagedTensor(_DLTensor(None, device, 1, uint8, shape, strides, 0), None, None)
    _kept.append((shape, strides, managed))
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new_capsule(ctypes.addressof(managed), b"dltensor", None)
