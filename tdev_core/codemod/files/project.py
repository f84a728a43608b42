"""Finds what a project says of itself that decides about torch's generic names: is it type-checked, which torch does it take?

The nearest directory upward that says it decides; nothing above the root of the git repository is read. A file
that cannot be read or parsed says nothing.
"""

from __future__ import annotations

import configparser
import os
import re
from bisect import bisect_right
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from tdev_core.codemod.files.line_length import toml
from tdev_core.release import OLDEST

Floor = tuple[int, int]
_CHECKERS = ("mypy", "pyright", "basedpyright", "ty", "pyrefly")
_FILES = ("mypy.ini", ".mypy.ini", "pyrightconfig.json", "pyrefly.toml", "ty.toml")
_DECLARES = ("pyproject.toml", "setup.cfg", "setup.py", "PKG-INFO", "requirements.txt")
# `"torch>=2.0,<3"`, `torch >= 2.2`, `Requires-Dist: torch>=2.2`, `torch = "^2.1"`, `torch (>=1.8)`
_TORCH = re.compile(
    r"(?:^|[\"'\s:,\[(])torch\s*(?:=\s*[\"']|\()?\s*(?:\[[\w,]*\]\s*)?(?:>=|~=|==|\^|>)\s*(\d+)(?:\.(\d+))?",
    re.MULTILINE,
)
# A requirement as such: `"torch>=2"`, `torch==2.1`, `torch = "^2"`, `- torch`, `install_requires=["numpy", "torch"]`.
_REQUIRES = re.compile(
    r"(?:^[ \t]*(?:-[ \t]*)?|[\"'][ \t]*)torch(?:\[[\w,]*\])?[ \t]*(?:[\"'<>=~!^;(#@]|$)|^Requires-Dist: torch\b",
    re.MULTILINE,
)
# Of isort's and ruff's settings: `known_third_party = numpy, torch`, `known-first-party = ["torch"]`.
_KNOWN = re.compile(r"^[ \t]*known[_-]\w[\w-]*[ \t]*=[^\n]*?\btorch\b", re.MULTILINE)
# `install_requires =`, `[tool.poetry.dependencies]`: what a list is, by the nearest that stands above.
_KEY = re.compile(r"^[ \t]*([\w-]+)[ \t]*=|^\[([^\]\n]+)\]", re.MULTILINE)
_REQUIREMENTS = re.compile(r"dependenc|install_requires|extras_require")
_TDEV = re.compile(r"(?<![\w.])tdev(?![\w.])")
_SORTS = ("pyproject.toml", "setup.cfg", ".isort.cfg", "ruff.toml", ".ruff.toml", "tox.ini")


@lru_cache(maxsize=4096)
def is_type_checked(directory: Path) -> bool:
    """Tell whether the project around a directory has settings of a type checker."""
    tools = toml(directory / "pyproject.toml").get("tool")
    if isinstance(tools, dict) and any(name in tools for name in _CHECKERS):
        return True
    if any(os.path.exists(directory / name) for name in _FILES) or (
        _setup_cfg(directory).has_section("mypy")
    ):
        return True
    return not _is_root(directory) and is_type_checked(directory.parent)


@lru_cache(maxsize=4096)
def torch_floor(directory: Path) -> tuple[Floor, str] | None:
    """Return the oldest torch that the project around a directory says it takes, and the file that says so."""
    for name in _DECLARES:
        try:
            text = (directory / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if found := _TORCH.search(text):
            return (int(found[1]), int(found[2] or 0)), name
    return None if _is_root(directory) else torch_floor(directory.parent)


@lru_cache(maxsize=4096)
def project_of(directory: Path) -> Path | None:
    """Return the root of the project around a directory: what can be installed from it says so there. None where nothing does."""
    declared = toml(directory / "pyproject.toml")
    tools = declared.get("tool")
    if "project" in declared or isinstance(tools, dict) and not _BUILDERS.isdisjoint(tools):
        return directory
    if any(os.path.exists(directory / name) for name in ("setup.py", "PKG-INFO")):
        return directory
    if _setup_cfg(directory).has_section("metadata"):
        return directory
    return None if _is_root(directory) else project_of(directory.parent)


_BUILDERS = frozenset({"poetry", "flit"})


def is_its_project(package: Path) -> bool:
    """Tell whether a package is that of the project in which it lies, by what that says it is called."""
    called = re.compile(
        rf"^[ \t]*name[ \t]*=[ \t]*[\"']?{package.name.replace('_', '[-_]')}\b",
        re.MULTILINE | re.IGNORECASE,
    )
    for folder in package.absolute().parents[:2]:
        for name in ("pyproject.toml", "setup.py", "setup.cfg"):
            try:
                text = (folder / name).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if called.search(text) is not None:
                return True
    return False


# What a requirement allows at most: `torch==1.13.1`, `torch>=1.8,<2.0`, `torch (<=1.9)`.
_MOST = re.compile(r"(==|~=|<=|<)\s*(\d+)(?!\d*\.\*)(?:\.(\d+))?(?:\.(\d+))?")


def refused_torch(place: str) -> str:
    """Return the requirement at ``file:line`` where it allows none of the torches that tdev has a mirror of; nothing otherwise."""
    file, _, row = place.rpartition(":")
    line = Path(file).read_text(encoding="utf-8").splitlines()[int(row) - 1]
    found = _REQUIREMENT.search(line)
    said = found[0].strip() if found is not None else ""
    for sign, major, minor, patch in _MOST.findall(said):
        most = int(major), int(minor or 0)
        too_old = most < OLDEST or sign == "<" and most == OLDEST and not int(patch or 0)
        # `~=2.1` is as good for 2.11, and `~=2.1.0` is not.
        if too_old and (sign != "~=" or patch):
            return said
    return ""


_REQUIREMENT = re.compile(
    r"(?<![\w-])torch(?:\[[\w,]*\])?[ \t]*\(?(?:[ \t,]*(?:[<>=!~]=?=?)[ \t]*[\w.*+]+)+"
)


def names_torch_alone(directory: Path) -> tuple[str | None, str | None]:
    """Return where the project around a directory requires torch and where it sorts torch's imports by name, not tdev as well.

    Each as ``file:line``, None where nothing has to be added.
    """
    return (
        _first(directory, _DECLARES, _REQUIRES),
        _first(directory, _SORTS, _KNOWN),
    )


def _first(directory: Path, names: tuple[str, ...], pattern: re.Pattern[str]) -> str | None:
    """Return the first place that matches, in the nearest directory that has one; None if tdev stands in that file, too."""
    for name in names:
        try:
            text = (directory / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        labels = _labels(text) if pattern is _REQUIRES else []
        starts = [start for start, _ in labels]
        for found in pattern.finditer(text):
            number = bisect_right(starts, found.end())
            if number and _REQUIREMENTS.search(labels[number - 1][1]) is None:
                continue
            if _TDEV.search(text) is not None:
                return None
            return f"{directory / name}:{text.count(chr(10), 0, found.end()) + 1}"
    return None if _is_root(directory) else _first(directory.parent, names, pattern)


def _labels(text: str) -> list[tuple[int, str]]:
    """Return where each list of a text starts, and what it is: its table, and its name there."""
    found, table = [], ""
    for key in _KEY.finditer(text):
        table = key[2] or table
        found.append((key.start(), f"{table} {key[1] or ''}"))
    return found


def _setup_cfg(directory: Path) -> configparser.ConfigParser:
    """Return the directory's ``setup.cfg``; an empty one where there is none that can be read."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with suppress(OSError, UnicodeDecodeError, configparser.Error):
        parser.read(directory / "setup.cfg", encoding="utf-8")
    return parser


def _is_root(directory: Path) -> bool:
    return os.path.exists(directory / ".git") or directory.parent == directory
