"""Mixed precision under the device type that the active backend has.

``torch.autocast("cuda")`` and ``GradScaler("cuda")`` switch themselves off where there is no CUDA. The two
constructors are therefore shimmed (:func:`autocast_init`, :func:`grad_scaler_init`): the classes stay
torch's own, so that ``isinstance``, subclassing, pickling and ``torch.compile`` see what they know, and
``torch.cuda.amp``'s classes, which call these constructors, follow.

A program that names no dtype gets the one it would get on its own device (``torch.float16`` for CUDA).
Where the target does not do the dtype, it is bfloat16, with one warning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tdev_core import torchscript
from tdev_core.backend import current
from tdev_core.devices import ACCELERATORS, is_foreign
from tdev_core.errors import DeviceWarning, warn_once

__all__ = [
    "autocast_init",
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
        original(self, here, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)

    return __init__


def grad_scaler_init(original: Callable[..., None]) -> Callable[..., None]:
    """Return the shim for ``torch.amp.GradScaler.__init__``."""

    def __init__(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        original(self, target(device), *args, **kwargs)

    return __init__


def custom_fwd(
    fwd: Any = None, *, device_type: str = "cuda", cast_inputs: torch.dtype | None = None
) -> Any:
    """``torch.amp.custom_fwd`` for the translated device type; the default is that of ``torch.cuda.amp``."""
    return torch.amp.custom_fwd(fwd, device_type=target(device_type), cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """``torch.amp.custom_bwd`` for the translated device type; the default is that of ``torch.cuda.amp``."""
    return torch.amp.custom_bwd(bwd, device_type=target(device_type))


def is_autocast_available(device_type: str) -> bool:
    """Tell whether autocast works on the translated device type."""
    return bool(torch.amp.is_autocast_available(target(device_type)))


def is_enabled(device_type: str | None = None) -> bool:
    """Tell whether autocast is on for the translated device type; without one, for the accelerator's.

    ``torch.is_autocast_enabled()`` without an argument asks for CUDA.
    """
    return torch.is_autocast_enabled(target("cuda" if device_type is None else device_type))


def set_enabled(*args: Any) -> None:
    """``torch.set_autocast_enabled(enabled)`` or ``(device_type, enabled)``, translated."""
    if len(args) == 1:
        args = ("cuda", *args)
    torch.set_autocast_enabled(target(args[0]), *args[1:])


def get_dtype(device_type: str) -> torch.dtype:
    """Return the dtype that autocast uses on the translated device type.

    Outside autocast that is the default of the type that was named, float16 for CUDA; the CPU's, on
    which it runs, would be bfloat16.
    """
    here = target(device_type)
    if here != device_type and not torch.is_autocast_enabled(here):
        return torch.get_autocast_dtype(device_type.partition(":")[0])
    return torch.get_autocast_dtype(here)


def set_dtype(device_type: str, dtype: torch.dtype) -> None:
    """Set the dtype that autocast uses on the translated device type."""
    here = target(device_type)
    if here != device_type:
        dtype = _dtype(dtype, device_type, here, stacklevel=2)
    torch.set_autocast_dtype(here, dtype)


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
