"""New tensors of device ``mlx``: storages of a size and an address, with an array to be put in.

They are made through DLPack's extension device, which torch maps to PrivateUse1: five times cheaper than ``set_``
on an empty tensor, and the storage gets its true size. The address it carries is a distinct number that nothing
can dereference, so that code which tells storages apart by ``data_ptr`` works.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from itertools import count
from typing import Any
from weakref import ref as _ref

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import to_torch
from tdev_core.accelerators.mlx.lazy import torch
from tdev_core.accelerators.privateuse.dlpack import EXTENSION_DEVICE, NAME, ManagedTensor, capsule

__all__ = [
    "DeviceMismatch",
    "check_device",
    "contiguous_strides",
    "defer",
    "is_dense",
    "new",
    "next_address",
    "wrap",
]

Shape = tuple[int, ...]

_ADDRESS = ctypes.sizeof(ctypes.c_void_p)
_malloc = ctypes.pythonapi.PyMem_RawMalloc
_malloc.restype = ctypes.c_void_p
_malloc.argtypes = [ctypes.c_size_t]
# torch keeps a pointer to the DLPack struct as long as a tensor made from it lives, even past the interpreter's end:
# the structs are never freed. One exists for each distinct shape and dtype.
_templates: dict[Any, tuple[ManagedTensor, int]] = {}
_addresses = count(1 << 46, 1 << 6)
_import: Any = None


def _code(dtype: Any) -> int | None:
    if dtype is torch.bfloat16:
        return 4
    if dtype.is_complex:
        return 5 if dtype.itemsize > 4 else None
    if dtype.is_floating_point:
        return 2 if dtype.itemsize > 1 else None
    if dtype is torch.bool:
        return 6
    if dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        return 1
    return 0 if dtype in (torch.int8, torch.int16, torch.int32, torch.int64) else None


def _template(shape: Shape, dtype: Any, strides: Shape | None) -> tuple[ManagedTensor, int] | None:
    code = _code(dtype)
    if code is None:
        return None
    n = len(shape)
    size = ctypes.sizeof(ManagedTensor)
    address = _malloc(size + 16 * n + 16)
    struct = ManagedTensor.from_address(address)
    dims = (ctypes.c_int64 * n).from_address(address + size)
    dims[:] = list(shape)
    struct.data, struct.device_type, struct.device_id, struct.ndim = 0, EXTENSION_DEVICE, 0, n
    struct.code, struct.bits, struct.lanes = code, dtype.itemsize * 8, 1
    struct.shape, struct.strides, struct.offset = address + size, None, 0
    struct.context, struct.deleter = None, None
    if strides is not None:
        steps = (ctypes.c_int64 * n).from_address(address + size + 8 * n)
        steps[:] = list(strides)
        struct.strides = address + size + 8 * n
    return struct, address


def new(shape: Shape, dtype: Any, strides: Shape | None = None) -> torch.Tensor:
    """A tensor on the device whose storage holds nothing yet; `strides` must be dense when given."""
    global _import
    key = (shape, dtype, strides)
    try:
        struct, address = _templates[key]
    except KeyError:
        made = _template(shape, dtype, strides)
        if _import is None:
            _import = torch._C._from_dlpack
        if made is None:
            return _new_by_set(shape, dtype, strides)
        struct, address = _templates[key] = made
    struct.data = next(_addresses)
    return _import(capsule(address))  # type: ignore[no-any-return]


def _new_by_set(shape: Shape, dtype: Any, strides: Shape | None) -> torch.Tensor:
    if strides is None:
        strides = contiguous_strides(shape)
    elements = (
        1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    )
    storage = torch._C._construct_storage_from_data_pointer(
        next(_addresses), torch.device("mlx", 0), elements * dtype.itemsize
    )
    empty = torch._C._acc.create_empty_tensor((0,), dtype)
    set_ = torch.ops.aten.set_.source_Storage_storage_offset
    return set_._op_dk(torch._C.DispatchKey.CPU, empty, storage, 0, shape, strides)  # type: ignore[no-any-return]


def next_address() -> int:
    """A number no other storage has as its address; nothing is there."""
    return next(_addresses)


class DeviceMismatch(RuntimeError):
    """A tensor of another device among the arguments, or a device that does not exist: final, the CPU is not asked."""


def check_device(device: Any) -> None:
    """Refuse an index that does not exist: there is one MLX device.

    Raises:
        RuntimeError: for ``mlx:1`` and above, with CUDA's words.
    """
    if device is not None and torch.device(device).index not in (None, 0):
        raise DeviceMismatch(
            f"device '{device}': invalid device ordinal; MLX has one device, 'mlx:0'"
        )


def contiguous_strides(shape: Shape) -> Shape:
    """Row-major strides in elements; dimensions of length 0 count as 1, as in torch."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


_local = runtime._local
_NAMED = ctypes.create_string_buffer(NAME)
_NAME_AT = ctypes.addressof(_NAMED)

_moulds: dict[Any, dict[Shape, tuple[Any, Any, Any]]] = {}
"""By dtype and shape what `wrap` makes contiguous tensors from: two fields, of the address in the struct and of the name
in the capsule, and the capsule, which serves again and again."""


def _mould(address: int) -> tuple[Any, Any, Any] | None:
    """The struct at `address` in a capsule that can be consumed more than once; None where that cannot be.

    torch renames a capsule that it has consumed. Making another one is a call through ctypes, a tenth of what an operator
    costs; writing the old name back is one assignment. That takes the layout of CPython's capsules, which is looked at
    here, and the GIL, so that nobody comes between the assignment and the call.

    Source: ``Objects/capsule.c`` of CPython: header, pointer, name, context, destructor.
    """
    if _without_gil or sys.implementation.name != "cpython":
        return None
    made = capsule(address, _NAMED)
    pointer, name = (
        ctypes.c_void_p.from_address(id(made) + object.__basicsize__ + n * _ADDRESS) for n in (0, 1)
    )
    if pointer.value != address or name.value != _NAME_AT:
        return None
    return ctypes.c_void_p.from_address(address), name, made


_without_gil = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def wrap(a: Any, dtype: Any = None) -> torch.Tensor:
    """A new contiguous tensor that holds the array `a`.

    Args:
        dtype: the element type of `a` as torch's, where the caller knows it: finding it out takes longer than making the tensor's
            storage.
    """
    if dtype is None:
        dtype = to_torch[a.dtype]
    try:  # the same as new(a.shape, dtype), which every operator pays for
        address, name, made = _moulds[dtype][a.shape]
        address.value = next(_addresses)
        name.value = _NAME_AT
        t: torch.Tensor = _import(made)
    except KeyError:
        t = _first(a.shape, dtype)
    t.untyped_storage()._mx = a  # type: ignore[attr-defined]
    pending = _local.pending  # from here on runtime.remember(a), without its call
    pending.append(_ref(a))
    if len(pending) > runtime.PENDING_LIMIT:
        runtime.drain()
    return t


def _first(shape: Shape, dtype: Any) -> torch.Tensor:
    """`new`, for a shape that `wrap` has not made yet."""
    t = new(shape, dtype)
    template = _templates.get((shape, dtype, None))
    mould = None if template is None else _mould(template[1])
    if mould is not None:
        _moulds.setdefault(dtype, {})[shape] = mould
    return t


def defer(shape: Shape, dtype: Any, compute: Any) -> torch.Tensor:
    """A tensor whose array `compute()` gives when it is first read: for results that are seldom looked at."""
    t = new(shape, dtype)
    t.untyped_storage()._later = compute  # type: ignore[attr-defined]
    return t


def is_dense(t: torch.Tensor) -> bool:
    """Whether the elements of `t` fill a stretch of memory without gaps or overlaps."""
    step = 1
    for n, s in sorted(
        ((n, s) for n, s in zip(t.shape, t.stride(), strict=True) if n != 1), key=lambda p: p[1]
    ):
        if s != step:
            return False
        step *= n
    return True
