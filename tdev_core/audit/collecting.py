"""Reads a code base: every name of torch in it, joined with the catalog's answer, and the moves to a device.

What always holds: no file is imported or executed; a file that cannot be read is named with the reason, and
counts for nothing; a name counts once however often and by whichever of its spellings it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tdev_core.codemod.config import Settings, find_config, read_config
from tdev_core.codemod.embedded.notebooks import read_notebook
from tdev_core.codemod.engine import Names, SyntaxError_, uses
from tdev_core.codemod.errors import Unreadable
from tdev_core.codemod.files.discovery import discover
from tdev_core.codemod.model import Kind
from tdev_core.codemod.text import decode_python
from tdev_core.site.catalog import BACKENDS, Catalog, Member

__all__ = ["Audit", "Place", "Used", "collect"]


@dataclass(frozen=True, order=True)
class Place:
    """A use of a name: the file as it was found, the line, from 1, and in a notebook the cell, from 1."""

    path: str
    cell: int
    line: int

    def __str__(self) -> str:
        cell = f"cell {self.cell}:" if self.cell else ""
        return f"{self.path}:{cell}{self.line}"


@dataclass(frozen=True)
class Used:
    """A member of torch that the code base uses.

    Attributes:
        member: what the catalog knows of it.
        spellings: the names it is used by, in order.
        places: where, by file and line.
    """

    member: Member
    spellings: tuple[str, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Audit:
    """The findings of one audit.

    Attributes:
        torches: the torches that the answers are about, oldest first.
        files: the number of files read, notebooks among them.
        used: the members of torch that are used, by name.
        unknown: names below torch that no torch of the catalog has in public, with their places.
        methods: methods of tensors and modules that are of a device, ``cuda`` and its like, with their places.
        failed: files that could not be read, and cells, each with the reason.
    """

    torches: tuple[str, ...]
    files: int
    used: tuple[Used, ...]
    unknown: tuple[tuple[str, tuple[Place, ...]], ...]
    methods: tuple[tuple[str, tuple[Place, ...]], ...]
    failed: tuple[tuple[str, str], ...]

    def runs(self, backend: str) -> int:
        """Count the members that have an answer on a backend: all but those that raise."""
        return sum(one.member.cells[backend].route != "unsupported" for one in self.used)

    def percent(self, backend: str) -> int | None:
        """Return the part of the members that run on a backend, rounded down; None where none is used."""
        return 100 * self.runs(backend) // len(self.used) if self.used else None

    def differing(self) -> tuple[Used, ...]:
        """Return those that some backend answers in its own way; the worst first, then by name."""
        found = [one for one in self.used if one.member.routed]
        return tuple(sorted(found, key=lambda one: (-_weight(one.member), one.member.name)))


def _weight(member: Member) -> int:
    worst = {"unsupported": 10, "fallback": 1}
    return sum(worst.get(member.cells[backend].route, 0) for backend in BACKENDS)


def collect(paths: Sequence[str], catalog: Catalog) -> Audit:
    """Return what the code below ``paths`` uses; ``[tool.tdev]`` says what is left out.

    Raises:
        UsageError: a path does not exist, or the settings are wrong.
    """
    file = find_config([Path(path) for path in paths])
    settings = read_config(file) if file else Settings(base=Path.cwd().resolve())
    names = Names.load()
    found: dict[str, dict[str, set[Place]]] = {}
    unknown: dict[str, set[Place]] = {}
    methods: dict[str, set[Place]] = {}
    failed = []
    count = 0
    for one in discover(list(paths), settings):
        if one.error:
            failed.append((one.shown, one.error))
        if one.error or one.skip or one.kind not in _READ:
            continue
        try:
            used, broken = _READ[one.kind](one.path.read_bytes(), one.shown, names)
        except SyntaxError_ as error:
            failed.append((one.shown, f"it does not parse: {error}"))
            continue
        except (OSError, Unreadable) as error:
            failed.append((one.shown, str(error)))
            continue
        count += 1
        failed += [(one.shown, words) for words in broken]
        for name, place in used:
            member = _member(name, catalog)
            if name.startswith("."):
                methods.setdefault(name[1:], set()).add(place)
            elif member is not None:
                places = found.setdefault(member.name, {})
                places.setdefault(_spelled(name, member), set()).add(place)
            elif not _is_module(name, catalog):
                unknown.setdefault(name, set()).add(place)
    return Audit(
        catalog.torches,
        count,
        tuple(
            Used(
                catalog.members[name],
                tuple(sorted(spelled)),
                _ordered(place for places in spelled.values() for place in places),
            )
            for name, spelled in sorted(found.items())
        ),
        tuple((name, _ordered(places)) for name, places in sorted(unknown.items())),
        tuple((name, _ordered(places)) for name, places in sorted(methods.items())),
        tuple(failed),
    )


_Found = tuple[list[tuple[str, Place]], list[str]]
"""Names with their places, and what of the file could not be read."""


def _python(raw: bytes, shown: str, names: Names) -> _Found:
    found = uses(decode_python(raw).code, names)
    return [(use.name, Place(shown, 0, use.line)) for use in found], []


def _notebook(raw: bytes, shown: str, names: Names) -> _Found:
    """Read the cells as one module: an import in one is known in the later ones."""
    code = read_notebook(raw)
    found = []
    for use in uses(code.joined.code, names):
        piece, line = code.joined.locate(use.line)
        found.append((use.name, Place(shown, code.cells[piece], line)))
    return found, [f"cell {number} is not Python 3 and was not read" for number in code.broken]


_READ = {Kind.PYTHON: _python, Kind.NOTEBOOK: _notebook}


def _ordered(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(set(places)))


def _member(name: str, catalog: Catalog) -> Member | None:
    """Return the member that a dotted name leads to, itself or an attribute of it: ``torch.cuda.Stream.query``."""
    while name and name not in catalog.modules:
        if name in catalog.by_name:
            return catalog.by_name[name]
        name = name.rpartition(".")[0]
    return None


def _spelled(name: str, member: Member) -> str:
    """Return the member's name as it stands in ``name``."""
    while name not in member.names:
        name = name.rpartition(".")[0]
    return name


def _is_module(name: str, catalog: Catalog) -> bool:
    return name == "torch" or name in catalog.modules
