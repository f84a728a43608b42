"""Remember results of slow pure functions between runs, in the platform's cache folder.

A memo can be deleted at any time: each entry is keyed by a hash of everything its value depends on.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

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
            known = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(known, dict) and all(isinstance(text, str) for text in known.values()):
                self._known = known
        except (OSError, ValueError):
            pass  # no memo, or a damaged one: start afresh

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
        if self._used == self._known:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", dir=self._path.parent, prefix=".memo-", delete=False, encoding="utf-8"
            ) as stream:
                json.dump(self._used, stream)
            os.replace(stream.name, self._path)
        except OSError:
            return
