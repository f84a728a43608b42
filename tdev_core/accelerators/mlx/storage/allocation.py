"""New tensors of device ``mlx``: storages of a size and an address, with an array to be put in.

The address of a storage is a distinct number that nothing can dereference, so that code which tells storages apart by
``data_ptr`` works. How torch is brought to make such a tensor is told in :mod:`~tdev_core.accelerators.mlx.storage.capsules`.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import Any
from weakref import ref as _ref

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import to_torch
from tdev_core.accelerators.mlx.lazy import mx, torch, torch_api
from tdev_core.accelerators.mlx.storage import capsules
from tdev_core.accelerators.mlx.storage.capsules import NAME_AT, Shape
from tdev_core.accelerators.mlx.storage.structs import Structs

__all__ = [
    "DeviceMismatch",
    "by_stride",
    "check_device",
    "contiguous_strides",
    "defer",
    "extent",
    "is_dense",
    "new",
    "next_address",
    "wrap",
    "wrap_strided",
]

_addresses = count(1 << 46, 1 << 6)


class _Local(threading.local):
    def __init__(self) -> None:
        self.structs = Structs()
        self.refillable = self.structs.refillable


_own = _Local()
_local = runtime._local
_from_capsule: Any = None
"""``torch._C._from_dlpack``, once torch has been imported."""


def new(shape: Shape, dtype: Any, strides: Shape | None = None) -> torch.Tensor:
    """Make a tensor on the device whose storage holds nothing yet; `strides` must be dense when given."""
    global _from_capsule
    free = next(_addresses)
    struct = _own.structs.of(shape, dtype, strides)
    if struct is None:
        steps = contiguous_strides(shape) if strides is None else strides
        nbytes = extent(shape, steps) * dtype.itemsize
        return capsules.at_address(free, shape, dtype, steps, nbytes)
    _from_capsule = torch_api.from_capsule
    return _from_capsule(struct.at(free))  # type: ignore[no-any-return]


def wrap(a: Any, dtype: Any = None) -> torch.Tensor:
    """Make a contiguous tensor that holds the array `a`.

    Args:
        dtype: the element type of `a` as torch's, where the caller knows it: finding it out takes longer than making the tensor's
            storage.
    """
    if dtype is None:
        dtype = to_torch[a.dtype]
    try:  # the same as new(a.shape, dtype), which every operator pays for
        free = next(_addresses)
        # Nothing else runs on this thread, a signal's handler or a finalizer, from here to torch's reading of the struct.
        address, name, made = _own.refillable[dtype][a.shape]
        address.value = free
        name.value = NAME_AT
        t: torch.Tensor = _from_capsule(made)
    except KeyError:
        t = new(a.shape, dtype)
    t.untyped_storage()._mx = a  # type: ignore[attr-defined]
    pending = _local.pending  # from here on runtime.remember(a), without its call
    pending.append(_ref(a))
    if len(pending) > runtime.PENDING_LIMIT:
        runtime.drain()
    return t


def wrap_strided(a: Any, dtype: Any, strides: Shape) -> torch.Tensor:
    """Make a tensor that holds the array `a` under `strides`, which must be dense."""
    shape = a.shape
    t = new(tuple(shape), dtype, strides)
    held: Any = t.untyped_storage()
    held._mx = mx.transpose(a, by_stride(shape, strides))
    runtime.remember(held._mx)
    return t


def defer(shape: Shape, dtype: Any, compute: Any) -> torch.Tensor:
    """Make a tensor whose array `compute()` gives when it is first read: for results that are seldom looked at."""
    t = new(shape, dtype)
    t.untyped_storage()._later = compute  # type: ignore[attr-defined]
    return t


def next_address() -> int:
    """Give a number that no other storage has as its address; nothing is there."""
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
    """Compute row-major strides in elements; dimensions of length 0 count as 1, as in torch."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def by_stride(shape: Shape, strides: Shape) -> list[int]:
    """Order the dimensions from the largest stride to the smallest, as they lie in memory."""
    return sorted(range(len(shape)), key=lambda i: (-strides[i], -shape[i]))


def extent(shape: Shape, strides: Shape) -> int:
    """Count the elements that a storage must have for a tensor of `shape` and `strides` at its start."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def is_dense(t: torch.Tensor) -> bool:
    """Tell whether the elements of `t` fill a stretch of memory without gaps or overlaps."""
    step = 1
    for n, s in sorted(
        ((n, s) for n, s in zip(t.shape, t.stride(), strict=True) if n != 1), key=lambda p: p[1]
    ):
        if s != step:
            return False
        step *= n
    return True
