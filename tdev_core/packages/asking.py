"""Answers what a rewritten program imports of a package for CUDA.

The program's ``from flash_attn import flash_attn_func`` becomes a call of :func:`names`, and ``import flash_attn`` one of
:func:`bound` or :func:`leaf`. What they do is decided as the import runs: the rewritten code is remembered, and the
package may be installed by the next start.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader
from types import FrameType, ModuleType
from typing import Any

from tdev_core import settings
from tdev_core.ecosystem.package_table import of_module, stand_ins
from tdev_core.errors import DeviceWarning, UnsupportedError, outside, warn_once
from tdev_core.packages.lacking import AbsentPackage, BrokenPackage, LackingImport, words
from tdev_core.packages.watching import watch

__all__ = [
    "Names", "bound", "every", "is_stand_in", "is_standing", "leaf", "load", "may_answer", "names", "standing",
]  # fmt: skip

_ROOM = __name__.rpartition(".")[0]


def names(module: str, *wanted: str) -> tuple[Any, ...]:
    """Return what ``from module import wanted, …`` binds.

    Raises:
        LackingImport: the stand-in answers, and does not have one of them.
        AbsentPackage: there is no such package, and no stand-in may answer.
        BrokenPackage: the package is there, and cannot be imported.
        ImportError: as Python does, from an installed package or where no stand-in may answer.
    """
    if not is_standing(module):
        found = _imported(module)
        return tuple(_of_package(found, name) for name in wanted)
    found = load(module, (*wanted, "")[0])
    return tuple(_of_stand_in(found, module, name) for name in wanted)


def every(module: str, names: dict[str, Any]) -> bool:
    """Put what ``from module import *`` binds into ``names``, where the stand-in answers; tell whether it does.

    Raises:
        as :func:`names` does.
    """
    if not is_standing(module):
        _imported(module)
        return False
    found = load(module, "*")
    public = (name for name in vars(found) if not name.startswith("_"))
    names.update((name, getattr(found, name)) for name in getattr(found, "__all__", public))
    return True


def bound(module: str) -> ModuleType:
    """Return what ``import module`` binds: the package itself, with ``module`` imported."""
    leaf(module)
    return leaf(module.partition(".")[0])


def leaf(module: str) -> ModuleType:
    """Return what ``import module as name`` binds."""
    return load(module) if is_standing(module) else _imported(module)


def _imported(module: str) -> ModuleType:
    """Import an installed package; where there is none, say what it is for and what to use.

    So is one that is there and cannot be imported: its compiled part is lacking, or wants a library of CUDA's.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        absent = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        package = of_module(absent)
        # Which need not be the one that was asked for, but what that imports.
        if package is not None and absent in (package.name, package.name.partition(".")[0]):
            raise AbsentPackage(package, absent) from None
        asked = of_module(module)
        if asked is None or isinstance(error, UnsupportedError) or _is_its_own(asked.name):
            raise
        if f"{module}.".startswith(f"{absent}.") and absent:
            raise  # a module that the package never had; Python's error names it
        raise BrokenPackage(asked, error) from error


def _is_its_own(package: str) -> bool:
    """Tell whether code of a package asks: it tries the parts that it has, and knows what to do without one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    name = str(frame.f_globals.get("__name__", "")) if frame is not None else ""
    return f"{name}.".startswith(f"{package}.")


def is_standing(module: str) -> bool:
    """Tell whether the stand-in answers for ``module``: no such package, no CUDA, ``TDEV_STANDINS`` not off."""
    package = module.partition(".")[0]
    return package in stand_ins() and not _is_there(package) and may_answer(module)


def may_answer(module: str) -> bool:
    """Tell whether there is a stand-in for ``module``, no CUDA, and ``TDEV_STANDINS`` is not off."""
    if module.partition(".")[0] not in stand_ins() or not settings.flag("TDEV_STANDINS"):
        return False
    from tdev_core.backend import Backend, current  # needs torch, which the program may not

    return current() is not Backend.CUDA


def standing() -> list[str]:
    """Return the packages that a stand-in has answered for in this process, sorted."""
    return sorted(name for name in stand_ins() if f"{_ROOM}.{name}" in sys.modules)


class Names(Loader):
    """Makes a module of the package's own name that holds what the stand-in ``found`` holds."""

    def __init__(self, found: ModuleType) -> None:
        self._found = found

    def exec_module(self, module: ModuleType) -> None:
        """Take over everything but what Python says of the module itself."""
        own = vars(module)
        for name, value in vars(self._found).items():
            own.setdefault(name, value)


def is_stand_in(module: ModuleType | None) -> bool:
    """Tell whether ``module`` was made by :class:`Names`."""
    spec = getattr(module, "__spec__", None)
    return spec is not None and isinstance(spec.loader, Names)


def _is_there(package: str) -> bool:
    """Tell whether anything is found under the package's name, be it whole or in part: it is never shadowed."""
    if is_stand_in(sys.modules.get(package)):
        return False
    try:
        spec = importlib.util.find_spec(package)
        return spec is not None and not isinstance(spec.loader, Names)
    except ValueError:  # a module that somebody made and put there has no spec
        return package in sys.modules


def load(module: str, name: str = "") -> ModuleType:
    """Return the stand-in's module, and say once that it answers; ``name`` is what is wanted of it, for errors.

    Raises:
        LackingImport: the stand-in has no such module.
    """
    package = module.partition(".")[0]
    inside = f"{_ROOM}.{module}"
    try:
        found = importlib.import_module(inside)
    except ModuleNotFoundError as error:
        if not error.name or not f"{inside}.".startswith(f"{error.name}."):
            raise
        raise LackingImport(words(f"{module}.{name}" if name else module), module) from None
    watch(found)
    warn_once(
        f"{package} is not installed: tdev's stand-in answers for it, with torch's own functions. "
        "TDEV_STANDINS=0 turns that off",
        DeviceWarning,
        code="TDEV310",
        key=("stand-in", package),
        stacklevel=outside(),
    )
    return found


def _of_package(found: ModuleType, name: str) -> Any:
    """Return a name of an installed module, or its submodule, as ``from … import`` does."""
    try:
        return getattr(found, name)
    except AttributeError:
        pass
    inside = f"{found.__name__}.{name}"
    try:
        return importlib.import_module(inside)
    except ModuleNotFoundError as error:
        if error.name != inside:
            raise
    where = getattr(found, "__file__", None) or "a folder without __init__.py: is it whole?"
    raise ImportError(
        f"cannot import name {name!r} from {found.__name__!r} ({where})", name=found.__name__
    )


def _of_stand_in(found: ModuleType, module: str, name: str) -> Any:
    if hasattr(found, name):
        return getattr(found, name)
    try:
        return importlib.import_module(f"{_ROOM}.{module}.{name}")
    except ModuleNotFoundError:
        raise LackingImport(words(f"{module}.{name}"), module) from None
