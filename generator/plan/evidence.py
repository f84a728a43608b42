"""The evidence: functions that tests have executed, per backend; read from ``generator/evidence/*.json``.

The files are written by ``python tests/mirror/exercise.py --write``, which calls functions and classes through
the mirror on each backend that CI has; a cell says ``executed`` only if its member is listed there, and
``tests/mirror/test_evidence.py`` and ``tests/distributed/test_distributed.py`` fail where the calls of their own run do
not bear that out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from generator.errors import GenerationError

__all__ = ["Evidence", "read_evidence"]

_KINDS = {"executed", "executed-on-gpu"}


@dataclass(frozen=True)
class Evidence:
    """``names[(backend, dotted)]`` is ``executed`` or ``executed-on-gpu``."""

    names: dict[tuple[str, str], str]

    def of(self, dotted: str, backend: str) -> str:
        """Return the evidence for ``dotted`` on ``backend``; ``checked`` where nothing executed it."""
        return self.names.get((backend, dotted), "checked")


def read_evidence(folder: Path) -> Evidence:
    """Read every ``<backend>.json``: ``{"kind": "executed", "functions": [dotted, …]}``."""
    names: dict[tuple[str, str], str] = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            kind, functions = data["kind"], data["functions"]
        except (ValueError, KeyError, TypeError) as error:
            raise GenerationError(f"{path.name} is not an evidence file: {error!r}.") from None
        if kind not in _KINDS:
            raise GenerationError(
                f"{path.name}: unknown kind {kind!r}; known are {sorted(_KINDS)}."
            )
        for dotted in functions:
            names[(path.stem, dotted)] = kind
    return Evidence(names)
