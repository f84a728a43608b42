"""Tells what differs between two torches, as far as the catalog knows: names, signatures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tdev_core.site.catalog import Catalog, Member

__all__ = ["RECORDED", "Changed", "Difference", "difference", "pairs"]

_SINCE = re.compile(r" \[torch ([\d.]+)\]$")
# When the project recorded a torch, which is when a reader of the feed could first learn of it here.
RECORDED = {
    "2.11.0": "2026-11-22",
    "2.12.0": "2026-11-22",
    "2.13.0": "2026-11-20",
    "2.14.0": "2026-11-22",
    "2.15.0": "2026-11-22",
}


@dataclass(frozen=True)
class Changed:
    """A member that two torches have otherwise.

    Attributes:
        member: what it is now.
        lost: parameters, or what is returned, that only the older torch has, as Python prints them.
        gained: those that only the newer one has.
        names: names that came and went: ``+`` or ``-`` before each.
    """

    member: Member
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The difference that a program sees when it moves from one torch to another.

    Attributes:
        old: the torch it comes from.
        new: the torch it goes to.
        added: members that only the new one has.
        removed: members that only the old one has.
        changed: members whose signature or names differ.
    """

    old: str
    new: str
    added: tuple[Member, ...]
    removed: tuple[Member, ...]
    changed: tuple[Changed, ...]

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"versions/{_minor(self.old)}-{_minor(self.new)}.html"


def pairs(torches: Iterable[str]) -> list[tuple[str, str]]:
    """Return each older torch with each newer one; neighbours first, the newest of them first."""
    ordered = list(torches)
    found = [(a, b) for at, a in enumerate(ordered) for b in ordered[at + 1 :]]
    return sorted(found, key=lambda pair: (_span(ordered, pair), -ordered.index(pair[1])))


def difference(catalog: Catalog, old: str, new: str) -> Difference:
    """Return what differs between two torches of the catalog, helpers of Python's apart."""
    low, high = _number(old), _number(new)

    def has(member: Member, version: tuple[int, ...]) -> bool:
        since = not member.since or _number(member.since) <= version
        return since and (not member.until or version <= _number(member.until))

    members = [member for member in catalog.members.values() if not member.helper]
    both = [m for m in members if has(m, low) and has(m, high)]
    changed = [one for member in both if (one := _changed(member, low, high)) is not None]
    return Difference(
        old,
        new,
        tuple(m for m in members if has(m, high) and not has(m, low)),
        tuple(m for m in members if has(m, low) and not has(m, high)),
        tuple(changed),
    )


def _changed(member: Member, low: tuple[int, ...], high: tuple[int, ...]) -> Changed | None:
    """Return what differs of a member, or None; a parameter that a torch brought says which no longer."""
    between = [change for change in member.changes if low < _number(change.version) <= high]
    # Of all overloads together: what one has gained and another had is nothing new to a caller.
    old, new = (
        {part for one in _signatures(member, torch) for part in _parts(one, torch)}
        for torch in (low, high)
    )
    names = tuple(name for change in between for name in change.names)
    if not names and old == new:
        return None
    return Changed(member, tuple(sorted(old - new)), tuple(sorted(new - old)), names)


def _signatures(member: Member, version: tuple[int, ...]) -> tuple[str, ...]:
    """Return the signatures in a torch: those before the oldest change that came after it."""
    found = member.signatures
    for change in member.changes:  # the newest first
        if _number(change.version) > version and change.signatures is not None:
            found = change.signatures
    return found


def _parts(signature: str, torch: tuple[int, ...]) -> list[str]:
    """Return what a signature has in a torch: parameters, and the arrow with what is returned."""
    inside, arrow, returned = signature.partition(") -> ")
    text = inside.removeprefix("(") if arrow else inside[1:-1]
    parts = []
    depth = start = 0
    for at, sign in enumerate(f"{text},"):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            part = text[start:at].strip()
            since = _SINCE.search(part)
            if part and (since is None or _number(since[1]) <= torch):
                parts.append(_SINCE.sub("", part))
            start = at + 1
    return [*parts, f"-> {returned}"] if arrow else parts


def _span(ordered: list[str], pair: tuple[str, str]) -> int:
    return ordered.index(pair[1]) - ordered.index(pair[0])


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
