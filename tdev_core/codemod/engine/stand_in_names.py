"""Tells what a package's stand-in has and lacks, by the table of packages and its own files."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tdev_core.ecosystem import package_table
from tdev_core.ecosystem.package_table import stand_ins

_NAMED = re.compile(r"`([\w.]+)`")
_PACKAGES = Path(package_table.__file__).parent.parent / "packages"


def lacks(module: str, imported: Sequence[str]) -> bool:
    """Tell whether a stand-in lacks a module of its package, or one of the names that are imported from it."""
    top, _, inside = module.partition(".")
    lacking = set(_NAMED.findall(stand_ins()[top].lacks))
    has = names_of(module)
    if has is None:
        return True
    if not has.issuperset(name for name in imported if names_of(f"{module}.{name}") is None):
        return True
    return not (lacking - has).isdisjoint((inside, inside.partition(".")[0], *imported))


@lru_cache(maxsize=64)
def names_of(module: str) -> frozenset[str] | None:
    """Return the names that a module of a stand-in binds; None where the stand-in has no such module."""
    path = _PACKAGES.joinpath(*module.split("."))
    files = (path / "__init__.py", path.with_suffix(".py"))
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        return None
    bound: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        match node:
            case ast.ImportFrom(module=str(inside), names=[ast.alias(name="*")]):
                bound |= names_of(inside.removeprefix("tdev_core.packages.")) or set()
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.alias(asname=str(name)):
                bound.add(name)
            case ast.alias(name=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case _:
                pass
    return frozenset(bound)
