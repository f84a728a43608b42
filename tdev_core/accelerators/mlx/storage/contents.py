"""Tensors of device ``mlx``: real torch tensors whose storage carries an ``mx.array``.

Invariants: a storage's Python object holds exactly one of ``_mx``, an array with as many elements as the storage
and in the storage's row-major order (its shape may be any); ``_raw``, the same for a storage that is viewed under
several element types, so that its array must be reinterpreted; ``_later``, a function that will give the array (see
`defer`); and ``_host``, a CPU ``UntypedStorage`` of the same
size, for element types that MLX does not have.  Arrays are values: an in-place write replaces the storage's array, so that one array
may serve several storages.

Threads may write to different elements of one storage, as on every device of torch. Whatever makes a storage's array from
the one before it, or changes which of the four it holds, therefore holds ``runtime.lock``, and puts the new one in before
it takes the old one away: who reads without the lock finds one or the other.
"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import to_mx, to_torch
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.registry import Decline
from tdev_core.accelerators.mlx.storage import views
from tdev_core.accelerators.mlx.storage.allocation import DeviceMismatch, is_dense, new
from tdev_core.accelerators.mlx.storage.transfer import download, from_host, upload

__all__ = [
    "array_of",
    "host",
    "put_bytes",
    "read",
    "replace_bytes",
    "resolve",
    "settle",
    "share_dtypes",
    "storage_bytes",
    "wrap_host",
    "write",
]


def settle(storage: Any) -> None:
    """Compute what `defer` left for later; once, whichever threads ask."""
    if not hasattr(storage, "_later"):
        return
    with runtime.lock:
        later = getattr(storage, "_later", None)
        if later is not None:
            storage._mx = array = later()
            del storage._later
            runtime.remember(array)


def wrap_host(t: torch.Tensor, strided: bool = False) -> torch.Tensor:
    """Make a new tensor that holds a copy of the CPU tensor `t`, on MLX if its dtype exists there.

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


def read(t: torch.Tensor) -> Any:
    """Give the array of a device tensor, in its shape; conj and neg bits are not looked at (see `resolve`).

    Raises:
        Decline: the tensor's element type is one that stays on the host.
        DeviceMismatch: the tensor is on another device and has dimensions.
    """
    a = getattr(t.untyped_storage(), "_mx", None)
    if (
        a is None
    ):  # outside an `except`, so that a refusal is not told as the consequence of another error
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
        settle(storage)
        if not hasattr(storage, "_mx"):  # which another thread may have settled meanwhile
            _adopt(t)
        return read(t)
    if t.dtype not in to_mx:
        raise Decline(f"{t.dtype} tensors are kept in host memory")
    if raw is None:
        flat = from_host(storage._host, t.dtype)  # type: ignore[attr-defined]
    else:
        flat = mx.view(mx.reshape(raw, (-1,)), to_mx[t.dtype])
    # An array of one repeated number has strides of 0, which mx.as_strided refuses when it is evaluated.
    return mx.as_strided(mx.contiguous(flat), tuple(t.shape), t.stride(), t.storage_offset())


def _foreign(t: torch.Tensor) -> Any:
    # torch lets a zero-dimensional CPU tensor meet device tensors; anything larger is the caller's slip.
    if t.dim() == 0 and t.device.type == "cpu":
        return upload(t.detach().resolve_conj().resolve_neg()) if t.dtype in to_mx else _number(t)
    raise DeviceMismatch(
        f"Expected all tensors to be on the same device, but found at least two devices, mlx:0 and {t.device}!"
    )


def here(t: torch.Tensor) -> torch.Tensor:
    """Give `t`, on the device if it lies on the CPU and has dimensions (without any `read` takes it as it is)."""
    return t.to("mlx") if t.dim() and t.device.type == "cpu" else t


def all_here(tensors: Any) -> list[torch.Tensor | None]:
    """Apply `here` to each of a list that may hold None."""
    return [t if t is None else here(t) for t in tensors]


def _number(t: torch.Tensor) -> Any:
    raise Decline(f"a {t.dtype} tensor on the CPU takes part")


def _nbytes(storage: Any) -> int:
    from tdev_core.accelerators.privateuse import (
        torch_api,  # imports torch, without which the table is read
    )

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
    storage: Any = t.untyped_storage()
    with runtime.lock:
        settle(storage)
        array = getattr(storage, "_mx", None)
        if array is None:
            if hasattr(storage, "_raw") and dtype not in to_mx:
                storage._host = storage_bytes(t)
                del storage._raw
        elif dtype not in to_mx:
            storage._host = storage_bytes(t)
            del storage._mx
        elif to_mx[dtype] != array.dtype:
            storage._raw = array
            del storage._mx


def storage_bytes(t: torch.Tensor) -> torch.UntypedStorage:
    """Make an owned host copy of the whole storage of `t`."""
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
    storage: Any = t.untyped_storage()
    with runtime.lock:
        settle(storage)
        if hasattr(storage, "_host"):
            storage._host = data
        elif hasattr(storage, "_raw"):
            storage._raw = from_host(data, to_torch[storage._raw.dtype])
        else:
            storage._mx = from_host(data, to_torch[storage._mx.dtype])


def put_bytes(t: torch.Tensor, data: torch.UntypedStorage) -> None:
    """Give the elements of `t` the bytes that they have in the host storage `data`, as large as the storage of `t`.

    `data` may become the storage's content.
    """
    if t.numel() * t.element_size() == data.nbytes():
        replace_bytes(t, data)
        return

    def elements(held: torch.UntypedStorage) -> torch.Tensor:
        bare = torch.empty(0, dtype=t.dtype)
        return bare.set_(held, t.storage_offset(), t.shape, t.stride())

    with runtime.lock:
        if getattr(t.untyped_storage(), "_host", None) is not data:
            now = storage_bytes(t)
            elements(now).copy_(elements(data))
            replace_bytes(t, now)


def resolve(t: torch.Tensor) -> Any:
    """Do as `read`, with the conj and neg bits applied."""
    a = read(t)
    if t.is_conj():
        a = mx.conjugate(a)
    return mx.negative(a) if t.is_neg() else a


def array_of(t: torch.Tensor) -> Any:
    """Give the array behind a device tensor as a user gets it: evaluated lazily, in the tensor's shape."""
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
        runtime.remember(a)
    else:
        _write_slowly(t, a)


def _write_slowly(t: torch.Tensor, a: Any) -> None:
    storage: Any = t.untyped_storage()
    with runtime.lock:
        settle(storage)
        array = getattr(storage, "_mx", None)
        if array is not None:
            storage._mx = new_array = views.written(array, t, a)
            runtime.remember(new_array)
        elif hasattr(storage, "_raw"):
            old = mx.view(mx.reshape(storage._raw, (-1,)), to_mx[t.dtype])
            storage._raw = new_array = views.written(old, t, a)
            runtime.remember(new_array)
        elif hasattr(storage, "_host"):
            views.write_host(t, download(a))
        else:
            _adopt(t)


def host(t: torch.Tensor, writable: bool = False) -> torch.Tensor:
    """Give a CPU tensor with the elements of `t`, contiguous; its memory belongs to MLX unless `writable`."""
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
