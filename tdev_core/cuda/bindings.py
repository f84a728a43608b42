"""Underscored functions of ``torch._C`` and ``torch.cuda``, for frameworks that reach past what is public.

Schedulers, profilers and extensions call ``torch._C._cuda_getDevice()`` and its kin because they are quicker than the
public functions. ``tdev._C`` answers them as ``tdev.cuda`` does; everything else in it is ``torch._C``'s, and
``torch._C`` itself is left alone. Handles of CUDA libraries are not among them: there are none to give.

Source: ``torch/csrc/cuda/Module.cpp`` and the public functions of ``torch.cuda`` that call these.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from tdev_core.accelerators import lagging, streams
from tdev_core.accelerators.sim import memory
from tdev_core.backend import Backend, current, unsupported
from tdev_core.cuda import device_selection, rng, sensors
from tdev_core.devices import device_index, translate
from tdev_core.errors import UnsupportedError

__all__ = [
    "arch_flags",
    "attach_out_of_memory_observer",
    "compiled_version",
    "current_raw_stream",
    "current_stream",
    "default_stream",
    "empty_host_cache",
    "exchange_device",
    "get_device_index",
    "get_generator",
    "get_rng_state_offset",
    "ipc_collect",
    "parse_to",
    "set_rng_state_offset",
    "set_stream",
    "sleep",
]

_CPU = torch.device("cpu")


def exchange_device(device: int) -> int:
    """Make ``device`` the current one and return the one that was; with a negative one nothing is done, and the answer is -1."""
    if device < 0:
        return -1
    before = device_selection.current_device()
    device_selection.set_device(device)
    return before


def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Read the arguments of ``Tensor.to``: device, dtype, whether the copy may overlap, memory format.

    Modules and containers whose own ``to`` reads them so keep the device, and say later that they are on it.
    """
    device = None
    if args and not isinstance(args[0], (torch.Tensor, torch.dtype)):
        device = translate(args[0])
        args = (device, *args[1:])
    elif "device" in kwargs:
        device = translate(kwargs["device"])
        kwargs["device"] = device
    read: tuple[Any, ...] = torch._C._nn._parse_to(*args, **kwargs)
    # On the CPU what was asked for outlives the call in this very object: see devices.THERE.
    return read if device is None else (device, *read[1:])


def current_raw_stream(device: int) -> int:
    """Return the number of the current stream of ``device``, in the place of a ``cudaStream_t``."""
    return streams.current_stream(device).cuda_stream


def current_stream(device: int) -> tuple[int, int, int]:
    """Return the stream id, device index and device type of the current stream of ``device``."""
    return _facts(streams.current_stream(device))


def default_stream(device: int) -> tuple[int, int, int]:
    """Return the stream id, device index and device type of the default stream of ``device``."""
    return _facts(streams.default_stream(device))


def _facts(stream: Any) -> tuple[int, int, int]:
    return (stream.stream_id, stream.device_index, stream.device_type)


def set_stream(stream_id: int, device_index: int, device_type: int) -> None:
    """Make the stream of these facts (see :func:`current_stream`) the current one.

    ``torch.cuda._set_stream_by_id`` too, which calls it with the same names. There is one type of device whose
    streams it could be, and so no second ``device_type``.
    """
    default = streams.default_stream(device_index)
    known = default.stream_id == stream_id
    streams.set_stream(
        default if known else streams.Stream(stream_id=stream_id, device_index=device_index)
    )


def sleep(cycles: int) -> None:
    """Wait (``torch.cuda._sleep``) for ``cycles`` of the clock, taken as 1 GHz where the system tells none.

    Programs use it for work of a known length, to see what overlaps with it. On ``sim`` it keeps the current stream busy;
    elsewhere nothing overlaps, and it takes its time before it returns.
    """
    try:
        megahertz = sensors.clock_rate()
    except UnsupportedError:
        megahertz = 1000
    seconds = cycles / (megahertz * 1e6)
    if current() is Backend.SIM:
        lagging.occupy(lagging.current(), seconds)
    else:
        time.sleep(seconds)


def get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the accelerator's index that ``device`` means, as ``torch.cuda._get_device_index`` does.

    Args:
        device: an int, which is handed back; a device or its string; ``torch.cuda.device(i)``; or None.
        optional: whether None, and a device without index, mean the current one.
        allow_cpu: whether the CPU, for which the answer is -1, may be asked for. On the ``cpu`` backend, where
            the accelerator's tensors lie on the CPU too, only the word ``"cpu"`` is answered so.

    Raises:
        ValueError: the device is of another type, or none is named and ``optional`` is False.
    """
    if isinstance(device, int):
        return device
    index = getattr(device, "idx", None)
    if isinstance(index, int):
        return index
    if allow_cpu and (device == "cpu" or (device == _CPU and current() is not Backend.CPU)):
        return -1
    if device is None and not optional:
        raise ValueError(
            "Expected a torch.device with a specified index or an integer, but got: None"
        )
    return device_index(device)


def get_generator(device: Any) -> torch.Generator:
    """Return the default generator of ``device``: ``torch.cuda._get_generator``."""
    return rng.default_generators[device_index(device)]


def get_rng_state_offset(device: Any = "cuda") -> int:
    """Raise UnsupportedError for every ``device``: only CUDA's generator counts in steps that can be set."""
    _no_offset("_get_rng_state_offset")


def set_rng_state_offset(offset: int, device: Any = "cuda") -> None:
    """Raise UnsupportedError for every ``offset`` and ``device``: only CUDA's generator counts in steps."""
    _no_offset("_set_rng_state_offset")


def _no_offset(name: str) -> NoReturn:
    unsupported(
        f"torch.cuda.{name}",
        "this generator's state is not a seed and a number of steps",
        "keep and restore the whole state: torch.cuda.get_rng_state() and set_rng_state()",
    )


def clear_cublas_workspaces() -> None:
    """Do nothing (``torch._C._cuda_clearCublasWorkspaces``): there is no cuBLAS, and so no memory that it keeps."""


def ipc_collect() -> None:
    """Do nothing: there are no CUDA IPC handles."""


def arch_flags() -> None:
    """Return None: no CUDA kernels are compiled in."""


def compiled_version() -> int:
    """Return 0: torch was compiled with no CUDA. A number, because programs compare it."""
    return 0


def attach_out_of_memory_observer(observer: Callable[[int, int, int, int], object]) -> None:
    """Have ``observer`` called before ``torch.OutOfMemoryError`` is raised on ``sim``, whose memory tdev counts.

    It is given the device's index and three numbers of bytes: asked for, of the device in all, and free on it.

    Raises:
        UnsupportedError: on another backend, whose allocator tells nobody.
    """
    if current() is not Backend.SIM:
        unsupported(
            "torch._C._cuda_attach_out_of_memory_observer",
            "no allocator here calls back before it fails",
            "catch torch.OutOfMemoryError and print torch.cuda.memory_summary()",
        )
    memory.observers.append(observer)


def empty_host_cache() -> None:
    """Do nothing (``torch._C._host_emptyCache``): page-locked memory that is freed goes back at once."""
