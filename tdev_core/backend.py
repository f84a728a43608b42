"""The backend, which is the hardware that answers: picked once, from ``TDEV_BACKEND`` or from what is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Literal, NoReturn, cast

import torch

from tdev_core.errors import ConfigError, UnsupportedError

__all__ = [
    "Backend",
    "availability",
    "current",
    "device_type",
    "forced",
    "instead_of_cuda",
    "instead_of_mps",
    "is_accelerator",
    "reason",
    "unsupported",
]


class Backend(str, Enum):
    """The five backends; the value is the torch device type that the backend's tensors have."""

    CUDA = "cuda"
    MPS = "mps"
    MLX = "mlx"
    SIM = "sim"
    CPU = "cpu"


def forced() -> Backend | None:
    """Return the backend that ``TDEV_BACKEND`` names, or None where it is unset or empty.

    Raises:
        ConfigError: the variable holds anything but one of the five names.
    """
    name = os.environ.get("TDEV_BACKEND", "").strip().lower()
    if not name:
        return None
    try:
        return Backend(name)
    except ValueError:
        names = ", ".join(backend.value for backend in Backend)
        raise ConfigError(
            f"TDEV_BACKEND={name!r} is not a backend. Set it to one of {names}, "
            "or unset it to have the best one picked."
        ) from None


_WITHOUT_THE_DRIVER = "PYTORCH_NVML_BASED_CUDA_CHECK"


def _cuda_is_there() -> bool:
    """Tell whether torch finds CUDA, by the management library where there is one.

    Asked the usual way, torch starts CUDA's driver. From then on ``CUDA_VISIBLE_DEVICES`` is fixed, which
    programs set after their imports, and processes that this one forks have no CUDA; importing torch does neither.

    Source: ``torch.cuda.is_available`` documentation.
    """
    set_before = os.environ.get(_WITHOUT_THE_DRIVER)
    os.environ.setdefault(_WITHOUT_THE_DRIVER, "1")
    try:
        return torch.cuda.is_available()
    finally:
        if set_before is None:
            os.environ.pop(_WITHOUT_THE_DRIVER, None)


def _missing(backend: Backend) -> str | None:
    """Return why ``backend`` cannot be used in this process, with what to do; None where it can."""
    if backend is Backend.CUDA and not _cuda_is_there():
        if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
            return f"torch {torch.__version__} is built without CUDA; install a CUDA build of torch"
        return "torch finds no usable CUDA device; check the driver and CUDA_VISIBLE_DEVICES"
    if backend is Backend.MPS and not torch.backends.mps.is_available():
        if not torch.backends.mps.is_built():
            return "this build of torch has no MPS; MPS needs macOS on Apple silicon"
        return "torch finds no MPS device; MPS needs macOS 14 or newer on Apple silicon"
    if backend is Backend.MLX:
        from importlib.util import find_spec

        if find_spec("mlx") is None:
            return "MLX is not installed; run: pip install 'tdev[mlx]'"
    return None


# What current() answers, once it is known. A plain global: torch.compile reads it as the constant it is.
_active: Backend | None = None


@lru_cache(maxsize=1)
def _pick() -> tuple[Backend, str]:
    asked = forced()
    if asked is not None:
        why_not = _missing(asked)
        if why_not is not None:
            raise ConfigError(
                f"TDEV_BACKEND={asked.value} cannot be honoured: {why_not}. "
                "Unset TDEV_BACKEND to have an available backend picked."
            )
        return asked, f"TDEV_BACKEND={asked.value}"
    for backend in (Backend.CUDA, Backend.MPS):
        if _missing(backend) is None:
            return backend, f"torch finds {backend.value}"
    return Backend.CPU, "torch finds neither CUDA nor MPS"


def current() -> Backend:
    """Return the active backend; the same for the whole life of the process.

    Raises:
        ConfigError: ``TDEV_BACKEND`` is not a backend, or names one that is not usable here.
    """
    global _active
    if _active is None:
        _active = _pick()[0]
    return _active


# :func:`current` as mirrors ask for it whose home is CUDA or MPS, such as that of torch.cuda. At home torch's
# own objects take the place of theirs (``mirror.adopt``): what a mirror emits runs on the other backends
# only, and a type checker holds its arms against these.
instead_of_cuda = cast(
    Callable[[], Literal[Backend.MPS, Backend.MLX, Backend.SIM, Backend.CPU]], current
)
instead_of_mps = cast(
    Callable[[], Literal[Backend.CUDA, Backend.MLX, Backend.SIM, Backend.CPU]], current
)


def reason() -> str:
    """Return why the active backend is the active one, in a few words."""
    return _pick()[1]


def device_type() -> str:
    """Return the torch device type of the active backend: ``"cuda"``, ``"mps"``, …, ``"cpu"``."""
    return current().value


def is_accelerator() -> bool:
    """Tell whether the active backend is anything but the CPU."""
    return current() is not Backend.CPU


def availability() -> bool:
    """Return what ``tdev.cuda.is_available()`` answers: ``TDEV_CUDA_AVAILABLE``, or whether an accelerator
    is active.

    Raises:
        ConfigError: ``TDEV_CUDA_AVAILABLE`` is not ``auto``, ``true`` or ``false``.
    """
    wish = os.environ.get("TDEV_CUDA_AVAILABLE", "auto").strip().lower()
    match wish:
        case "auto" | "":
            return is_accelerator()
        case "true" | "1":
            return True
        case "false" | "0":
            return False
        case _:
            raise ConfigError(
                f"TDEV_CUDA_AVAILABLE={wish!r} is not understood. Set it to auto, true or false."
            )


def unsupported(function: str, why: str, instead: str, code: str = "TDEV101") -> NoReturn:
    """Raise :class:`UnsupportedError` for ``function`` on the active backend.

    ``why`` and ``instead`` are clauses without a final full stop; they become the message's second
    and third sentence.
    """
    raise UnsupportedError(
        f"{function} is not supported on the '{current().value}' backend: {why}. Instead: {instead}.",
        code,
    )
