"""Tells the program's code from installed libraries, and names a library that leaves the accelerator.

A library that is installed imports torch itself, and torch tells it that there is no CUDA. One that
chooses the device (a ``Trainer``) therefore trains on the CPU beside an accelerator. It is left alone
unless it was named to ``tdev run``; here is who says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType

from tdev_core.errors import DeviceWarning, warn_once

__all__ = [
    "DEVICE_CHOOSERS",
    "INSTALLED",
    "NEVER_REWRITTEN",
    "add_rewritten",
    "forget_rewritten",
    "is_installed",
    "warn_of_leaving",
]

DEVICE_CHOOSERS = (
    "accelerate", "transformers", "peft", "trl", "lightning", "pytorch_lightning", "lightning_fabric",
    "diffusers", "sentence_transformers", "ignite", "fastai", "ultralytics",
)  # fmt: skip
"""Well-known libraries that choose the device themselves."""

NEVER_REWRITTEN = ("tdev", "tdev_core", "torch", "torchgen", "functorch", "triton")
"""What asks for devices on behalf of everybody."""

INSTALLED = ("site-packages", "dist-packages")
"""Folders that hold what is installed."""

Covers = Callable[[str], bool]
_rewritten: list[Covers] = []


def add_rewritten(covers: Covers) -> None:
    """Register who can tell whether a file is rewritten as it is imported."""
    _rewritten.append(covers)


def forget_rewritten(covers: Covers) -> None:
    """Undo :func:`add_rewritten`."""
    if covers in _rewritten:
        _rewritten.remove(covers)


def is_installed(path: str) -> bool:
    """Tell whether a file or directory is part of an installation, by the names of its folders."""
    return any(part in INSTALLED for part in path.split(os.sep))


def warn_of_leaving(function: str, backend: str) -> None:
    """Warn once for each library that puts a model on the CPU beside an accelerator.

    Called by a wrapper of a method; the caller of the outermost method of that name is asked about, since
    classes of libraries extend ``to`` and hand it on.

    Args:
        function: the method's name.
        backend: the active backend's name.
    """
    frame: FrameType | None = sys._getframe(2)
    level = 3
    while frame is not None and frame.f_code.co_name == function:
        frame, level = frame.f_back, level + 1
    if frame is None or not _is_left_alone(frame):
        return
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    warn_once(
        _leaving(library, backend),
        DeviceWarning,
        code="TDEV302",
        key=("library", library),
        stacklevel=level,
    )


def _leaving(library: str, backend: str) -> str:
    others = (n for n in DEVICE_CHOOSERS if n != library and _is_loaded_alone(n))
    names = ",".join((library, *others))
    quoted = ", ".join(f'"{name}"' for name in names.split(","))
    return (
        f"{library} puts a model on the CPU while the backend is '{backend}': it is an installed library and "
        "asks torch itself for the device. To have it use the accelerator, name it: python -m tdev run "
        f"--library {names} …, or libraries = [{quoted}] under [tool.tdev] in pyproject.toml, or, for "
        "tests, tdev_roots in pytest's settings."
    )


def _is_left_alone(frame: FrameType) -> bool:
    """Tell whether code is an installed library's that neither tdev nor its author has migrated."""
    names = frame.f_globals
    if str(names.get("__name__", "")).partition(".")[0] in NEVER_REWRITTEN:
        return False
    return _is_left(frame.f_code.co_filename) and not any(
        getattr(names.get(name), "__name__", "").partition(".")[0] == "tdev"
        for name in ("torch", "tdev")
    )


def _is_loaded_alone(library: str) -> bool:
    file = getattr(sys.modules.get(library), "__file__", None)
    return file is not None and _is_left(file)


def _is_left(path: str) -> bool:
    return is_installed(path) and not any(covers(path) for covers in _rewritten)
