"""Stand in for ``pynvml`` (nvidia-ml-py): counts, names, memory and sensors, as tdev's own functions tell them.

A device's handle is its number. Without a device, ``nvmlInit`` raises what NVML raises without a driver. What NVML knows of a
GPU and tdev knows of no device (clocks, fans, links, other processes) raises :class:`tdev.UnsupportedError`, which is
``NVMLError_NotSupported``, too, as NVML says of a sensor that a GPU lacks. Calls before
``nvmlInit`` are answered.

Source: the documentation of NVML, and of nvidia-ml-py 13.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from tdev_core.cuda import device_selection, properties, sensors
from tdev_core.cuda.memory import usage
from tdev_core.errors import UnsupportedError
from tdev_core.packages import nvml_errors
from tdev_core.packages.lacking import attributes_of, version_of, words
from tdev_core.packages.nvml_errors import *  # noqa: F403  # a class and a number for each error
from tdev_core.packages.nvml_errors import (
    NVMLError_FunctionNotFound,
    NVMLError_InvalidArgument,
    NVMLError_LibraryNotFound,
    NVMLError_NotFound,
    NVMLError_NotSupported,
)

__all__ = [
    "NVML_CLOCK_GRAPHICS",
    "NVML_CLOCK_MEM",
    "NVML_CLOCK_SM",
    "NVML_CLOCK_VIDEO",
    "NVML_SUCCESS",
    "NVML_TEMPERATURE_GPU",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetHandleByUUID",
    "nvmlDeviceGetIndex",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetName",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetUtilizationRates",
    "nvmlInit",
    "nvmlInitWithFlags",
    "nvmlShutdown",
    *nvml_errors.__all__,
]

__version__ = version_of("pynvml")

NVML_SUCCESS = 0
NVML_TEMPERATURE_GPU = 0
NVML_CLOCK_GRAPHICS = 0
NVML_CLOCK_SM = 1
NVML_CLOCK_MEM = 2
NVML_CLOCK_VIDEO = 3


class _Refused(UnsupportedError, NVMLError_NotSupported):
    """Refusal of what NVML knows of a GPU and tdev of no device: a program that goes on without a sensor catches it."""

    def __init__(self, asked: str, why: str) -> None:
        self.told = words(asked, why)
        super().__init__(self.told, "TDEV103")
        self.value = self.number

    def __str__(self) -> str:
        return f"{self.told} [{self.code}]"


def __getattr__(name: str) -> Any:
    """Return, for a question that NVML answers and tdev does not, a function that says so when it is called."""
    if not name.startswith(("nvmlDeviceGet", "nvmlSystemGet")):
        return attributes_of(__name__)(name)

    def unknown(*_: Any, **__: Any) -> NoReturn:
        raise _Refused(f"pynvml.{name}", "is known of no device here")

    unknown.__name__ = unknown.__qualname__ = name
    return unknown


@dataclass(frozen=True)
class _Handle:
    index: int


@dataclass(frozen=True)
class _Memory:
    """Bytes of a device; what is used is used by all programs together."""

    total: int
    free: int
    used: int


@dataclass(frozen=True)
class _Utilization:
    """Per cent of the time that the device was busy. How long its memory was is known of no device here."""

    gpu: int

    @property
    def memory(self) -> NoReturn:
        raise _Refused(
            "pynvml.nvmlDeviceGetUtilizationRates", "does not know how busy the memory is"
        )


def nvmlInit() -> None:
    """Raise :class:`NVMLError_LibraryNotFound` where there is no device."""
    if not device_selection.device_count():
        raise NVMLError_LibraryNotFound


def nvmlInitWithFlags(flags: int) -> None:
    """:func:`nvmlInit`; the flags are for what a driver may lack."""
    nvmlInit()


def nvmlShutdown() -> None:
    """Do nothing: nothing was opened."""


def nvmlDeviceGetCount() -> int:
    """Return the number of devices."""
    return device_selection.device_count()


def nvmlDeviceGetHandleByIndex(index: int) -> Any:
    """Return the handle of a device; raises :class:`NVMLError_InvalidArgument` where there is none of that number."""
    if not 0 <= int(index) < device_selection.device_count():
        raise NVMLError_InvalidArgument
    return _Handle(int(index))


def nvmlDeviceGetHandleByUUID(uuid: str | bytes) -> Any:
    """Return the handle of the device that :func:`nvmlDeviceGetUUID` names so.

    Raises:
        NVMLError_NotFound: no device is named so.
    """
    wanted = uuid.decode() if isinstance(uuid, bytes) else uuid
    for index in range(device_selection.device_count()):
        if nvmlDeviceGetUUID(_Handle(index)) == wanted:
            return _Handle(index)
    raise NVMLError_NotFound


def nvmlDeviceGetUUID(handle: Any) -> str:
    """Return ``GPU-`` and what ``torch.cuda.get_device_properties`` has as the device's ``uuid``."""
    return f"GPU-{properties.get(_index(handle)).uuid}"


def nvmlDeviceGetCudaComputeCapability(handle: Any) -> list[int]:
    """Return what ``torch.cuda.get_device_capability`` does, 0 and 0 as a rule, as a list."""
    return list(properties.capability(_index(handle)))


def nvmlDeviceGetIndex(handle: Any) -> int:
    """Return the number of a handle's device."""
    return _index(handle)


def nvmlDeviceGetName(handle: Any) -> str:
    """Return what the device calls itself."""
    return properties.name(_index(handle))


def nvmlDeviceGetMemoryInfo(handle: Any, version: Any = None) -> Any:
    """Return ``total``, ``free`` and ``used`` bytes; what a driver reserves (``version``) is not told."""
    if version is not None:
        raise _Refused(
            "pynvml.nvmlDeviceGetMemoryInfo", "does not know what a driver reserves (version)"
        )
    free, total = usage.info(_index(handle))
    return _Memory(total, free, max(total - free, 0))


def nvmlDeviceGetUtilizationRates(handle: Any) -> Any:
    """Return how busy the device is, as ``gpu`` in per cent; takes a tenth of a second."""
    return _Utilization(_sensed("nvmlDeviceGetUtilizationRates", sensors.utilization, handle))


def nvmlDeviceGetTemperature(handle: Any, sensor: int) -> int:
    """Return degrees Celsius of the one sensor that NVML knows, ``NVML_TEMPERATURE_GPU``."""
    if sensor != NVML_TEMPERATURE_GPU:
        raise NVMLError_InvalidArgument
    return _sensed("nvmlDeviceGetTemperature", sensors.temperature, handle)


def nvmlDeviceGetPowerUsage(handle: Any) -> int:
    """Return milliwatts; takes a tenth of a second."""
    return _sensed("nvmlDeviceGetPowerUsage", sensors.power_draw, handle)


def _sensed(asked: str, sensor: Callable[[int], int], handle: Any) -> int:
    """Return what a sensor says; one that the host lacks is an error of NVML, which programs go on after."""
    try:
        return sensor(_index(handle))
    except UnsupportedError as error:
        raise _Refused(f"pynvml.{asked}", f"has no answer here: {error}") from error


def _nvmlGetFunctionPointer(name: str) -> NoReturn:
    """Find no function of NVML's library: there is none. Programs ask this for what a driver's release has."""
    raise NVMLError_FunctionNotFound


def _index(handle: Any) -> int:
    if not isinstance(handle, _Handle):
        raise NVMLError_InvalidArgument
    return handle.index
