"""Finds how long a project lets its lines be: what its formatter, linter or editor is told.

The nearest file upward that says it decides: ``pyproject.toml`` (ruff, black, yapf, flake8's and isort's
tables), ``ruff.toml``, ``setup.cfg``, ``tox.ini``, ``.flake8`` and ``.editorconfig``. Nothing above the root of
the git repository is read. A file that cannot be read or parsed says nothing.
"""

from __future__ import annotations

import configparser
import os
import re
import sys
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

_TABLES = (
    ("ruff", "line-length"),
    ("black", "line-length"),
    ("yapf", "column_limit"),
    ("flake8", "max-line-length"),
    ("autopep8", "max_line_length"),
)
_SECTIONS = (
    ("flake8", "max-line-length"),
    ("flake8", "max_line_length"),
    ("pycodestyle", "max-line-length"),
    ("pycodestyle", "max_line_length"),
    ("pep8", "max-line-length"),
    ("yapf", "column_limit"),
)
_EDITOR_SECTION = re.compile(r"\*|\*\*|\*\.py|\*\.\{[^}]*\bpy\b[^}]*\}|\[py\]")
_LONGEST = 400
"""Beyond this a setting says that lines may be of any length."""


@lru_cache(maxsize=4096)
def line_length(directory: Path) -> int:
    """Return the columns that a line of a file in ``directory`` may have; 0 where nothing says."""
    for read in (_pyproject, _ruff, _ini, _editorconfig):
        found = read(directory)
        if 0 < found <= _LONGEST:
            return found
    if os.path.exists(directory / ".git") or directory.parent == directory:
        return 0
    return line_length(directory.parent)


@lru_cache(maxsize=4096)
def formatters_width(directory: Path) -> int:
    """Return the columns that Black and Ruff leave to a line, where the package around a directory keeps to them; else 0.

    Told by some of its files: nine in ten have no longer line, and in one of four there is a line that PEP 8's 79
    columns would not take. Texts and comments do not count: no formatter breaks them.
    """
    package, above = os.path.exists(directory / "__init__.py"), directory.parent
    if package and above != directory and os.path.exists(above / "__init__.py"):
        return formatters_width(above)
    # Of a folder that is no package, which may be anybody's home, its own files alone.
    folders = os.walk(directory) if package else islice(os.walk(directory), 1)
    found = (Path(folder, name) for folder, _, names in folders for name in names)
    files = sorted(path for path in found if _is_its_own(path.relative_to(directory)))
    widths = [width for path in files[:: 1 + len(files) // _SAMPLE] if (width := _widest(path))]
    kept = sum(width <= _FORMATTED for width in widths)
    wide = sum(_PLAIN < width <= _FORMATTED for width in widths)
    formatted = len(widths) >= _ENOUGH and 10 * kept >= 9 * len(widths) and 4 * wide >= len(widths)
    return _FORMATTED if formatted else 0


_SAMPLE, _ENOUGH = 40, 8
_PLAIN, _FORMATTED = 79, 88
_TEXT = re.compile(r"\"{3}[^\"]*(?:\"(?!\"\")[^\"]*)*\"{3}|'{3}[^']*(?:'(?!'')[^']*)*'{3}")
_UNBROKEN = re.compile(r"#|\"[^\"]{20}|'[^']{20}")
_OF_OTHERS = re.compile(r"_?vendor(?:ed)?\Z|_?third_?party\Z|.*_pb2(?:_grpc)?\.py\Z")
_LARGEST = 1 << 20


def _is_its_own(path: Path) -> bool:
    """Tell whether a file of a package is one of Python's that somebody wrote for it."""
    return path.suffix == ".py" and not any(map(_OF_OTHERS.match, path.parts))


def _widest(path: Path) -> int:
    """Return the columns of a file's longest line; 0 of what says nothing of a formatter."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return 0
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return 0
    lines = sorted(_TEXT.sub("", source).splitlines(), key=len, reverse=True)
    return next((len(line) for line in lines if not _UNBROKEN.search(line)), 0)


def _pyproject(directory: Path) -> int:
    tool = toml(directory / "pyproject.toml").get("tool")
    tool = tool if isinstance(tool, dict) else {}
    for name, key in _TABLES:
        table = tool.get(name)
        if not isinstance(table, dict):
            continue
        for spelled in (key, key.replace("-", "_")):  # black reads both
            if found := _number(table.get(spelled)):
                return found
    return 88 if "black" in tool or "ruff" in tool else 0


def _ruff(directory: Path) -> int:
    for name in (".ruff.toml", "ruff.toml"):
        if found := _number(toml(directory / name).get("line-length")):
            return found
    return 0


def _ini(directory: Path) -> int:
    for name in (".flake8", "setup.cfg", "tox.ini"):
        if not os.path.isfile(directory / name):
            continue  # to make a parser takes far longer
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read(directory / name, encoding="utf-8")
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
        for section, key in _SECTIONS:
            if found := _number(parser.get(section, key, fallback="")):
                return found
    return 0


def _editorconfig(directory: Path) -> int:
    try:
        lines = (directory / ".editorconfig").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    section, length = "", 0
    for line in lines:
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif line.startswith("max_line_length") and _EDITOR_SECTION.fullmatch(section):
            length = _number(line.partition("=")[2]) or length
    return length


def toml(path: Path) -> Mapping[str, Any]:
    """Return what a TOML file holds; nothing where it cannot be read."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}


def _number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.split("#")[0].strip() if isinstance(value, str) else ""
    return int(text) if text.isdigit() else 0
