"""Reads the settings of a run, and ``[tool.tdev]`` of the nearest ``pyproject.toml`` where they come from.

Keys (all optional): ``style``, ``target``, ``annotate``, ``docs``, ``all``, ``tests``, ``partial``, ``include``,
``exclude``, ``jobs``, ``max-file-size``, ``keep`` (what comments say on lines that stay); and ``libraries``, for ``tdev run`` and the pytest plugin. The command line
wins over the file. A key that is not in this list, or a value of the wrong type, is an error that names
the file and the key: a misspelt ``exclude`` must not end in rewritten files.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tdev_core.codemod.errors import UsageError

STYLES = ("explicit", "alias")
TARGETS = ("tdev", "accelerator")
MAX_FILE_SIZE = 8 * 1024 * 1024


@dataclass(frozen=True)
class Settings:
    """The settings of a run; ``base`` is the directory that ``include`` and ``exclude`` patterns start from."""

    base: Path
    style: str = "explicit"
    target: str = "tdev"
    annotate: bool = False
    docs: bool = False
    all: bool = False
    tests: bool = False
    partial: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    jobs: int = 0
    max_file_size: int = MAX_FILE_SIZE
    keep: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise UsageError(f"style is one of {', '.join(STYLES)}, not {self.style!r}")
        if self.target not in TARGETS:
            raise UsageError(f"target is one of {', '.join(TARGETS)}, not {self.target!r}")
        if self.target == "accelerator" and self.style != "explicit":
            raise UsageError(
                "target 'accelerator' writes torch's own names; it has no style 'alias'"
            )
        if not all(mark.strip(" #") for mark in self.keep):
            raise UsageError(f"keep is a list of comments, not {list(self.keep)!r}")
        if self.jobs < 0:
            raise UsageError(f"jobs is a number of processes, not {self.jobs}")
        if self.max_file_size <= 0:
            raise UsageError(f"max-file-size is a number of bytes, not {self.max_file_size}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("a whole number")
    return value


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a list of strings")
    return tuple(value)


_READERS: Mapping[str, Callable[[object], Any]] = {
    "style": _text,
    "target": _text,
    "annotate": _flag,
    "docs": _flag,
    "all": _flag,
    "tests": _flag,
    "partial": _flag,
    "include": _patterns,
    "exclude": _patterns,
    "keep": _patterns,
    "libraries": _patterns,
    "jobs": _number,
    "max-file-size": _number,
}


def find_config(paths: Sequence[Path]) -> Path | None:
    """Return the nearest ``pyproject.toml`` with a ``[tool.tdev]`` table, upward from what the paths share.

    The search ends at the root of the git repository: what lies above it belongs to somebody else.
    """
    start = _common_directory(paths)
    for directory in (start, *start.parents):
        candidate = directory / "pyproject.toml"
        if os.path.isfile(candidate) and _table(candidate) is not None:
            return candidate
        if os.path.exists(directory / ".git"):
            return None
    return None


def read_config(path: Path, *, required: bool = False) -> Settings:
    """Return the settings in ``path``; with ``required`` it is an error that it has no ``[tool.tdev]``."""
    table = _table(path)
    if table is None:
        if required:
            raise UsageError(f"{path}: it has no [tool.tdev] table")
        table = {}
    values: dict[str, Any] = {}
    for key, value in table.items():
        reader = _READERS.get(key)
        if reader is None:
            near = difflib.get_close_matches(key, _READERS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(_READERS)}"
            raise UsageError(f"{path}: unknown key {key!r} in [tool.tdev]; {hint}")
        try:
            values[key.replace("-", "_")] = reader(value)
        except TypeError as error:
            raise UsageError(f"{path}: {key} in [tool.tdev] must be {error}") from None
    try:
        return Settings(base=path.resolve().parent, **values)
    except UsageError as error:
        raise UsageError(f"{path}: [tool.tdev]: {error}") from None


def overlay(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """``settings`` with what the command line gave; ``None`` means that it gave nothing.

    ``exclude`` adds to the file's patterns, since the more somebody excludes, the less is touched;
    everything else replaces.
    """
    known = {field.name for field in fields(Settings)}
    values = {key: value for key, value in given.items() if key in known and value is not None}
    if "exclude" in values:
        values["exclude"] = (*settings.exclude, *values["exclude"])
    if values.get("target") == "accelerator" and "style" not in values:
        values["style"] = "explicit"
    return replace(settings, **values)


def _common_directory(paths: Sequence[Path]) -> Path:
    resolved = [path.resolve() for path in paths] or [Path.cwd()]
    directories = [path if os.path.isdir(path) else path.parent for path in resolved]
    common = directories[0]
    for directory in directories[1:]:
        while common != directory and common not in directory.parents:
            if common == common.parent:  # different drives
                return Path.cwd()
            common = common.parent
    return common


def _table(path: Path) -> dict[str, Any] | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: is not TOML: {error}") from None
    table = data.get("tool", {}).get("tdev")
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{path}: tool.tdev must be a table")
    return table
