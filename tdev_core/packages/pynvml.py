"""Stand in for ``pynvml`` (nvidia-ml-py): counts, names, memory and sensors, as tdev's own functions tell them.

A device's handle is its number. Without a device, ``nvmlInit`` raises what NVML raises without a driver. What NVML knows of a
GPU and tdev knows of no device (clocks, fans, links, other processes) raises :class:`tdev.UnsupportedError`, which is
``NVMLError_NotSupported``, too, as NVML says of a sensor that a GPU lacks. Calls before
``nvmlInit`` are answered.

Source: the documentation of NVML, and of nvidia-ml-py 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from tdev_core.cuda import device_selection, properties, sensors
from tdev_core.cuda.memory import usage
from tdev_core.errors import UnsupportedError
from tdev_core.packages.lacking import attributes_of, version_of, words

__all__ = [
    "NVML_CLOCK_GRAPHICS",
    "NVML_CLOCK_MEM",
    "NVML_CLOCK_SM",
    "NVML_CLOCK_VIDEO",
    "NVML_ERROR_UNINITIALIZED",
    "NVML_ERROR_INVALID_ARGUMENT",
    "NVML_ERROR_NOT_SUPPORTED",
    "NVML_ERROR_NO_PERMISSION",
    "NVML_ERROR_NOT_FOUND",
    "NVML_ERROR_DRIVER_NOT_LOADED",
    "NVML_ERROR_LIBRARY_NOT_FOUND",
    "NVML_ERROR_FUNCTION_NOT_FOUND",
    "NVML_ERROR_GPU_IS_LOST",
    "NVML_ERROR_UNKNOWN",
    "NVML_SUCCESS",
    "NVML_TEMPERATURE_GPU",
    "NVMLError",
    "NVMLError_Uninitialized",
    "NVMLError_InvalidArgument",
    "NVMLError_NotSupported",
    "NVMLError_NoPermission",
    "NVMLError_NotFound",
    "NVMLError_DriverNotLoaded",
    "NVMLError_LibraryNotFound",
    "NVMLError_FunctionNotFound",
    "NVMLError_GpuIsLost",
    "NVMLError_Unknown",
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

NVML_SUCCESS = 0
NVML_ERROR_UNINITIALIZED = 1
NVML_ERROR_INVALID_ARGUMENT = 2
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NO_PERMISSION = 4
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_DRIVER_NOT_LOADED = 9
NVML_ERROR_LIBRARY_NOT_FOUND = 12
NVML_ERROR_FUNCTION_NOT_FOUND = 13
NVML_ERROR_GPU_IS_LOST = 15
NVML_ERROR_UNKNOWN = 999
NVML_TEMPERATURE_GPU = 0
NVML_CLOCK_GRAPHICS = 0
NVML_CLOCK_SM = 1
NVML_CLOCK_MEM = 2
NVML_CLOCK_VIDEO = 3

_TEXTS = {
    NVML_ERROR_UNINITIALIZED: "Uninitialized",
    NVML_ERROR_INVALID_ARGUMENT: "Invalid Argument",
    NVML_ERROR_NOT_SUPPORTED: "Not Supported",
    NVML_ERROR_NO_PERMISSION: "Insufficient Permissions",
    NVML_ERROR_NOT_FOUND: "Not Found",
    NVML_ERROR_DRIVER_NOT_LOADED: "Driver Not Loaded",
    NVML_ERROR_LIBRARY_NOT_FOUND: "NVML Shared Library Not Found",
    NVML_ERROR_FUNCTION_NOT_FOUND: "Function Not Found",
    NVML_ERROR_GPU_IS_LOST: "GPU is lost",
    NVML_ERROR_UNKNOWN: "Unknown Error",
}


class NVMLError(Exception):
    """An error of NVML; ``value`` is its number."""

    number: ClassVar[int] = NVML_ERROR_UNKNOWN

    def __new__(cls, *args: Any, **kwargs: Any) -> NVMLError:
        """Make an error of the class that a number has: ``NVMLError(3)`` is an ``NVMLError_NotSupported``."""
        value = args[0] if args and cls is NVMLError else None
        for kind in NVMLError.__subclasses__():
            if value == kind.number and kind.__name__.startswith("NVMLError_"):
                return super().__new__(kind)
        return super().__new__(cls)

    def __init__(self, value: int | None = None) -> None:
        self.value = self.number if value is None else value
        super().__init__(self.value)

    def __str__(self) -> str:
        return _TEXTS.get(self.value, f"NVML Error with code {self.value}")


class NVMLError_Uninitialized(NVMLError):
    """NVML's error 1: NVML was not initialized."""

    number = NVML_ERROR_UNINITIALIZED


class NVMLError_InvalidArgument(NVMLError):
    """NVML's error 2: there is no such device."""

    number = NVML_ERROR_INVALID_ARGUMENT


class NVMLError_NotSupported(NVMLError):
    """NVML's error 3: the device does not know this."""

    number = NVML_ERROR_NOT_SUPPORTED


class NVMLError_NoPermission(NVMLError):
    """NVML's error 4: the user may not."""

    number = NVML_ERROR_NO_PERMISSION


class NVMLError_NotFound(NVMLError):
    """NVML's error 6: what was asked for was not found."""

    number = NVML_ERROR_NOT_FOUND


class NVMLError_DriverNotLoaded(NVMLError):
    """NVML's error 9: there is no driver."""

    number = NVML_ERROR_DRIVER_NOT_LOADED


class NVMLError_LibraryNotFound(NVMLError):
    """NVML's error 12: there is no device at all."""

    number = NVML_ERROR_LIBRARY_NOT_FOUND


class NVMLError_FunctionNotFound(NVMLError):
    """NVML's error 13: the driver is too old for the function."""

    number = NVML_ERROR_FUNCTION_NOT_FOUND


class NVMLError_GpuIsLost(NVMLError):
    """NVML's error 15: the device has fallen off its bus."""

    number = NVML_ERROR_GPU_IS_LOST


class NVMLError_Unknown(NVMLError):
    """NVML's error 999: the driver has failed."""

    number = NVML_ERROR_UNKNOWN


class _Refused(UnsupportedError, NVMLError_NotSupported):
    """Refusal of what NVML knows of a GPU and tdev of no device: a program that goes on without a sensor catches it."""

    def __init__(self, asked: str, why: str) -> None:
        self.told = words(asked, why)
        super().__init__(self.told, "TDEV103")
        self.value = NVML_ERROR_NOT_SUPPORTED

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
