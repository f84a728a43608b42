"""float64 and complex128 on MPS, which has neither: types that nobody named become half as wide.

NumPy's arrays are float64 unless somebody says otherwise, and CUDA takes them as they are. Metal has no such
type, and torch refuses to make or move such a tensor there. A type that the program names is another matter:
narrowing that would change what it computes, so it stays an error, which says what to do.

Source: ``aten/src/ATen/mps/EmptyTensor.cpp`` and ``aten/src/ATen/native/mps/OperationUtils.mm``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.backend import Backend, current
from tdev_core.devices import translate
from tdev_core.errors import DeviceWarning, warn_once

__all__ = ["NARROWER", "lacks_wide_types", "narrow_by_default", "narrow_move"]

NARROWER = {torch.float64: torch.float32, torch.complex128: torch.complex64}
"""Types that Metal lacks, and what stands in for them."""

_TYPE = "mps"


def lacks_wide_types() -> bool:
    """Tell whether the active backend is the one that lacks them."""
    return current() is Backend.MPS


def narrow_move(
    dtype: torch.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of ``Tensor.to``, device first or by its name, for a tensor of one of the wide types.

    Raises:
        TypeError: a wide type is named for the device.
    """
    if not lacks_wide_types() or not _there(args[0] if args else kwargs.get("device")):
        return args, kwargs
    named = args[1] if len(args) > 1 else kwargs.get("dtype")
    if named is not None:
        _refuse(named)
        return args, kwargs
    narrow = _narrowed(dtype, stacklevel=4)
    if len(args) > 1:
        return (args[0], narrow, *args[2:]), kwargs
    return args, {**kwargs, "dtype": narrow}


def narrow_by_default(factory: Callable[..., Any]) -> Callable[..., Any]:
    """``factory``, which makes tensors, with the narrower type where the wide one was nobody's wish.

    What it would make is seen on the CPU, where the result is made once torch has refused.
    """

    @functools.wraps(factory)
    def make(*args: Any, **kwargs: Any) -> Any:
        try:
            return factory(*args, **kwargs)
        except TypeError:
            device = translate(kwargs.get("device"))
            device = torch.get_default_device() if device is None else device
            if not _there(device):
                raise
            _refuse(kwargs.get("dtype"))
            if kwargs.get("dtype") is not None:
                raise
            wide = factory(*args, **{**kwargs, "device": "cpu"})
            if wide.dtype not in NARROWER:
                raise
        narrow = wide.detach().to(device, _narrowed(wide.dtype, stacklevel=3))
        return narrow.requires_grad_(wide.requires_grad)

    return make


def _there(device: Any) -> bool:
    return isinstance(device, torch.device) and device.type == _TYPE


def _refuse(dtype: Any) -> None:
    if dtype in NARROWER:
        raise TypeError(
            f"{dtype} does not exist on {_TYPE}: Metal has no type as wide. Instead: ask for"
            f" {NARROWER[dtype]}, or keep this tensor on the CPU (device='cpu')."
        )


def _narrowed(dtype: torch.dtype, stacklevel: int) -> torch.dtype:
    narrow = NARROWER[dtype]
    warn_once(
        f"{_TYPE} has no {dtype}: {narrow} is used, since no type was named",
        DeviceWarning,
        code="TDEV309",
        stacklevel=stacklevel,
    )
    return narrow
