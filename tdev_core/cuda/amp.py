"""Mixed precision under the device type that the active backend has.

``torch.autocast("cuda")`` and ``GradScaler("cuda")`` switch themselves off where there is no CUDA. The two
constructors are therefore shimmed (:func:`autocast_init`, :func:`grad_scaler_init`): the classes stay
torch's own, so that ``isinstance``, subclassing, pickling and ``torch.compile`` see what they know, and
``torch.cuda.amp``'s classes, which call these constructors, follow.

On the ``cpu`` backend an instance keeps the name ``"cuda"``, as its region follows CUDA's operator lists on CPU
tensors (:mod:`tdev_core.accelerators.cpu.autocast`) and not those of ``torch.autocast("cpu")``, which may be
another library's. Entering and leaving are shimmed for that (:func:`autocast_enter`, :func:`autocast_exit`).

A program that names no dtype gets the one it would get on its own device (``torch.float16`` for CUDA).
Where the target does not do the dtype, it is bfloat16, with one warning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from tdev_core import torchscript
from tdev_core.accelerators.cpu import autocast as cpu_region
from tdev_core.backend import current
from tdev_core.devices import ACCELERATORS, is_foreign, translate
from tdev_core.errors import DeviceWarning, warn_once

__all__ = [
    "autocast_enter",
    "autocast_exit",
    "autocast_init",
    "checkpoint_device_type",
    "custom_bwd",
    "custom_fwd",
    "definitely_not_available",
    "get_dtype",
    "get_gpu_dtype",
    "grad_scaler_init",
    "is_autocast_available",
    "is_enabled",
    "set_dtype",
    "set_enabled",
    "set_gpu_dtype",
    "supported_dtypes",
    "target",
]

_HALVES = (torch.bfloat16, torch.float16)

# Settled at import: torch.compile traces through the functions below, and a dictionary is all that it
# then sees of how the backend was picked.
_HERE = {kind: current().value for kind in sorted(ACCELERATORS) if is_foreign(kind)}


def target(device_type: Any) -> Any:
    """Return the device type that ``device_type`` means here; what is no accelerator's name stays itself.

    An index, as in ``"cuda:0"``, is dropped: torch's autocast looks at the type only.
    """
    if isinstance(device_type, str):
        return _HERE.get(device_type.partition(":")[0], device_type)
    return device_type


def _on_cpu(device_type: Any) -> bool:
    """Tell whether ``device_type`` is an accelerator's name for which the CPU stands in."""
    return bool(device_type != "cpu" and target(device_type) == "cpu")


def _own(device_type: str) -> str:
    """Return the type whose state torch keeps for ``device_type``: on the CPU that of CUDA stands for all."""
    return "cuda" if _on_cpu(device_type) else str(target(device_type))


def supported_dtypes(device_type: str) -> list[torch.dtype]:
    """Return the dtypes that autocast takes on ``device_type``.

    Source: ``torch.amp.autocast_mode.autocast.__init__``.
    """
    told = getattr(getattr(torch, device_type, None), "get_amp_supported_dtype", None)
    return list(_HALVES if told is None else told())


def _dtype(dtype: Any, asked: str, device_type: str, stacklevel: int) -> Any:
    """``dtype``, or bfloat16 where ``device_type`` has only that."""
    if dtype is None:
        dtype = torch.get_autocast_dtype(asked)
    allowed = supported_dtypes(device_type)
    if dtype in _HALVES and dtype not in allowed and torch.bfloat16 in allowed:
        warn_once(
            f"autocast on {device_type!r} has no {dtype}; torch.bfloat16 is used for it",
            DeviceWarning,
            code="TDEV306",
            key=("autocast", device_type, dtype),
            stacklevel=stacklevel + 1,
        )
        return torch.bfloat16
    return dtype


def autocast_init(original: Callable[..., None]) -> Callable[..., None]:
    """Return the shim for ``torch.amp.autocast.__init__``."""

    def __init__(
        self: Any,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        here = target(device_type)
        if here != device_type:
            dtype = _dtype(dtype, device_type, here, stacklevel=2)
        if here == "cpu" != device_type:
            # Off, torch asks neither for CUDA nor whether the CPU has the type: CUDA takes any.
            original(self, "cuda", dtype=dtype, enabled=False, cache_enabled=cache_enabled)
            self._enabled = enabled
        else:
            original(self, here, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    return __init__


def autocast_enter(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the shim for ``torch.amp.autocast.__enter__``."""

    def __enter__(self: Any) -> Any:
        entered = original(self)
        if _on_cpu(self.device):
            self._tdev_before = cpu_region.state()
            cpu_region.switch(self._enabled, self.fast_dtype)
        elif self.device == "cpu" and cpu_region.is_on():
            # The device type was asked of a tensor, which on a GPU says "cuda": it means this region.
            self._tdev_cuda = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
            _set_cuda(self._enabled, self.fast_dtype)
        return entered

    return __enter__


def autocast_exit(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the shim for ``torch.amp.autocast.__exit__``."""

    def __exit__(self: Any, exc_type: Any, exc_val: Any, exc_tb: Any) -> Any:
        if _on_cpu(self.device):
            cpu_region.restore(self._tdev_before)
        elif (before := self.__dict__.pop("_tdev_cuda", None)) is not None:
            _set_cuda(*before)
        return original(self, exc_type, exc_val, exc_tb)

    return __exit__


def _set_cuda(enabled: bool, dtype: torch.dtype) -> None:
    torch.set_autocast_enabled("cuda", enabled)
    torch.set_autocast_dtype("cuda", dtype)


def checkpoint_device_type(original: Callable[[], str]) -> Callable[[], str]:
    """Return the shim for ``torch.utils.checkpoint.DefaultDeviceType.get_device_type``.

    A checkpoint keeps autocast's state of the CPU and of one type more, for its recomputation: that of its
    arguments, or where those are on the CPU this default.
    """

    def get_device_type() -> str:
        return "cuda" if cpu_region.is_on() else original()

    return get_device_type


def grad_scaler_init(original: Callable[..., None]) -> Callable[..., None]:
    """Return the shim for ``torch.amp.GradScaler.__init__``."""

    def __init__(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        original(self, target(device), *args, **kwargs)

    return __init__


def grad_scaler_scale(original: Callable[..., None]) -> Callable[..., None]:
    """Return the shim for ``torch.amp.GradScaler._lazy_init_scale_growth_tracker``, which makes the scale on a device."""

    def _lazy_init_scale_growth_tracker(self: Any, dev: Any) -> None:
        original(self, translate(dev))

    return _lazy_init_scale_growth_tracker


def custom_fwd(
    fwd: Any = None, *, device_type: str = "cuda", cast_inputs: torch.dtype | None = None
) -> Any:
    """``torch.amp.custom_fwd`` for the translated device type; the default is that of ``torch.cuda.amp``."""
    # torch compares the type both with the state to remember and with the tensors to cast.
    kind = _own(device_type) if cast_inputs is None else target(device_type)
    return torch.amp.custom_fwd(fwd, device_type=kind, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """``torch.amp.custom_bwd`` for the translated device type; the default is that of ``torch.cuda.amp``."""
    return torch.amp.custom_bwd(bwd, device_type=_own(device_type))


def is_autocast_available(device_type: str) -> bool:
    """Tell whether autocast works on the translated device type."""
    return bool(torch.amp.is_autocast_available(target(device_type)))


def is_enabled(device_type: str | None = None) -> bool:
    """Tell whether autocast is on for the translated device type; without one, for the accelerator's.

    ``torch.is_autocast_enabled()`` without an argument asks for CUDA.
    """
    return torch.is_autocast_enabled(_own("cuda" if device_type is None else device_type))


class _Switched(threading.local):
    before: cpu_region.State | None = None
    """What :func:`set_enabled` found when it switched CUDA's lists on in this thread."""


_switched = _Switched()


def set_enabled(*args: Any) -> None:
    """``torch.set_autocast_enabled(enabled)`` or ``(device_type, enabled)``, translated."""
    if len(args) == 1:
        args = ("cuda", *args)
    torch.set_autocast_enabled(_own(args[0]), *args[1:])
    if not _on_cpu(args[0]):
        return
    if args[1]:
        if _switched.before is None:
            _switched.before = cpu_region.state()
        cpu_region.switch(True, torch.get_autocast_dtype("cuda"))
    elif _switched.before is not None:
        cpu_region.restore(_switched.before)
        _switched.before = None
    elif (
        cpu_region.is_on()
    ):  # inside a region of torch.autocast, whose end restores what was before it
        cpu_region.switch(False, torch.get_autocast_dtype("cuda"))


def get_dtype(device_type: str) -> torch.dtype:
    """Return the dtype that autocast uses on the translated device type.

    Outside autocast that is the default of the type that was named, float16 for CUDA.
    """
    here = _own(device_type)
    if here != device_type and not torch.is_autocast_enabled(here):
        return torch.get_autocast_dtype(device_type.partition(":")[0])
    return torch.get_autocast_dtype(here)


def set_dtype(device_type: str, dtype: torch.dtype) -> None:
    """Set the dtype that autocast uses on the translated device type."""
    here = target(device_type)
    if here != device_type:
        dtype = _dtype(dtype, device_type, here, stacklevel=2)
    torch.set_autocast_dtype(_own(device_type), dtype)
    if _on_cpu(device_type) and cpu_region.is_on():
        torch.set_autocast_dtype("cpu", dtype)


def get_gpu_dtype() -> torch.dtype:
    """``torch.get_autocast_gpu_dtype``: the dtype on the accelerator, see :func:`get_dtype`."""
    return get_dtype("cuda")


def set_gpu_dtype(dtype: torch.dtype) -> None:
    """``torch.set_autocast_gpu_dtype``."""
    torch.set_autocast_dtype("cuda", dtype)  # what a later autocast without dtype starts from
    set_dtype("cuda", dtype)


# Inside a script torch's own operators are meant; TorchScript finds them by the function's identity.
torchscript.know_functions(
    {is_enabled: "aten::is_autocast_enabled", get_dtype: "aten::get_autocast_dtype"}
)


def definitely_not_available() -> bool:
    """``torch.cuda.amp.common.amp_definitely_not_available``: whether autocast cannot work here."""
    return not is_autocast_available("cuda")
