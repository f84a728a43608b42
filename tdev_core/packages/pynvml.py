"""Stand in for ``pynvml`` (nvidia-ml-py): counts, names, memory and sensors, as tdev's own functions tell them.

A device's handle is its number. Without a device, ``nvmlInit`` raises what NVML raises without a driver. What NVML knows of a
GPU and tdev knows of no device (clocks, fans, links, other processes) raises :class:`tdev.UnsupportedError`. Calls before
``nvmlInit`` are answered.

Source: the documentation of NVML, and of nvidia-ml-py 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from tdev_core.cuda import device_selection, properties, sensors
from tdev_core.cuda.memory import usage
from tdev_core.packages.lacking import attributes_of, refuse, version_of

__all__ = [
    "NVML_ERROR_INVALID_ARGUMENT",
    "NVML_ERROR_LIBRARY_NOT_FOUND",
    "NVML_SUCCESS",
    "NVML_TEMPERATURE_GPU",
    "NVMLError",
    "NVMLError_InvalidArgument",
    "NVMLError_LibraryNotFound",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetIndex",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetName",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetUtilizationRates",
    "nvmlInit",
    "nvmlInitWithFlags",
    "nvmlShutdown",
]

__version__ = version_of("pynvml")
__getattr__ = attributes_of(__name__)

NVML_SUCCESS = 0
NVML_ERROR_INVALID_ARGUMENT = 2
NVML_ERROR_LIBRARY_NOT_FOUND = 12
NVML_TEMPERATURE_GPU = 0

_TEXTS = {
    NVML_ERROR_INVALID_ARGUMENT: "Invalid Argument",
    NVML_ERROR_LIBRARY_NOT_FOUND: "NVML Shared Library Not Found",
}


class NVMLError(Exception):
    """An error of NVML; ``value`` is its number."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value

    def __str__(self) -> str:
        return _TEXTS.get(self.value, f"NVML Error with code {self.value}")


class NVMLError_InvalidArgument(NVMLError):
    """There is no such device."""

    def __init__(self) -> None:
        super().__init__(NVML_ERROR_INVALID_ARGUMENT)


class NVMLError_LibraryNotFound(NVMLError):
    """There is no device at all."""

    def __init__(self) -> None:
        super().__init__(NVML_ERROR_LIBRARY_NOT_FOUND)


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
        refuse("pynvml.nvmlDeviceGetUtilizationRates", "does not know how busy the memory is")


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


def nvmlDeviceGetIndex(handle: Any) -> int:
    """Return the number of a handle's device."""
    return _index(handle)


def nvmlDeviceGetName(handle: Any) -> str:
    """Return what the device calls itself."""
    return properties.name(_index(handle))


def nvmlDeviceGetMemoryInfo(handle: Any, version: Any = None) -> Any:
    """Return ``total``, ``free`` and ``used`` bytes; what a driver reserves (``version``) is not told."""
    if version is not None:
        refuse("pynvml.nvmlDeviceGetMemoryInfo", "does not know what a driver reserves (version)")
    free, total = usage.info(_index(handle))
    return _Memory(total, free, max(total - free, 0))


def nvmlDeviceGetUtilizationRates(handle: Any) -> Any:
    """Return how busy the device is, as ``gpu`` in per cent; takes a tenth of a second."""
    return _Utilization(sensors.utilization(_index(handle)))


def nvmlDeviceGetTemperature(handle: Any, sensor: int) -> int:
    """Return degrees Celsius of the one sensor that NVML knows, ``NVML_TEMPERATURE_GPU``."""
    if sensor != NVML_TEMPERATURE_GPU:
        raise NVMLError_InvalidArgument
    return sensors.temperature(_index(handle))


def nvmlDeviceGetPowerUsage(handle: Any) -> int:
    """Return milliwatts; takes a tenth of a second."""
    return sensors.power_draw(_index(handle))


def _index(handle: Any) -> int:
    if not isinstance(handle, _Handle):
        raise NVMLError_InvalidArgument
    return handle.index
