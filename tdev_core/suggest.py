"""Which name was meant by one that a module does not have."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

__all__ = ["similar", "suggestion"]

_ENOUGH = 0.6
_MOST = 3


def similar(name: str, names: Iterable[str]) -> list[str]:
    """The public names most like ``name``, best first; at most three.

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
    """A sentence for the end of an error message, or nothing where no name is like ``name``."""
    found = similar(name, names)
    if not found:
        return ""
    return f". Did you mean {' or '.join(repr(candidate) for candidate in found)}?"
