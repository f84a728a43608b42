"""Finds what a project says of itself that decides about torch's generic names: is it type-checked, which torch does it take?

The nearest directory upward that says it decides; nothing above the root of the git repository is read. A file
that cannot be read or parsed says nothing.
"""

from __future__ import annotations

import configparser
import os
import re
from functools import lru_cache
from pathlib import Path

from tdev_core.codemod.files.line_length import toml

Floor = tuple[int, int]
_CHECKERS = ("mypy", "pyright", "basedpyright", "ty", "pyrefly")
_FILES = ("mypy.ini", ".mypy.ini", "pyrightconfig.json", "pyrefly.toml", "ty.toml")
_DECLARES = ("pyproject.toml", "setup.cfg", "setup.py", "PKG-INFO", "requirements.txt")
# `"torch>=2.0,<3"`, `torch >= 2.2`, `Requires-Dist: torch>=2.2`, `torch = "^2.1"`, `torch (>=1.8)`
_TORCH = re.compile(
    r"(?:^|[\"'\s:,\[(])torch\s*(?:=\s*[\"']|\()?\s*(?:\[[\w,]*\]\s*)?(?:>=|~=|==|\^|>)\s*(\d+)(?:\.(\d+))?",
    re.MULTILINE,
)


@lru_cache(maxsize=4096)
def is_type_checked(directory: Path) -> bool:
    """Tell whether the project around a directory has settings of a type checker."""
    tools = toml(directory / "pyproject.toml").get("tool")
    if isinstance(tools, dict) and any(name in tools for name in _CHECKERS):
        return True
    if any(os.path.exists(directory / name) for name in _FILES) or _has_mypy(directory):
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


def _has_mypy(directory: Path) -> bool:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(directory / "setup.cfg", encoding="utf-8")
    except (OSError, UnicodeDecodeError, configparser.Error):
        return False
    return parser.has_section("mypy")


def _is_root(directory: Path) -> bool:
    return os.path.exists(directory / ".git") or directory.parent == directory
