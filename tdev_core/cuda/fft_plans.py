"""``torch.backends.cuda.cufft_plan_cache`` on hosts without cuFFT.

The caches exist for each device, are empty, and keep the capacity that a program gives them: FFTs run
on the host's own libraries, whose plans torch does not cache.

Source: ``torch.backends`` and "cuFFT plan cache" documentation.
"""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend, current
from tdev_core.devices import device_index

__all__ = ["CuFFTPlanCache", "CuFFTPlanCacheManager", "cufft_plan_cache"]

_DEFAULT_CAPACITY = 4096
"""Plans that a cache holds by default since CUDA 10, by the documentation."""

_READ_ONLY = (
    ".size is a read-only property showing the number of plans currently in the cache. To change the "
    "cache capacity, set cufft_plan_cache.max_size."
)


class CuFFTPlanCache:
    """The plan cache of one device."""

    def __init__(self, device_index: int) -> None:
        self.device_index = device_index
        self._capacity = _DEFAULT_CAPACITY

    @property
    def size(self) -> int:
        """Plans in the cache: none, because no cuFFT makes any here.

        Raises on assignment: RuntimeError, as torch's does.
        """
        return 0

    @size.setter
    def size(self, value: int) -> None:
        raise RuntimeError(_READ_ONLY)

    @property
    def max_size(self) -> int:
        """Number of plans that the cache may hold.

        Raises on assignment: RuntimeError for a negative number, TypeError for anything but an int.
        """
        return self._capacity

    @max_size.setter
    def max_size(self, value: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"max_size must be int, not {type(value).__name__}")
        if value < 0:
            raise RuntimeError(f"cuFFT plan cache size must be non-negative, but got {value}")
        self._capacity = value

    def clear(self) -> None:
        """Forget every plan: there is none."""


class CuFFTPlanCacheManager:
    """The caches of all devices by index; used itself, it is the current device's."""

    def __init__(self) -> None:
        object.__setattr__(self, "_caches", {})

    def __getitem__(self, device: Any) -> CuFFTPlanCache:
        """Return the cache of ``device``: an index, a string or a ``torch.device``.

        Raises:
            RuntimeError: an index that this host has not.
        """
        index = _index(device)
        count = _device_count()
        if not 0 <= index < count:
            raise RuntimeError(
                f"cufft_plan_cache: expected 0 <= device index < {count}, but got device with index "
                f"{index}"
            )
        caches: dict[int, CuFFTPlanCache] = self.__dict__["_caches"]
        return caches.setdefault(index, CuFFTPlanCache(index))

    def __getattr__(self, name: str) -> Any:
        return getattr(self[device_index()], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self[device_index()], name, value)


def _index(device: Any) -> int:
    # An int is checked, not folded: a loop over range(device_count()) has to end where the devices do.
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    return device_index(device)


def _device_count() -> int:
    match current():
        case Backend.CUDA:
            return torch.cuda.device_count()
        case Backend.MPS:
            return torch.mps.device_count()
        case Backend.CPU:
            return 1
        case Backend.SIM | Backend.MLX:
            return accelerator().device_count()


cufft_plan_cache = CuFFTPlanCacheManager()
