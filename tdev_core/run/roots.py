"""Says whose code a file is: the program's, which is rewritten, or somebody else's.

The program is what lies beside its script, below the working directory, in the same git repository, or
in a project that is installed editable. What lies deeper in one of those places and is not the
program's: ``site-packages``, the standard library, virtual environments, hidden folders (``.cache``,
``.tox``), what TorchInductor writes. Libraries are the program's where they were named; torch, Triton
and tdev never are.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tdev_core.codemod.config import find_config, read_config
from tdev_core.ecosystem.libraries import DEVICE_CHOOSERS, INSTALLED, NEVER_REWRITTEN, is_installed

OWN = ("tdev", "tdev_core")
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta")


class NoSuchLibrary(Exception):
    """No library of this name can be rewritten; the message says why."""


class Roots:
    """The places whose modules are rewritten: directories, and files of libraries that are one file."""

    def __init__(self, places: Sequence[str]) -> None:
        self.directories = tuple(dict.fromkeys(_real(place) for place in places))
        self._others = _standard_places()
        self._never = tuple(
            _real(place) for name in NEVER_REWRITTEN for place in package_places(name)
        )
        self._known: dict[str, bool] = {}

    def cover(self, path: str) -> bool:
        """Tell whether the file ``path`` is to be rewritten."""
        real = _real(path)
        directory = os.path.dirname(real)
        known = self._known.get(directory)
        if known is None:
            known = self._known[directory] = self._covers(directory)
        return known or real in self.directories

    def _covers(self, directory: str) -> bool:
        if any(_is_in(directory, place) for place in self._never):
            return False
        return any(self._holds(root, directory) for root in self.directories)

    def _holds(self, root: str, directory: str) -> bool:
        """Tell whether the directory is in ``root``, and nothing on the way there is somebody else's."""
        if not _is_in(directory, root):
            return False
        # A program may itself be installed; what is excluded is what lies deeper than it.
        if any(_is_in(directory, other) and not _is_in(root, other) for other in self._others):
            return False
        parts = directory[len(root) :].strip(os.sep).split(os.sep)
        return directory == root or not any(
            _is_anothers(os.path.join(root, *parts[: end + 1])) for end in range(len(parts))
        )


def of_program(script_directory: str) -> tuple[str, ...]:
    """Return the places of a program that is started from the working directory, by a script in this one."""
    directories = tuple(dict.fromkeys((os.path.abspath(script_directory), os.getcwd())))
    repositories = filter(None, map(git_root, directories))
    return tuple(dict.fromkeys((*directories, *repositories, *editable())))


def git_root(directory: str) -> str | None:
    """Return the nearest directory at or above this one that holds ``.git``; None where none does."""
    here = os.path.realpath(directory)
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
    return here


def of_library(name: str) -> tuple[str, ...]:
    """Return the places of the library of this name, as a package or a distribution is called.

    Raises:
        NoSuchLibrary: none is installed, it has no Python source, or it is never rewritten.
    """
    module = name.strip().replace("-", "_")
    if module.partition(".")[0] in NEVER_REWRITTEN:
        raise NoSuchLibrary(f"{name}: torch, Triton and tdev are never rewritten")
    places = package_places(module)
    if places:
        return places
    near = get_close_matches(module, DEVICE_CHOOSERS, n=1)
    hint = f"; did you mean {near[0]}?" if near and near[0] != module else ""
    raise NoSuchLibrary(
        f"{name}: no module of this name with Python source can be found in this Python{hint}"
    )


def configured_libraries(directory: str) -> tuple[str, ...]:
    """Return ``libraries`` of ``[tool.tdev]``, of the directory's project or else the working directory's.

    Raises:
        ConfigError: that table holds a key or a value that means nothing.
    """
    for start in dict.fromkeys((directory, os.getcwd())):
        found = find_config([Path(start)])
        if found is not None:
            return read_config(found).libraries
    return ()


def package_places(name: str) -> tuple[str, ...]:
    """Return the directories of a package, or the file of a module; nothing where it is not there.

    A package that is part of a dotted name is not imported, unlike by ``find_spec`` of the whole.
    """
    first, *deeper = name.split(".")
    try:
        spec = find_spec(first)
    except (ImportError, ValueError):  # ValueError: what is in sys.modules has no spec
        return ()
    if spec is None:
        return ()
    if spec.submodule_search_locations is None:
        source = spec.origin
        return (source,) if source and source.endswith(".py") and not deeper else ()
    places = tuple(spec.submodule_search_locations)
    if (
        spec.origin is None and not deeper
    ):  # a namespace: who has a folder of that name is no part of it
        places = tuple(place for place in places if is_installed(place))
    for part in deeper:
        below = [os.path.join(place, part) for place in places]
        places = tuple(
            found
            for place in below
            for found in (place, f"{place}.py")
            if os.path.isdir(found) or os.path.isfile(found)
        )
    return places


def editable() -> Iterator[str]:
    """Yield the directories of projects that are installed editable in this Python (PEP 610, ``.pth``)."""
    for entry in dict.fromkeys(sys.path):
        if not is_installed(os.path.join(entry, "")):
            continue
        with suppress(OSError):
            for name in sorted(os.listdir(entry)):
                for project in _projects(entry, name):
                    if os.path.isdir(project) and not _holds_tdev(project):
                        yield project


def _holds_tdev(directory: str) -> bool:
    return any(os.path.isfile(os.path.join(directory, name, "__init__.py")) for name in OWN)


def is_somebodys_own(path: str) -> bool:
    """Tell whether a file is neither installed nor of the standard library: somebody's own code."""
    real = _real(path)
    return not is_installed(real) and not any(_is_in(real, other) for other in _standard_places())


def _projects(site: str, name: str) -> Iterator[str]:
    """Yield the directories that an entry of ``site-packages`` says a project lies in."""
    path = os.path.join(site, name)
    if name.endswith(".dist-info"):
        with suppress(OSError, ValueError, AttributeError):
            with open(os.path.join(path, "direct_url.json"), encoding="utf-8") as file:
                told = json.load(file)
            if told.get("dir_info", {}).get("editable"):
                yield _path_of_url(told["url"])
    elif name.endswith((".egg-link", ".pth")):
        with suppress(OSError, ValueError):
            with open(path, encoding="utf-8") as file:
                lines = [line.strip() for line in file]
            for line in lines:
                whole = os.path.join(site, line)
                if line and not line.startswith(("#", "import ", "import\t")):
                    if not is_installed(os.path.normpath(whole)):
                        yield os.path.normpath(whole)


def _path_of_url(url: str) -> str:
    from urllib.parse import unquote, urlparse

    path = urlparse(url).path
    if os.name != "nt":
        return unquote(path)
    from urllib.request import url2pathname  # half of the network's modules

    return url2pathname(path)


@lru_cache(maxsize=1)
def _standard_places() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(_real(paths[name]) for name in names if name in paths)


@lru_cache(maxsize=4096)
def _is_anothers(directory: str) -> bool:
    """Tell whether what lies in this directory, inside a program, is not the program's."""
    name = os.path.basename(directory)
    if name in INSTALLED or name.startswith((".", "torchinductor_")):
        return True
    return any(os.path.exists(os.path.join(directory, mark)) for mark in _ENVIRONMENT)


def _is_in(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip(os.sep) + os.sep)


def _real(path: str) -> str:
    """Return the path without links; on Windows, letters of either case and slashes of either kind are one."""
    return os.path.normcase(os.path.realpath(path))
