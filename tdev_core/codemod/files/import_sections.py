"""Finds how a project parts its imports, by what isort's or ruff's settings say of torch and not of tdev.

The nearest directory upward with such settings decides; nothing above the root of the git repository is read. A
file that cannot be read or parsed says nothing.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tdev_core.codemod.engine import Sections
from tdev_core.codemod.files.line_length import toml

_INI = (".isort.cfg", "setup.cfg", "tox.ini")
_TABLES = ("settings", "isort", "tool:isort")
_USUAL = "future,stdlib,thirdparty,firstparty,localfolder"
_ALIKE = {"standardlibrary": "stdlib", "futurelibrary": "future"}


@lru_cache(maxsize=4096)
def import_sections(directory: Path) -> Sections | None:
    """Return the sections of the project around a directory, where it has tdev in another one than torch; else None."""
    settings = _settings(directory)
    if settings is None:
        root = os.path.exists(directory / ".git") or directory.parent == directory
        return None if root else import_sections(directory.parent)
    sections = _sections(settings)
    of_both = {sections.of("torch"), sections.of("tdev")}
    return sections if len(of_both) == 2 and of_both <= {*sections.order} else None


def _settings(directory: Path) -> Mapping[str, Any] | None:
    """Return the settings in a directory, by their names in isort's spelling; None where there are none."""
    tool = toml(directory / "pyproject.toml").get("tool")
    tool = tool if isinstance(tool, dict) else {}
    ruffs = (tool.get("ruff"), toml(directory / "ruff.toml"), toml(directory / ".ruff.toml"))
    found: list[Any] = [tool.get("isort")]
    for ruff in ruffs:
        if isinstance(ruff, dict):
            lint = ruff.get("lint")
            found += [lint.get("isort") if isinstance(lint, dict) else None, ruff.get("isort")]
    for table in found:
        if isinstance(table, dict):
            return {str(key).replace("-", "_").lower(): value for key, value in table.items()}
    for name in _INI:
        if not os.path.isfile(directory / name):
            continue  # to make a parser takes far longer
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            parser.read(directory / name, encoding="utf-8")
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
        for section in _TABLES:
            if parser.has_section(section) and (section != "settings" or name == _INI[0]):
                return dict(parser.items(section))
    return None


def _sections(settings: Mapping[str, Any]) -> Sections:
    known: dict[str, str] = {}
    for key, value in settings.items():
        named = key.partition("known_")[2] if key.startswith(("known_", "extra_known_")) else ""
        for module in _list(value) if named else ():
            known[module] = _name(named)
    tables = settings.get("sections")
    if isinstance(tables, dict):  # ruff's, of its own sections
        known |= {module: _name(key) for key, value in tables.items() for module in _list(value)}
        tables = None
    order = tuple(map(_name, _list(settings.get("section_order") or tables or _USUAL)))
    close = frozenset(map(_name, _list(settings.get("no_lines_before") or "")))
    default = _name(str(settings.get("default_section") or "thirdparty"))
    together = str(settings.get("force_sort_within_sections", "")).lower() in (
        "true",
        "1",
        "yes",
        "on",
    )
    return Sections(order, tuple(known.items()), default, close, together)


def _list(value: object) -> list[str]:
    if isinstance(value, str):
        value = value.replace("\n", ",").split(",")
    return (
        [str(each).strip() for each in value if str(each).strip()]
        if isinstance(value, list)
        else []
    )


def _name(section: str) -> str:
    plain = section.lower().replace("-", "").replace("_", "")
    return _ALIKE.get(plain, plain)
