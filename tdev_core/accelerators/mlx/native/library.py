"""Loads the native kernels where they have been built, and puts them before the Python wrappers of kernels.

Without them everything works, by Python alone.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from typing import Any

from tdev_core import caches, settings
from tdev_core.accelerators.mlx import dtypes, layout, runtime
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.native import background, building
from tdev_core.accelerators.mlx.native.building import NAME, BuildError, location
from tdev_core.accelerators.mlx.storage import contents
from tdev_core.errors import warn_once

__all__ = ["answered", "before", "start", "state", "using", "view"]

_loaded: Any = None


def state() -> str:
    """Say in a few words, for a person, whether the native kernels are in use, and how they come to be."""
    if not settings.flag("TDEV_NATIVE"):
        return "Python kernels (TDEV_NATIVE=0)"
    if not building.supported():
        return "Python kernels (this Python cannot have native ones)"
    try:
        if caches.holds(location()):
            return "native kernels"
        remark = background.remark(location())
    except (BuildError, caches.Refused) as error:
        return f"Python kernels ({error})"
    return f"Python kernels; {remark or 'faster: python -m tdev native'}"


def start() -> bool:
    """Load the library if it has been built, and have it built if not; returns whether `before` and `view` may be called."""
    global _loaded
    if _loaded is not None:
        return True
    if not settings.flag("TDEV_NATIVE") or not building.supported():
        return False
    try:
        path = location()
    except BuildError:  # nowhere to keep one
        return False
    try:
        if not caches.holds(path):
            background.begin()
            return False
        library = _load(path)
    except caches.Refused as error:
        warn_once(f"{error}; Python's kernels answer until then", RuntimeWarning, key=path)
        return False
    except (ImportError, OSError) as error:
        warn_once(
            f"the native kernels of device mlx could not be loaded ({error}); Python's are used. "
            "Build them again with: python -m tdev native --force",
            RuntimeWarning,
            key=path,
        )
        return False
    library.start(
        runtime._local,
        layout.below,
        contents.read,
        dtypes.to_torch,
        mx.array,
        runtime.drain,
        runtime.PENDING_LIMIT,
    )
    _loaded = library
    return True


def _load(path: Path) -> Any:
    """Load the library that is there, if nobody else can have written it."""
    with caches.loading(path) as name:
        loader = ExtensionFileLoader(NAME, name)
        spec = importlib.util.spec_from_file_location(NAME, name, loader=loader)
        assert spec is not None
        library = importlib.util.module_from_spec(spec)
        loader.exec_module(library)
    library.__file__ = str(path)
    return library


def before(operator: Any, kernel: Any, float32: Any = None, *, in_place: bool = False) -> None:
    """Answer `operator` with `kernel`, over arrays, where its arguments are simple; the kernel that it has gets the rest.

    Args:
        operator: an overload of ``torch.ops.aten`` with a kernel for the device, which gives tensors and nothing else.
        float32: what to call instead where every operand is float32; see `Row.float32`.
        in_place: whether the result takes the place of the first argument's array.
    """
    _loaded.front(*_named(operator), kernel, float32, in_place)


def view(operator: Any, by: str) -> None:
    """Answer a view operator by torch's own kernel of ``aten::by``, without a detour through Python."""
    _loaded.view(*_named(operator), f"aten::{by}")


def _named(operator: Any) -> tuple[str, str]:
    schema = operator._schema
    return schema.name, schema.overload_name


def answered() -> int:
    """Count the calls that the native kernels have answered in this process."""
    return 0 if _loaded is None else int(_loaded.answered())


@contextmanager
def using(on: bool) -> Iterator[None]:
    """Go on with or without the native kernels, in all threads, to compare the two."""
    before_it = _loaded is not None and _loaded.enable(on)
    try:
        yield
    finally:
        if _loaded is not None:
            _loaded.enable(before_it)
