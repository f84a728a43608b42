"""Functions of ``torch._C`` that exist only in CUDA builds, for frameworks that reach past ``torch.cuda``.

Schedulers, profilers and extensions call ``torch._C._cuda_getDevice()`` and its kin because they are quicker than the
public functions. ``tdev._C`` answers them as ``tdev.cuda`` does; everything else in it is ``torch._C``'s, and
``torch._C`` itself is left alone. Handles of CUDA libraries are not among them: there are none to give.

Source: ``torch/csrc/cuda/Module.cpp`` and the public functions of ``torch.cuda`` that call these.
"""

from __future__ import annotations

from typing import Any

from tdev_core.errors import unsupported

__all__ = ["NAMES"]

NAMES = {
    "_cuda_attach_out_of_memory_observer": "tdev_core.bindings:attach_out_of_memory_observer",
    "_cuda_canDeviceAccessPeer": "tdev_core.properties:can_access_peer",
    "_cuda_emptyCache": "tdev_core.memory:empty_cache",
    "_cuda_exchangeDevice": "tdev_core.bindings:exchange_device",
    "_cuda_getArchFlags": "tdev_core.bindings:arch_flags",
    "_cuda_getCompiledVersion": "tdev_core.bindings:compiled_version",
    "_cuda_getCurrentRawStream": "tdev_core.bindings:current_raw_stream",
    "_cuda_getCurrentStream": "tdev_core.bindings:current_stream",
    "_cuda_getDefaultStream": "tdev_core.bindings:default_stream",
    "_cuda_getDevice": "tdev_core.properties:current_device",
    "_cuda_getDeviceCount": "tdev_core.properties:device_count",
    "_cuda_init": "tdev_core.cudart:lazy_init",
    "_cuda_ipc_collect": "tdev_core.bindings:ipc_collect",
    "_cuda_isCurrentStreamCapturing": "tdev_core.graphs:is_current_stream_capturing",
    "_cuda_isInBadFork": "tdev_core.cudart:is_in_bad_fork",
    "_cuda_maybeExchangeDevice": "tdev_core.bindings:exchange_device",
    "_cuda_setDevice": "tdev_core.properties:set_device",
    "_cuda_memoryStats": "tdev_core.memory:stats_nested",
    "_cuda_resetAccumulatedMemoryStats": "tdev_core.memory:reset_accumulated",
    "_cuda_resetPeakMemoryStats": "tdev_core.memory:reset_peak",
    "_cuda_setStream": "tdev_core.bindings:set_stream",
    "_cuda_synchronize": "tdev_core.streams:synchronize",
}
"""Name in ``torch._C`` to ``module:attribute`` of what answers for it."""


def exchange_device(device: int) -> int:
    """Make ``device`` the current one, unless it is negative; returns the one that was."""
    from tdev_core import properties

    before = properties.current_device()
    if device >= 0:
        properties.set_device(device)
    return before


def current_raw_stream(device: int) -> int:
    """The number of the current stream of ``device``, in the place of a ``cudaStream_t``."""
    from tdev_core import streams

    return streams.current_stream(device).cuda_stream


def current_stream(device: int) -> tuple[int, int, int]:
    """Stream id, device index and device type of the current stream of ``device``."""
    from tdev_core import streams

    return _facts(streams.current_stream(device))


def default_stream(device: int) -> tuple[int, int, int]:
    """Stream id, device index and device type of the default stream of ``device``."""
    from tdev_core import streams

    return _facts(streams.default_stream(device))


def _facts(stream: Any) -> tuple[int, int, int]:
    return (stream.stream_id, stream.device_index, stream.device_type)


def set_stream(stream_id: int, device_index: int, device_type: int) -> None:
    """Make the stream of these facts (see :func:`current_stream`) the current one."""
    from tdev_core import streams

    default = streams.default_stream(device_index)
    known = default.stream_id == stream_id
    streams.set_stream(
        default if known else streams.Stream(stream_id=stream_id, device_index=device_index)
    )


def ipc_collect() -> None:
    """Nothing: there are no CUDA IPC handles."""


def arch_flags() -> None:
    """None: no CUDA kernels are compiled in."""


def compiled_version() -> int:
    """0: torch was compiled with no CUDA. A number, because programs compare it."""
    return 0


def attach_out_of_memory_observer(observer: Any) -> None:
    """No allocator here calls back before it fails: UnsupportedError."""
    unsupported(
        "torch._C._cuda_attach_out_of_memory_observer",
        "no allocator here calls back before it fails",
        "catch torch.OutOfMemoryError and print torch.cuda.memory_summary()",
    )
