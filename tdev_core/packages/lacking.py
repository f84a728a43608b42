"""Errors for what a stand-in does not have. Each is also the error that Python has for it, so that a guard catches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tdev_core.ecosystem.package_table import Package, stand_ins
from tdev_core.errors import UnsupportedError

__all__ = [
    "AbsentPackage",
    "BrokenPackage",
    "LackingImport",
    "LackingName",
    "LackingParameter",
    "attributes_of",
    "refuse",
    "version_of",
    "words",
]

_ROOM = __name__.rpartition(".")[0] + "."


class LackingName(UnsupportedError, AttributeError):
    """A stand-in was asked for a name that it does not have; ``hasattr`` is False."""


class LackingParameter(UnsupportedError, TypeError):
    """A function of a stand-in was given a parameter that the release it is like does not have."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "TDEV103")


class LackingImport(UnsupportedError, ImportError):
    """A module or name that a stand-in does not have was imported; ``name`` is the module."""

    def __init__(self, message: str, module: str) -> None:
        # ImportError's `name` is a keyword of its constructor, and UnsupportedError's comes first.
        super().__init__(message, "TDEV103")
        self.name = module


class AbsentPackage(UnsupportedError, ModuleNotFoundError):
    """A package for CUDA is not installed, and nothing answers for it; ``name`` is the module, as Python has it."""

    def __init__(self, package: Package, module: str) -> None:
        super().__init__(
            f"No module named {module!r}. {package.name} ({package.what}) {package.runs_on}: use {package.instead}, or, on "
            f"such a machine, pip install {package.install}",
            "TDEV110",
        )
        self.name = module


class BrokenPackage(UnsupportedError, ModuleNotFoundError):
    """A package for CUDA is installed in part, or for another machine; ``name`` is the module that was lacking."""

    def __init__(self, package: Package, error: ImportError) -> None:
        stands = package.answer == "stand-in"
        super().__init__(
            f"{package.name} ({package.what}) is installed and cannot be imported here: {error}. What is installed is never "
            f"replaced. Install what is lacking, or uninstall {package.install.partition(' ')[0]}"
            + (" to have tdev's stand-in answer" if stands else f" and use {package.instead}"),
            "TDEV110",
        )
        self.name = error.name


def words(asked: str, why: str = "") -> str:
    """Return what to say of ``asked``, a dotted name of the package.

    Args:
        asked: the name as the program has it, ``flash_attn.losses``.
        why: what is not answered and for which reason, where part of a function is.
    """
    package = stand_ins()[asked.partition(".")[0]]
    return (
        f"{asked} {why or 'is not in the stand-in'}. {asked.partition('.')[0]} is not installed, and tdev's stand-in "
        f"answers for it. Use {package.instead}, or, on a machine with CUDA, pip install {package.install}"
    )


def refuse(asked: str, why: str) -> NoReturn:
    """Raise :class:`UnsupportedError` for an option of a function that the stand-in has."""
    raise UnsupportedError(words(asked, why), "TDEV103")


def attributes_of(module: str) -> Callable[[str], NoReturn]:
    """Return a ``__getattr__`` for the stand-in ``module``, which raises :class:`LackingName`."""
    package = module.removeprefix(_ROOM)

    def __getattr__(name: str) -> NoReturn:
        if name.startswith("__"):  # Python and tools ask these of every module
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise LackingName(words(f"{package}.{name}"), "TDEV103")

    return __getattr__


def version_of(package: str) -> str:
    """Return a stand-in's ``__version__``: the release that it is like, marked as not the package's own."""
    return f"{stand_ins()[package].like}+tdev.standin"
