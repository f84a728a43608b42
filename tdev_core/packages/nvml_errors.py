"""NVML's errors: a number and a class for each, as :mod:`pynvml` has them.

Source: ``nvmlReturn_t`` in NVML's documentation; nvidia-ml-py 13 for the classes' names and the words.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "NVML_ERROR_UNINITIALIZED",
    "NVML_ERROR_INVALID_ARGUMENT",
    "NVML_ERROR_NOT_SUPPORTED",
    "NVML_ERROR_NO_PERMISSION",
    "NVML_ERROR_ALREADY_INITIALIZED",
    "NVML_ERROR_NOT_FOUND",
    "NVML_ERROR_INSUFFICIENT_SIZE",
    "NVML_ERROR_INSUFFICIENT_POWER",
    "NVML_ERROR_DRIVER_NOT_LOADED",
    "NVML_ERROR_TIMEOUT",
    "NVML_ERROR_IRQ_ISSUE",
    "NVML_ERROR_LIBRARY_NOT_FOUND",
    "NVML_ERROR_FUNCTION_NOT_FOUND",
    "NVML_ERROR_CORRUPTED_INFOROM",
    "NVML_ERROR_GPU_IS_LOST",
    "NVML_ERROR_RESET_REQUIRED",
    "NVML_ERROR_OPERATING_SYSTEM",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
    "NVML_ERROR_IN_USE",
    "NVML_ERROR_MEMORY",
    "NVML_ERROR_NO_DATA",
    "NVML_ERROR_VGPU_ECC_NOT_SUPPORTED",
    "NVML_ERROR_INSUFFICIENT_RESOURCES",
    "NVML_ERROR_FREQ_NOT_SUPPORTED",
    "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
    "NVML_ERROR_DEPRECATED",
    "NVML_ERROR_NOT_READY",
    "NVML_ERROR_GPU_NOT_FOUND",
    "NVML_ERROR_INVALID_STATE",
    "NVML_ERROR_RESET_TYPE_NOT_SUPPORTED",
    "NVML_ERROR_UNKNOWN",
    "NVMLError",
    "NVMLError_Uninitialized",
    "NVMLError_InvalidArgument",
    "NVMLError_NotSupported",
    "NVMLError_NoPermission",
    "NVMLError_AlreadyInitialized",
    "NVMLError_NotFound",
    "NVMLError_InsufficientSize",
    "NVMLError_InsufficientPower",
    "NVMLError_DriverNotLoaded",
    "NVMLError_Timeout",
    "NVMLError_IrqIssue",
    "NVMLError_LibraryNotFound",
    "NVMLError_FunctionNotFound",
    "NVMLError_CorruptedInforom",
    "NVMLError_GpuIsLost",
    "NVMLError_ResetRequired",
    "NVMLError_OperatingSystem",
    "NVMLError_LibRmVersionMismatch",
    "NVMLError_InUse",
    "NVMLError_Memory",
    "NVMLError_NoData",
    "NVMLError_VgpuEccNotSupported",
    "NVMLError_InsufficientResources",
    "NVMLError_FreqNotSupported",
    "NVMLError_ArgumentVersionMismatch",
    "NVMLError_Deprecated",
    "NVMLError_NotReady",
    "NVMLError_GpuNotFound",
    "NVMLError_InvalidState",
    "NVMLError_ResetTypeNotSupported",
    "NVMLError_Unknown",
    "nvmlExceptionClass",
]

NVML_ERROR_UNINITIALIZED = 1
NVML_ERROR_INVALID_ARGUMENT = 2
NVML_ERROR_NOT_SUPPORTED = 3
NVML_ERROR_NO_PERMISSION = 4
NVML_ERROR_ALREADY_INITIALIZED = 5
NVML_ERROR_NOT_FOUND = 6
NVML_ERROR_INSUFFICIENT_SIZE = 7
NVML_ERROR_INSUFFICIENT_POWER = 8
NVML_ERROR_DRIVER_NOT_LOADED = 9
NVML_ERROR_TIMEOUT = 10
NVML_ERROR_IRQ_ISSUE = 11
NVML_ERROR_LIBRARY_NOT_FOUND = 12
NVML_ERROR_FUNCTION_NOT_FOUND = 13
NVML_ERROR_CORRUPTED_INFOROM = 14
NVML_ERROR_GPU_IS_LOST = 15
NVML_ERROR_RESET_REQUIRED = 16
NVML_ERROR_OPERATING_SYSTEM = 17
NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18
NVML_ERROR_IN_USE = 19
NVML_ERROR_MEMORY = 20
NVML_ERROR_NO_DATA = 21
NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22
NVML_ERROR_INSUFFICIENT_RESOURCES = 23
NVML_ERROR_FREQ_NOT_SUPPORTED = 24
NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25
NVML_ERROR_DEPRECATED = 26
NVML_ERROR_NOT_READY = 27
NVML_ERROR_GPU_NOT_FOUND = 28
NVML_ERROR_INVALID_STATE = 29
NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30
NVML_ERROR_UNKNOWN = 999

_TEXTS = {
    NVML_ERROR_UNINITIALIZED: "Uninitialized",
    NVML_ERROR_INVALID_ARGUMENT: "Invalid Argument",
    NVML_ERROR_NOT_SUPPORTED: "Not Supported",
    NVML_ERROR_NO_PERMISSION: "Insufficient Permissions",
    NVML_ERROR_ALREADY_INITIALIZED: "Already Initialized",
    NVML_ERROR_NOT_FOUND: "Not Found",
    NVML_ERROR_INSUFFICIENT_SIZE: "Insufficient Size",
    NVML_ERROR_INSUFFICIENT_POWER: "Insufficient External Power",
    NVML_ERROR_DRIVER_NOT_LOADED: "Driver Not Loaded",
    NVML_ERROR_TIMEOUT: "Timeout",
    NVML_ERROR_IRQ_ISSUE: "Interrupt Request Issue",
    NVML_ERROR_LIBRARY_NOT_FOUND: "NVML Shared Library Not Found",
    NVML_ERROR_FUNCTION_NOT_FOUND: "Function Not Found",
    NVML_ERROR_CORRUPTED_INFOROM: "Corrupted infoROM",
    NVML_ERROR_GPU_IS_LOST: "GPU is lost",
    NVML_ERROR_RESET_REQUIRED: "GPU requires restart",
    NVML_ERROR_OPERATING_SYSTEM: "The operating system has blocked the request.",
    NVML_ERROR_LIB_RM_VERSION_MISMATCH: "RM has detected an NVML/RM version mismatch.",
    NVML_ERROR_IN_USE: "In Use",
    NVML_ERROR_MEMORY: "Insufficient Memory",
    NVML_ERROR_NO_DATA: "No Data",
    NVML_ERROR_VGPU_ECC_NOT_SUPPORTED: "vGPU ECC Not Supported",
    NVML_ERROR_INSUFFICIENT_RESOURCES: "Insufficient Resources",
    NVML_ERROR_FREQ_NOT_SUPPORTED: "Frequency Not Supported",
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "Argument Version Mismatch",
    NVML_ERROR_DEPRECATED: "Deprecated",
    NVML_ERROR_NOT_READY: "Not Ready",
    NVML_ERROR_GPU_NOT_FOUND: "GPU Not Found",
    NVML_ERROR_INVALID_STATE: "Invalid State",
    NVML_ERROR_RESET_TYPE_NOT_SUPPORTED: "Reset Type Not Supported",
    NVML_ERROR_UNKNOWN: "Unknown Error",
}


class NVMLError(Exception):
    """An error of NVML; ``value`` is its number."""

    number: ClassVar[int] = NVML_ERROR_UNKNOWN

    def __new__(cls, *args: Any, **kwargs: Any) -> NVMLError:
        """Make an error of the class that a number has: ``NVMLError(3)`` is an ``NVMLError_NotSupported``."""
        if args and cls is NVMLError:
            return super().__new__(_CLASSES.get(args[0], cls))
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
    """NVML's error 2: there is no such device, or an argument is of no use."""

    number = NVML_ERROR_INVALID_ARGUMENT


class NVMLError_NotSupported(NVMLError):
    """NVML's error 3: the device does not know this."""

    number = NVML_ERROR_NOT_SUPPORTED


class NVMLError_NoPermission(NVMLError):
    """NVML's error 4: the user may not."""

    number = NVML_ERROR_NO_PERMISSION


class NVMLError_AlreadyInitialized(NVMLError):
    """NVML's error 5: NVML was initialized before; no longer given."""

    number = NVML_ERROR_ALREADY_INITIALIZED


class NVMLError_NotFound(NVMLError):
    """NVML's error 6: what was asked for was not found."""

    number = NVML_ERROR_NOT_FOUND


class NVMLError_InsufficientSize(NVMLError):
    """NVML's error 7: an argument is too small for the answer."""

    number = NVML_ERROR_INSUFFICIENT_SIZE


class NVMLError_InsufficientPower(NVMLError):
    """NVML's error 8: power cables are not attached."""

    number = NVML_ERROR_INSUFFICIENT_POWER


class NVMLError_DriverNotLoaded(NVMLError):
    """NVML's error 9: there is no driver."""

    number = NVML_ERROR_DRIVER_NOT_LOADED


class NVMLError_Timeout(NVMLError):
    """NVML's error 10: the time that was given is over."""

    number = NVML_ERROR_TIMEOUT


class NVMLError_IrqIssue(NVMLError):
    """NVML's error 11: the kernel has found a fault of interrupts."""

    number = NVML_ERROR_IRQ_ISSUE


class NVMLError_LibraryNotFound(NVMLError):
    """NVML's error 12: there is no device at all."""

    number = NVML_ERROR_LIBRARY_NOT_FOUND


class NVMLError_FunctionNotFound(NVMLError):
    """NVML's error 13: the driver is too old for the function."""

    number = NVML_ERROR_FUNCTION_NOT_FOUND


class NVMLError_CorruptedInforom(NVMLError):
    """NVML's error 14: the device's own memory of settings is damaged."""

    number = NVML_ERROR_CORRUPTED_INFOROM


class NVMLError_GpuIsLost(NVMLError):
    """NVML's error 15: the device has fallen off its bus."""

    number = NVML_ERROR_GPU_IS_LOST


class NVMLError_ResetRequired(NVMLError):
    """NVML's error 16: the device has to be reset before it is used again."""

    number = NVML_ERROR_RESET_REQUIRED


class NVMLError_OperatingSystem(NVMLError):
    """NVML's error 17: the system refuses control of the device."""

    number = NVML_ERROR_OPERATING_SYSTEM


class NVMLError_LibRmVersionMismatch(NVMLError):
    """NVML's error 18: driver and library are of two releases."""

    number = NVML_ERROR_LIB_RM_VERSION_MISMATCH


class NVMLError_InUse(NVMLError):
    """NVML's error 19: another process uses the device."""

    number = NVML_ERROR_IN_USE


class NVMLError_Memory(NVMLError):
    """NVML's error 20: memory does not suffice."""

    number = NVML_ERROR_MEMORY


class NVMLError_NoData(NVMLError):
    """NVML's error 21: nothing was measured yet."""

    number = NVML_ERROR_NO_DATA


class NVMLError_VgpuEccNotSupported(NVMLError):
    """NVML's error 22: virtual devices exclude memory that mends itself."""

    number = NVML_ERROR_VGPU_ECC_NOT_SUPPORTED


class NVMLError_InsufficientResources(NVMLError):
    """NVML's error 23: something but memory does not suffice."""

    number = NVML_ERROR_INSUFFICIENT_RESOURCES


class NVMLError_FreqNotSupported(NVMLError):
    """NVML's error 24: the device has no such clock."""

    number = NVML_ERROR_FREQ_NOT_SUPPORTED


class NVMLError_ArgumentVersionMismatch(NVMLError):
    """NVML's error 25: a structure is of a release that the driver does not know."""

    number = NVML_ERROR_ARGUMENT_VERSION_MISMATCH


class NVMLError_Deprecated(NVMLError):
    """NVML's error 26: the function is given up."""

    number = NVML_ERROR_DEPRECATED


class NVMLError_NotReady(NVMLError):
    """NVML's error 27: the device is not ready for it."""

    number = NVML_ERROR_NOT_READY


class NVMLError_GpuNotFound(NVMLError):
    """NVML's error 28: no device was found."""

    number = NVML_ERROR_GPU_NOT_FOUND


class NVMLError_InvalidState(NVMLError):
    """NVML's error 29: the device's state excludes it."""

    number = NVML_ERROR_INVALID_STATE


class NVMLError_ResetTypeNotSupported(NVMLError):
    """NVML's error 30: the device is not reset that way."""

    number = NVML_ERROR_RESET_TYPE_NOT_SUPPORTED


class NVMLError_Unknown(NVMLError):
    """NVML's error 999: the driver has failed."""

    number = NVML_ERROR_UNKNOWN


_CLASSES: dict[int, type[NVMLError]] = {kind.number: kind for kind in NVMLError.__subclasses__()}


def nvmlExceptionClass(nvmlErrorCode: int) -> type[NVMLError]:
    """Return the class of the errors that have a number.

    Raises:
        ValueError: NVML has no such error.
    """
    if nvmlErrorCode not in _CLASSES:
        raise ValueError(f"nvmlErrorCode {nvmlErrorCode} is not valid")
    return _CLASSES[nvmlErrorCode]
