"""Remember results of slow pure functions between runs, in the platform's cache folder.

A memo can be deleted at any time: each entry is keyed by a hash of everything its value depends on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from generator.running.caches import load, store

__all__ = ["Memo", "digest"]


def digest(*parts: str) -> str:
    """Return a short hash of ``parts``."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


class Memo:
    """A table from digest to text; :meth:`save` keeps only what this run has asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._used: dict[str, str] = {}
        self._known: dict[str, str] = {}
        try:
            known = json.loads(load(path) or "{}")
            if isinstance(known, dict) and all(isinstance(text, str) for text in known.values()):
                self._known = known
        except ValueError:
            pass  # a damaged one: start afresh

    def knows(self, key: str) -> bool:
        """Tell whether the value for ``key`` is remembered."""
        return key in self._known

    def get(self, key: str, make: Callable[[], str]) -> str:
        """Return the value for ``key``, made if it is not known."""
        value = self._known.get(key)
        if value is None:
            value = make()
        self._used[key] = value
        return value

    def save(self) -> None:
        """Write what was used, whole or not at all; a cache that cannot be written is none."""
        if self._used != self._known:
            store(self._path, json.dumps(self._used))
