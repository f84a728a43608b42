"""Tensors of device ``mlx``: real torch tensors whose storage carries an ``mx.array``.

Invariants: a storage's Python object holds exactly one of ``_mx``, an array with as many elements as the storage
and in the storage's row-major order (its shape may be any); ``_raw``, the same for a storage that is viewed under
several element types, so that its array must be reinterpreted; ``_later``, a function that will give the array (see
`defer`); and ``_host``, a CPU ``UntypedStorage`` of the same
size, for element types that MLX does not have.  Arrays are values: an in-place write replaces the storage's array, so that one array
may serve several storages.

Tensors are made through DLPack's extension device, which torch maps to PrivateUse1: five times cheaper than
``set_`` on an empty tensor, and the storage gets its true size.  The address it carries is a distinct number that
nothing can dereference, so that code which tells storages apart by ``data_ptr`` works.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from itertools import count
from typing import Any
from weakref import ref as _ref

from tdev_core.mlx import runtime, views
from tdev_core.mlx.dtypes import to_mx, to_torch
from tdev_core.mlx.lazy import mx, np, torch
from tdev_core.mlx.registry import Decline

__all__ = [
    "DeviceMismatch",
    "array_of",
    "download",
    "from_host",
    "host",
    "new",
    "read",
    "replace_bytes",
    "resolve",
    "share_dtypes",
    "storage_bytes",
    "upload",
    "wrap",
    "wrap_host",
    "write",
]

Shape = tuple[int, ...]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


_EXTENSION_DEVICE = 12  # kDLExtDev
_ADDRESS = ctypes.sizeof(ctypes.c_void_p)
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_malloc = ctypes.pythonapi.PyMem_RawMalloc
_malloc.restype = ctypes.c_void_p
_malloc.argtypes = [ctypes.c_size_t]
_NAME = b"dltensor"
# torch keeps a pointer to the DLPack struct as long as a tensor made from it lives, even past the interpreter's end:
# the structs are never freed. One exists for each distinct shape and dtype.
_templates: dict[Any, tuple[_DLTensor, int]] = {}
_addresses = count(1 << 46, 1 << 6)
_import: Any = None
_CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}


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


def _template(shape: Shape, dtype: Any, strides: Shape | None) -> tuple[_DLTensor, int] | None:
    code = _code(dtype)
    if code is None:
        return None
    n = len(shape)
    size = ctypes.sizeof(_DLTensor)
    address = _malloc(size + 16 * n + 16)
    struct = _DLTensor.from_address(address)
    dims = (ctypes.c_int64 * n).from_address(address + size)
    dims[:] = list(shape)
    struct.data, struct.device_type, struct.device_id, struct.ndim = 0, _EXTENSION_DEVICE, 0, n
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
    return _import(_capsule(address, _NAME, None))  # type: ignore[no-any-return]


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

_NAMED = ctypes.create_string_buffer(_NAME)
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
    capsule = _capsule(address, _NAMED, None)
    pointer, name = (
        ctypes.c_void_p.from_address(id(capsule) + object.__basicsize__ + n * _ADDRESS)
        for n in (0, 1)
    )
    if pointer.value != address or name.value != _NAME_AT:
        return None
    return ctypes.c_void_p.from_address(address), name, capsule


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
        address, name, capsule = _moulds[dtype][a.shape]
        address.value = next(_addresses)
        name.value = _NAME_AT
        t: torch.Tensor = _import(capsule)
    except KeyError:
        t = _first(a.shape, dtype)
    t.untyped_storage()._mx = a  # type: ignore[attr-defined]
    pending = _local.pending
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


def settle(storage: Any) -> None:
    """Compute what `defer` left for later."""
    later = storage.__dict__.pop("_later", None)
    if later is not None:
        storage._mx = later()
        remember(storage._mx)


def remember(a: Any) -> None:
    """Note an unevaluated result, so that lazy graphs stay bounded."""
    pending = _local.pending
    pending.append(_ref(a))
    if len(pending) > runtime.PENDING_LIMIT:
        runtime.drain()


def wrap_host(t: torch.Tensor, strided: bool = False) -> torch.Tensor:
    """A new tensor that holds a copy of the CPU tensor `t`, on MLX if its dtype exists there.

    With `strided` the copy keeps the strides of a dense `t`; otherwise it is contiguous.
    """
    strides = None
    t = t.detach().resolve_conj().resolve_neg()
    if strided and not t.is_contiguous() and t.numel() and is_dense(t):
        order = views.physical_order(t)
        strides = tuple(t.stride())
        flat = t.permute(order)
    else:
        flat = t
    out = new(tuple(t.shape), t.dtype, strides)
    storage = out.untyped_storage()
    if t.dtype in to_mx:
        storage._mx = upload(flat)  # type: ignore[attr-defined]
    else:
        storage._host = flat.clone(memory_format=torch.contiguous_format).untyped_storage()  # type: ignore[attr-defined]
    return out


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


def upload(t: torch.Tensor) -> Any:
    """The CPU tensor as an ``mx.array`` of its shape: always a copy."""
    runtime.ready()
    mlx = to_mx[t.dtype]
    if t.numel() == 0:
        return mx.zeros(tuple(t.shape), dtype=mlx)
    t = t.contiguous()
    if t.dtype is torch.bfloat16:
        return mx.array(t.view(torch.uint16).numpy()).view(mlx)
    return mx.array(t.numpy())


def from_host(storage: Any, dtype: Any) -> Any:
    """A flat array of `dtype` from the bytes of a CPU storage."""
    return upload(torch.empty(0, dtype=dtype).set_(storage))


def read(t: torch.Tensor) -> Any:
    """The array of a device tensor, in its shape; conj and neg bits are not looked at (see `resolve`).

    Raises:
        Decline: the tensor's element type is one that stays on the host.
        DeviceMismatch: the tensor is on another device and has dimensions.
    """
    try:
        a = t.untyped_storage()._mx  # type: ignore[attr-defined]
    except AttributeError:
        return _read_slowly(t)
    shape = t.shape
    if a.shape == shape and t.is_contiguous():
        return a
    if t.is_contiguous():
        offset, n = t.storage_offset(), t.numel()
        if n == a.size:
            return mx.reshape(a, shape)
        return mx.reshape(mx.reshape(a, (-1,))[offset : offset + n], shape)
    return mx.as_strided(mx.contiguous(a), tuple(shape), t.stride(), t.storage_offset())


def _read_slowly(t: torch.Tensor) -> Any:
    if t.device.type != "mlx":
        return _foreign(t)
    storage = t.untyped_storage()
    raw = getattr(storage, "_raw", None)
    if raw is None and not hasattr(storage, "_host"):
        if hasattr(storage, "_later"):
            settle(storage)
        else:
            _adopt(t)
        return read(t)
    if t.dtype not in to_mx:
        raise Decline(f"{t.dtype} tensors are kept in host memory")
    if raw is None:
        flat = from_host(storage._host, t.dtype)  # type: ignore[attr-defined]
    else:
        flat = mx.view(mx.reshape(raw, (-1,)), to_mx[t.dtype])
    return mx.as_strided(flat, tuple(t.shape), t.stride(), t.storage_offset())


def _foreign(t: torch.Tensor) -> Any:
    # torch lets a zero-dimensional CPU tensor meet device tensors; anything larger is the caller's slip.
    if t.dim() == 0 and t.device.type == "cpu":
        return upload(t.detach().resolve_conj().resolve_neg()) if t.dtype in to_mx else _number(t)
    raise DeviceMismatch(
        f"Expected all tensors to be on the same device, but found at least two devices, mlx:0 and {t.device}!"
    )


def here(t: torch.Tensor) -> torch.Tensor:
    """`t`, on the device if it lies on the CPU and has dimensions (without any `read` takes it as it is)."""
    return t.to("mlx") if t.dim() and t.device.type == "cpu" else t


def all_here(tensors: Any) -> list[torch.Tensor | None]:
    """`here` for each of a list that may hold None."""
    return [t if t is None else here(t) for t in tensors]


def _number(t: torch.Tensor) -> Any:
    raise Decline(f"a {t.dtype} tensor on the CPU takes part")


class DeviceMismatch(RuntimeError):
    """A tensor of another device among the arguments, or a device that does not exist: final, the CPU is not asked."""


def _nbytes(storage: Any) -> int:
    from tdev_core.privateuse import torch_api

    return int(torch_api.storage_nbytes(storage))


def _adopt(t: torch.Tensor) -> None:
    """Give an array to an empty storage that torch made itself.

    Raises:
        RuntimeError: the storage has a size, which means that code outside tdev allocated it.
    """
    storage = t.untyped_storage()
    if _nbytes(storage):
        raise RuntimeError(
            "a tensor of device 'mlx' has a storage that tdev did not make; build tensors with torch's "
            "constructors (torch.empty(..., device='mlx')) instead of torch.UntypedStorage(n, device='mlx')"
        )
    if t.dtype in to_mx:
        storage._mx = mx.zeros((0,), dtype=to_mx[t.dtype])  # type: ignore[attr-defined]
    else:
        storage._host = torch.UntypedStorage(0)  # type: ignore[attr-defined]


def share_dtypes(t: torch.Tensor, dtype: Any) -> None:
    """Prepare the storage of `t` for views of another element type."""
    storage = t.untyped_storage()
    settle(storage)
    array = getattr(storage, "_mx", None)
    if array is None:
        if hasattr(storage, "_raw") and dtype not in to_mx:
            host_bytes = storage_bytes(t)
            del storage._raw
            storage._host = host_bytes  # type: ignore[attr-defined]
    elif dtype not in to_mx:
        host_bytes = storage_bytes(t)
        del storage._mx  # type: ignore[attr-defined]
        storage._host = host_bytes  # type: ignore[attr-defined]
    elif to_mx[dtype] != array.dtype:
        storage._raw = array  # type: ignore[attr-defined]
        del storage._mx  # type: ignore[attr-defined]


def storage_bytes(t: torch.Tensor) -> torch.UntypedStorage:
    """An owned host copy of the whole storage of `t`."""
    storage = t.untyped_storage()
    settle(storage)
    if hasattr(storage, "_host"):
        return storage._host.clone()  # type: ignore[no-any-return]
    array = getattr(storage, "_mx", None)
    if array is None:
        array = getattr(storage, "_raw", None)
        if array is None:
            _adopt(t)
            return torch.UntypedStorage(0)
    return download(mx.reshape(array, (-1,)), writable=True).untyped_storage()


def replace_bytes(t: torch.Tensor, data: torch.UntypedStorage) -> None:
    """Make the host storage `data`, as large as the storage of `t`, its content."""
    storage = t.untyped_storage()
    settle(storage)
    if hasattr(storage, "_host"):
        storage._host = data
    elif hasattr(storage, "_raw"):
        storage._raw = from_host(data, to_torch[storage._raw.dtype])
    else:
        storage._mx = from_host(data, to_torch[storage._mx.dtype])  # type: ignore[attr-defined]


def resolve(t: torch.Tensor) -> Any:
    """`read`, with the conj and neg bits applied."""
    a = read(t)
    if t.is_conj():
        a = mx.conjugate(a)
    return mx.negative(a) if t.is_neg() else a


def array_of(t: torch.Tensor) -> Any:
    """The array behind a device tensor as a user gets it: evaluated lazily, in the tensor's shape."""
    runtime.ready()
    return resolve(t)


def write(t: torch.Tensor, a: Any) -> None:
    """Store `a`, an array of `t`'s shape and dtype, in the elements of `t`."""
    storage = t.untyped_storage()
    try:
        old = storage._mx  # type: ignore[attr-defined]
    except AttributeError:
        _write_slowly(t, a)
        return
    if t.is_contiguous() and a.size == old.size:
        storage._mx = a  # type: ignore[attr-defined]
    else:
        storage._mx = a = views.written(old, t, a)  # type: ignore[attr-defined]
    remember(a)


def _write_slowly(t: torch.Tensor, a: Any) -> None:
    storage = t.untyped_storage()
    if hasattr(storage, "_raw"):
        old = mx.view(mx.reshape(storage._raw, (-1,)), to_mx[t.dtype])
        storage._raw = views.written(old, t, a)
        remember(storage._raw)
    elif hasattr(storage, "_host"):
        views.write_host(t, download(a))
    elif hasattr(storage, "_later"):
        settle(storage)
        write(t, a)
    else:
        _adopt(t)


def host(t: torch.Tensor, writable: bool = False) -> torch.Tensor:
    """A CPU tensor with the elements of `t`, contiguous; its memory belongs to MLX unless `writable`."""
    storage = t.untyped_storage()
    if hasattr(storage, "_host"):
        twin = torch.empty(0, dtype=t.dtype).set_(
            storage._host, t.storage_offset(), t.shape, t.stride()
        )
        if t.is_conj():
            twin = twin.conj()
        if t.is_neg():
            twin = torch._neg_view(twin)
        return twin.clone(memory_format=torch.contiguous_format) if writable else twin
    runtime.ready()
    return download(resolve(t), writable)


def download(a: Any, writable: bool = False) -> torch.Tensor:
    """`a` as a CPU tensor."""
    if not a.size:
        return torch.empty(a.shape, dtype=to_torch[a.dtype])
    a = mx.contiguous(a)  # flipped arrays have negative strides, which torch cannot hold
    with runtime.lock:
        mx.eval(a)
        if mx.default_device() != mx.Device(mx.cpu, 0):
            return _through_numpy(a)
        try:
            t = torch.from_dlpack(a)
        except ValueError:  # MLX does not export an array that starts inside its buffer
            return _through_numpy(a)
    return t.clone(memory_format=torch.contiguous_format) if writable else t


def _through_numpy(a: Any) -> torch.Tensor:
    # Always a copy. Metal's arrays carry a Metal DLPack device, which this torch may not have.
    dtype = to_torch[a.dtype]
    if a.dtype == mx.bfloat16:
        return torch.from_numpy(np.array(a.view(mx.uint16))).view(dtype)
    return torch.from_numpy(np.array(a))
