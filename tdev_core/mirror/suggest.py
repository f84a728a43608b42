"""Suggest the name that was meant by one that a module does not have."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from types import ModuleType

from tdev_core.errors import ConfigError

__all__ = ["NoSuchName", "similar", "suggestion"]

_ENOUGH = 0.6
_MOST = 3


def similar(name: str, names: Iterable[str]) -> list[str]:
    """Return the public names most like ``name``, best first; at most three.

    Names are compared by their words as well as by their letters, so that a word left out
    (``can_flash_attention``) counts for little.
    """
    scored = []
    for candidate in sorted(set(names)):
        if candidate.startswith("_"):
            continue
        letters = SequenceMatcher(None, name, candidate).ratio()
        mine, theirs = set(name.split("_")), set(candidate.split("_"))
        words = 2 * len(mine & theirs) / (len(mine) + len(theirs))
        score = (letters + words) / 2
        if score >= _ENOUGH:
            scored.append((-score, candidate))
    return [candidate for _, candidate in sorted(scored)[:_MOST]]


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return a sentence for the end of an error message, or nothing where no name is like ``name``."""
    found = similar(name, names)
    if not found:
        return ""
    return f". Did you mean {' or '.join(repr(candidate) for candidate in found)}?"


def _dropped(dotted: str) -> str:
    """Return why torch no longer has a name, and what answers instead, or nothing where it never had it."""
    from tdev_core.mirror import matrix  # a table of a megabyte, which most processes never read

    try:
        rows = matrix.load().rows
    except ConfigError:
        return ""
    notes = (row.note for row in rows if row.name == dotted)
    return next((f": {note}" for note in notes if note.startswith("torch no longer has it")), "")


class NoSuchName(AttributeError):
    """A module's missing attribute, with what became of it, or the names that may have been meant.

    They are looked for when somebody reads the message: programs probe with ``hasattr``, and a search
    through all of torch for each probe would cost them.
    """

    def __init__(self, module: ModuleType, name: str) -> None:
        super().__init__(
            f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module
        )

    def __str__(self) -> str:
        module, name = self.obj, str(self.name)
        assert isinstance(module, ModuleType)
        why = _dropped(f"{module.__name__}.{name}")
        return f"{self.args[0]}{why or suggestion(name, dir(module))}"
