"""Holds what the pages show: one member for each thing that torch has a name for. ``reading`` makes it.

What always holds: a member is shown under the shortest of its names, every name leads to one member, and
each member has a cell for each backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tdev_core.mirror.matrix import COLUMNS

__all__ = ["BACKENDS", "Arm", "Catalog", "Cell", "Change", "Gone", "Member", "Module", "Shim"]

BACKENDS = COLUMNS


@dataclass(frozen=True)
class Cell:
    """The answer on one backend.

    Attributes:
        route: how it is answered.
        evidence: by what that is known.
        asserted: what a test asserts where it is executed: ``value``, ``effect`` or ``error``.
        note: what is special about it.
        instead: what to call where nothing can be answered.
        ignores: parameters that nobody looks at, with the reason of each.
    """

    route: str
    evidence: str
    asserted: str
    note: str
    instead: str
    ignores: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Arm:
    """The lines that the mirror runs on these backends."""

    backends: tuple[str, ...]
    code: str


@dataclass(frozen=True)
class Member:
    """One thing that torch has a name for.

    Attributes:
        name: the shortest of its names.
        names: all of them, in order.
        kind: ``function``, ``class``, ``constant``, …
        signatures: each overload as Python would print it; none where torch does not tell.
        summary: what it does, in torch's words.
        deprecated: torch's words to those who still call it, or nothing.
        category: the subject it belongs to.
        priority: from ``P0``, what programs call most, to ``P4``.
        helper: whether torch's module only imports it from elsewhere.
        planned: whether the migration plan lists it.
        mirror: ``same`` where the mirror hands out torch's own object.
        since: the first torch of the catalog that has it; empty: all of them do, up to ``until``.
        until: the last torch that has it; empty: the newest does.
        changes: the torches in which signature or summary became what they are, the newest first.
        value: the value of a constant, as Python would print it.
        cells: the answer by backend.
        emitted: the signature of the mirror's function, if it has one of its own.
        arms: what that function runs, by backends.
    """

    name: str
    names: tuple[str, ...]
    kind: str
    signatures: tuple[str, ...]
    summary: str
    deprecated: str
    category: str
    priority: str
    helper: bool
    planned: bool
    mirror: str
    since: str
    until: str
    changes: tuple[Change, ...]
    value: str
    cells: Mapping[str, Cell]
    emitted: str
    arms: tuple[Arm, ...]

    @property
    def special(self) -> bool:
        """Whether a backend answers it in a way of its own, or a note says something of it."""
        cells = self.cells.values()
        return len({cell.route for cell in cells}) > 1 or any(cell.note for cell in cells)

    @property
    def routed(self) -> bool:
        """Whether some backend answers with something else than torch's own object."""
        return any(cell.route != "same" for cell in self.cells.values())

    @property
    def home(self) -> str:
        """The module of its shortest name."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True)
class Change:
    """The form of a member up to a torch.

    Attributes:
        version: the first torch in which it is no longer so.
        signatures: the signatures before, or None where they stayed.
        names: the names that came and went with that torch: ``+`` or ``-`` before each.
    """

    version: str
    signatures: tuple[str, ...] | None
    names: tuple[str, ...]


@dataclass(frozen=True)
class Module:
    """A public module of torch, with the names that it has."""

    name: str
    summary: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Shim:
    """A method or constructor that the mirror wraps, because no name leads to it."""

    name: str
    devices: tuple[str, ...]
    factory: str


@dataclass(frozen=True)
class Gone:
    """A function of the migration plan that torch no longer has."""

    name: str
    category: str
    why: str
    successor: str


@dataclass(frozen=True)
class Catalog:
    """Everything the site shows of torch.

    Attributes:
        torch: the torch that the mirror is generated from.
        torches: all torches that the catalog knows, oldest first.
        members: all members by shortest name.
        modules: all public modules by name.
        shims: methods and constructors that are wrapped, by name.
        gone: functions of the plan that no torch of the catalog has under that name.
        plan: the names of the migration plan, each with its category.
    """

    torch: str
    torches: tuple[str, ...]
    members: Mapping[str, Member]
    modules: Mapping[str, Module]
    shims: Mapping[str, Shim]
    gone: tuple[Gone, ...]
    plan: Mapping[str, str]

    @cached_property
    def by_name(self) -> Mapping[str, Member]:
        """Each member under each of its names."""
        return {name: member for member in self.members.values() for name in member.names}

    @cached_property
    def special(self) -> tuple[Member, ...]:
        """The members that have a page of their own, by name."""
        return tuple(member for member in self.members.values() if member.special)
