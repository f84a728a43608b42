"""The parts of the CUDA runtime that ``torch.cuda`` shows, for hosts that have no CUDA.

``cudart()`` gives an object with the functions of torch's ``_cudart`` binding. Each does what it means on
this backend; none needs a driver.

Source: ``torch/csrc/cuda/shared/cudart.cpp`` for the names and what they return.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerator import accelerator
from tdev_core.accelerators import streams
from tdev_core.accelerators.privateuse import waits
from tdev_core.accelerators.sim import pinned
from tdev_core.backend import Backend, current
from tdev_core.cuda import profiler
from tdev_core.cuda.memory import usage

__all__ = [
    "CudaError",
    "check_error",
    "cudart",
    "get_sync_debug_mode",
    "is_in_bad_fork",
    "lazy_call",
    "lazy_init",
    "set_sync_debug_mode",
]

# cuda.h / driver_types.h: the codes that programs compare or print.
_MESSAGES = {
    0: "no error",
    1: "invalid argument",
    2: "out of memory",
    3: "initialization error",
    34: "CUDA driver is a stub library",
    35: "CUDA driver version is insufficient for CUDA runtime version",
    100: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    400: "invalid resource handle",
    600: "device not ready",
    700: "an illegal memory access was encountered",
    713: "pointer does not correspond to a registered memory region",
    719: "unspecified launch failure",
    999: "unknown error",
}


class _Error(int):
    """A ``cudaError`` value. Any number is one; ``success`` is 0."""

    success: _Error

    @property
    def value(self) -> int:
        """The number."""
        return int(self)


_Error.success = _Error(0)


class CudaError(torch.cuda.CudaError):
    """The error that ``check_error`` raises; an instance of ``torch.cuda.CudaError``, a ``RuntimeError``.

    Args:
        code: a ``cudaError_t`` number.
    """

    def __init__(self, code: int) -> None:
        RuntimeError.__init__(self, f"{_message(int(code))} ({int(code)})")


def _message(code: int) -> str:
    return _MESSAGES.get(code, "unrecognized error code")


def check_error(res: int) -> None:
    """Raise :class:`CudaError` unless ``res`` is 0."""
    if int(res) != 0:
        raise CudaError(int(res))


class _Cudart:
    """In the place of the CUDA runtime library."""

    cudaError = _Error

    class cudaOutputMode(enum.IntEnum):
        """Formats of CUDA's old profiler output."""

        KeyValuePair = 0
        CSV = 1

    @staticmethod
    def cudaGetErrorString(error: int) -> str:
        """Return the text for an error code."""
        return _message(int(error))

    @staticmethod
    def cudaProfilerStart() -> int:
        """Tell an outside profiler to collect, see :mod:`tdev_core.cuda.profiler`. Returns 0."""
        profiler.start()
        return 0

    @staticmethod
    def cudaProfilerStop() -> int:
        """Tell an outside profiler to stop. Returns 0."""
        profiler.stop()
        return 0

    @staticmethod
    def cudaMemGetInfo(device: int) -> tuple[int, int]:
        """Free and total bytes of ``device``."""
        return usage.info(device)

    @staticmethod
    def cudaStreamCreate(address: int) -> int:
        """Make a stream on the current device and write its number to ``address``, 8 bytes, for ``ExternalStream``. Returns 0."""
        made = streams.Stream()
        ctypes.c_uint64.from_address(int(address)).value = made.stream_id
        _streams.add(made.stream_id)
        return 0

    @staticmethod
    def cudaStreamDestroy(stream: int) -> int:
        """Forget what :meth:`cudaStreamCreate` made. Returns 0, or CUDA's number for what it has not made."""
        try:
            _streams.remove(int(stream))
        except KeyError:
            return 400
        return 0

    @staticmethod
    def cudaHostRegister(address: int, size: int, flags: int) -> int:
        """Pinning lets a GPU read host memory by itself; here the device uses it as it is, and ``sim`` tells of it. Returns 0."""
        if current() is Backend.SIM:
            pinned.register(int(address), int(size))
        return 0

    @staticmethod
    def cudaHostUnregister(address: int) -> int:
        """Undo :meth:`cudaHostRegister`. Returns 0, or CUDA's number for what was not registered."""
        if current() is Backend.SIM and not pinned.unregister(int(address)):
            return 713
        return 0


_streams: set[int] = set()
_instance = _Cudart()


def cudart() -> Any:
    """Return the object with the runtime's functions."""
    return _instance


_DEBUG_NAMES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Choose whether waiting for the device is reported: 0 or ``"default"``, 1 or ``"warn"``, 2 or
    ``"error"``.

    ``sim`` tells of each operator that CUDA would wait in. On ``cpu``, ``mps`` and ``mlx`` the value is kept
    and nothing is told.

    Raises:
        RuntimeError: another value.
    """
    value = _DEBUG_NAMES.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if value not in (0, 1, 2):
        raise RuntimeError(
            f"invalid debug_mode {debug_mode!r}, expected 0, 1, 2 or one of default, warn, error"
        )
    waits.set_mode(value)


def get_sync_debug_mode() -> int:
    """Return the mode as a number."""
    return waits.mode()


def lazy_call(callable: Callable[[], Any], **kwargs: Any) -> None:
    """``torch.cuda._lazy_call``: call now. CUDA puts it off until it is initialised, which is done.

    ``kwargs`` say which of the calls that are put off seed: the last of these counts. None is put off here.
    """
    callable()


def lazy_init() -> None:
    """``torch.cuda._lazy_init``: the device is ready."""


def is_in_bad_fork() -> bool:
    """``torch.cuda._is_in_bad_fork``: whether the device cannot be used because the process was forked.

    A forked child can use the CPU, and no other device that its parent has used.
    """
    if current() is Backend.MPS:
        return bool(torch.mps._is_in_bad_fork())
    return bool(getattr(accelerator(), "in_bad_fork", lambda: False)())
