"""The allocator's switches and raw allocations of ``torch.cuda.memory``."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import torch

from tdev_core.accelerators.queues import device_of_index
from tdev_core.backend import Backend, current, unsupported
from tdev_core.devices import device_index

__all__ = [
    "CUDAPluggableAllocator",
    "XPUPluggableAllocator",
    "alloc",
    "delete",
    "disabled",
    "enable",
    "raw_alloc",
]

_held: dict[int, torch.Tensor] = {}
_lock = threading.Lock()


def alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Allocate ``size`` bytes on ``device`` and return their address, for :func:`delete`.

    The address is one that the device's own code understands: a host pointer on ``cpu`` and ``sim``, a
    Metal buffer on ``mps``.

    Raises:
        ValueError: ``size`` is negative.
        TypeError: ``stream`` is neither a stream, nor an integer, nor None.
        UnsupportedError: the device's memory has no address (``mlx``).
    """
    if size < 0:
        raise ValueError(f"size must not be negative, got {size}")
    if stream is not None and not isinstance(stream, (int, torch.cuda.Stream, torch.Stream)):
        raise TypeError(
            f"stream must be a torch.cuda.Stream or an int, got {type(stream).__name__}"
        )
    place = device_of_index(device_index(device))
    if size == 0:
        return 0
    block = torch.empty(size, dtype=torch.uint8, device=place)
    try:
        address = block.data_ptr()
    except RuntimeError:
        address = 0
    if address == 0:
        unsupported(
            "torch.cuda.caching_allocator_alloc",
            "memory of this device has no address that other code could use",
            "allocate a tensor with torch.empty and pass it on through DLPack",
        )
    with _lock:
        _held[address] = block
    return address


def raw_alloc(size: int, stream: int) -> int:
    """Allocate ``size`` bytes on the current device for ``stream`` and return their address, for :func:`delete`.

    While the cache is switched off (:func:`enable`) they are not counted, as CUDA then asks its driver past the allocator.

    Source: ``raw_alloc_with_stream`` in ``c10/cuda/CUDACachingAllocator.cpp``.
    """
    if _enabled or current() is not Backend.SIM or size <= 0:
        return alloc(size, stream=stream)
    block = torch.empty(size, dtype=torch.uint8)  # sim's memory is the host's
    with _lock:
        _held[block.data_ptr()] = block
    return block.data_ptr()


def delete(mem_ptr: int) -> None:
    """Free what :func:`alloc` returned; 0 is allowed.

    Raises:
        RuntimeError: the address did not come from :func:`alloc`, or was freed already.
    """
    if mem_ptr == 0:
        return
    with _lock:
        if _held.pop(mem_ptr, None) is None:
            raise RuntimeError(
                f"{mem_ptr:#x} was not allocated by caching_allocator_alloc, or is freed already"
            )


_enabled = True
_cache_limit: int | None = None


def enable(value: bool = True) -> None:
    """Switch the allocator's cache on or off.

    MLX has such a switch. ``cpu`` and ``sim`` keep no cache of their own, and the one of ``mps`` is
    always on; results are the same either way.
    """
    global _enabled, _cache_limit
    value = bool(value)
    if current() is Backend.MLX and value is not _enabled:
        import mlx.core as mx

        if not value:
            _cache_limit = mx.set_cache_limit(0)
        elif _cache_limit is not None:
            mx.set_cache_limit(_cache_limit)
    _enabled = value


@contextlib.contextmanager
def disabled() -> Iterator[None]:
    """Make a context in which the allocator's cache is off; what was set before comes back."""
    before = _enabled
    enable(False)
    try:
        yield
    finally:
        enable(before)


class CUDAPluggableAllocator(torch.cuda.memory.CUDAPluggableAllocator):
    """An allocator from a shared library. It can be loaded, and asked for by :meth:`allocator`.

    Only the CUDA allocator can be replaced by it: ``change_current_allocator`` is unsupported here.

    Args:
        path_to_so_file: the library.
        alloc_fn_name: its function ``void *(ssize_t size, int device, cudaStream_t stream)``.
        free_fn_name: its function ``void (void *ptr, size_t size, cudaStream_t stream)``.

    Raises:
        OSError: the library cannot be loaded.
        AttributeError: it has no such function.

    Source: ``torch.cuda.memory.CUDAPluggableAllocator``.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        library = ctypes.CDLL(path_to_so_file)
        self._library = library
        self._allocator = (  # type: ignore[assignment]
            ctypes.cast(getattr(library, alloc_fn_name), ctypes.c_void_p).value,
            ctypes.cast(getattr(library, free_fn_name), ctypes.c_void_p).value,
        )


class XPUPluggableAllocator(CUDAPluggableAllocator):
    """``torch.xpu``'s name for it, which calls the library's path ``path_to_lib_file``."""

    def __init__(self, path_to_lib_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        super().__init__(path_to_lib_file, alloc_fn_name, free_fn_name)
