"""Surveys the tree around the files of a run, before the first of them is rewritten.

Rewriting one file, as pre-commit does, must give what rewriting its whole tree gives: so the packages that
the given files belong to are read whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from tdev_core.codemod.engine import (
    BESIDE,
    Importing,
    Links,
    ProgramTree,
    Style,
    Survey,
    behind_cuda,
    dotted_name,
    imports_torch,
    may_be_behind,
    may_need,
)
from tdev_core.codemod.files.discovery import Found
from tdev_core.codemod.files.project import is_its_project
from tdev_core.codemod.model import Kind

_LIMIT = 4_000_000
_NEVER = frozenset({"site-packages", "dist-packages", "node_modules", "__pycache__"})


def survey(files: Sequence[Found], style: Style) -> ProgramTree:
    """Return the facts that this style asks for about the trees of these files; what cannot be read is not in them."""
    seen = Survey(staying=style == "accelerator")
    needs = behind = False
    read: list[tuple[Path, str, Path | None]] = []
    tops: dict[Path, Path | None] = {}
    for path in _around(files, tops):
        try:
            if path.stat().st_size > _LIMIT:
                continue
            raw = path.read_bytes()
        except OSError:
            continue
        package = _package(path.parent, tops)
        top, home = (path.stem, None) if package is None else (package.name, package.parent)
        seen.see(path, raw, top, home)
        read.append((path, top, home))
        needs = needs or may_need(raw)
        if not (behind or package is None) and style != "accelerator" and b"cuda" in raw:
            behind = may_be_behind(raw, dotted_name(path, top, home))
    for found in files:
        if found.kind is Kind.NOTEBOOK and not (found.skip or found.error):
            seen.see_cells("\n".join(_cells(found.path)))
    holders = frozenset(p.name for p in map(Path, seen.holders_seen) if is_its_project(p))
    tree = replace(seen.tree(), near=_near(files), own_holders=holders)
    if style == "accelerator":
        held, opened = _held(read, files)
        tree = replace(tree, held=held, held_open=opened)
    if not (needs or behind):
        return tree
    importing = Importing(tree.kernel_modules, tree.modules)
    shown = _see_again(importing, read, files)
    reaching = importing.reaching()
    alone = frozenset(importing.needing())
    tree = replace(tree, needs_cuda=_of(shown, reaching), only_on_cuda=alone)
    if behind:
        why = behind_cuda(importing, alone | reaching.keys(), tree)
        tree = replace(tree, behind_cuda=_of(shown, why), only_on_cuda=alone | why.keys())
    return tree


_ROOTS = frozenset({"pyproject.toml", "setup.py", "setup.cfg", ".git"})
_UP = 6
"""The folders above a file among which its project is looked for."""


def _near(files: Sequence[Found]) -> frozenset[str]:
    """Return the files and folders of a project that its scripts and tests may import, whichever of them are given."""
    names: set[str] = set()
    seen: set[Path] = set()
    homes: set[str] = set()
    for found in files:
        home = os.path.dirname(found.path)
        if home in homes:  # which has been looked at, with all around it
            continue
        homes.add(home)
        above: list[Path] = []
        for folder in list(found.path.absolute().parents)[:_UP]:
            if folder in seen:
                break
            above.append(folder)
            here = _listed(folder)
            if not _ROOTS.isdisjoint(here):
                above.append(folder / "src")
                break
        else:
            above = above[:1]  # of no project
        for folder in above:
            seen.add(folder)
            here = _listed(folder)
            if "__init__.py" not in here:  # what lies in a package is imported by its name
                names.update(each.partition(".")[0] for each in here)
    return frozenset(filter(str.isidentifier, names))


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _held(
    read: list[tuple[Path, str, Path | None]], files: Sequence[Found]
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return what of the given files cannot change without others of their tree which stay: at all, and where it asks."""
    paths = {dotted_name(path, top, home): path for path, top, home in read}
    names = {path: name for name, path in paths.items()}

    @cache
    def raw(name: str) -> bytes:
        try:
            return paths[name].read_bytes()
        except OSError:
            return b""

    packages = frozenset(name for name, path in paths.items() if path.stem == "__init__")
    closed = Links(paths, packages, raw, opened=False)
    opened = Links(paths, packages, raw)
    held: tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]] = {}, {}
    for found in files:
        if found.kind is Kind.PYTHON and found.path in names:
            name = names[found.path]
            if b"cuda" in raw(name) and imports_torch(raw(name)):
                for one, links in zip(held, (closed, opened), strict=True):
                    if why := links.why(name):
                        one[found.shown] = why
        elif found.kind is Kind.NOTEBOOK and not (found.skip or found.error):
            if said := opened.why_text(_cells(found.path)):
                held[1][found.shown] = {"": said}
    return held


def _cells(path: Path) -> list[str]:
    """Return the cells of a notebook that names CUDA or a device, without magics; none where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        notebook = json.loads(text) if "cuda" in text or "device" in text else {}
    except (OSError, ValueError, RecursionError):
        return []
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    sources = [cell.get("source", "") for cell in cells or () if isinstance(cell, dict)]
    joined = ["".join(s) if isinstance(s, list) else str(s) for s in sources]
    return [_MAGIC.sub("", text) for text in joined]


_MAGIC = re.compile(r"^[ \t]*[%!?][^\n]*", re.MULTILINE)


def _see_again(
    importing: Importing, read: list[tuple[Path, str, Path | None]], files: Sequence[Found]
) -> dict[str, str]:
    """Read the tree a second time, for its imports, and return the names of the modules among the given files as these are shown.

    Only a tree with a module that needs CUDA pays for that.
    """
    names: dict[Path, str] = {}
    for path, top, home in read:
        try:
            raw = path.read_bytes()
        except OSError:
            continue
        # One of no package is found by what lies beside it alone.
        names[path] = dotted_name(path, top, home) if home else f"{path.parent}{BESIDE}{path.stem}"
        importing.see(names[path], path, raw)
    return {found.shown: names[found.path] for found in files if found.path in names}


def _of(shown: dict[str, str], why: Mapping[str, str]) -> dict[str, str]:
    return {path: why[name] for path, name in shown.items() if name in why}


def _around(files: Iterable[Found], tops: dict[Path, Path | None]) -> Iterator[Path]:
    # By their names: a path takes far longer to make, to compare and to hash than a string.
    given = {
        str(found.path): found.path
        for found in files
        if found.kind is Kind.PYTHON and not (found.skip or found.error)
    }
    for shown in sorted(given):
        yield given[shown]
    packages = {_package(path.parent, tops) for path in given.values()} - {None}
    for package in sorted(filter(None, packages)):
        for directory, below, names in os.walk(package):
            below[:] = sorted(n for n in below if n not in _NEVER and not n.startswith("."))
            for name in sorted(names):
                if name.endswith(".py") and os.path.join(directory, name) not in given:
                    yield Path(directory, name)


def _package(directory: Path, known: dict[Path, Path | None]) -> Path | None:
    """Return the outermost package that a directory is part of."""
    if directory not in known:
        if os.path.exists(directory / "__init__.py"):  # Path.exists() raises in a closed one
            known[directory] = _package(directory.parent, known) or directory
        else:
            known[directory] = directory if _is_namespace(directory) else _inside(directory, known)
    return known[directory]


def _inside(directory: Path, known: dict[Path, Path | None]) -> Path | None:
    """Return the package without ``__init__.py`` that a folder without one lies in."""
    around = _package(directory.parent, known) if directory.parent != directory else None
    if around is None or os.path.exists(around / "__init__.py"):
        return None
    return around


_FEW = 40
"""The files of a folder that are read for how they import what lies there."""


def _is_namespace(directory: Path) -> bool:
    """Tell whether a folder of a project is a package without ``__init__.py``: its files import what lies there by its name."""
    name, parent = directory.name, directory.absolute().parent
    if not name.isidentifier() or _ROOTS.intersection(_listed(directory)):
        return False
    if parent.name != "src" and not _ROOTS.intersection(_listed(parent)):
        return False
    inside = [directory / each for each in sorted(_listed(directory))]
    packages = [each for each in inside if os.path.exists(each / "__init__.py")]
    imports = re.compile(rb"^[ \t]*(?:from|import)[ \t]+%s\.(\w+)" % name.encode(), re.MULTILINE)
    own = {each.stem.encode() for each in inside if each.suffix in ("", ".py")}
    files = [*inside, *(each / below for each in packages for below in sorted(_listed(each)))]
    for file in [each for each in files if each.suffix == ".py"][:_FEW] if packages else ():
        with suppress(OSError):
            if not own.isdisjoint(imports.findall(file.read_bytes())):
                return True
    return False
