"""The evidence: what tests have asserted of functions, per backend; read from ``generator/evidence/*.json``.

The files are written by ``python tests/mirror/exercise.py --write``, which calls functions and classes through
the mirror on each backend that CI has; a cell says ``executed`` only if its member is listed there, with what was
asserted of it, and ``tests/mirror/test_evidence.py`` and ``tests/distributed/test_distributed.py`` fail where the calls
of their own run do not bear that out. What the mirror hands out as torch's own object, and no call exercises, is
``inherited``: ``tests/mirror/test_names.py`` and ``test_home.py`` test the identity.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from generator.errors import GenerationError
from generator.union import release

__all__ = ["Evidence", "read_evidence"]

_KINDS = {"executed", "executed-on-gpu"}
_ASSERTED = {"value", "effect", "error"}


@dataclass(frozen=True)
class Evidence:
    """``names[(backend, dotted)]`` is ``executed`` or ``executed-on-gpu``, and what was asserted.

    ``value``: what it answered; ``effect``: what it changed, or what its answer does; ``error``: that it refuses, in words.
    """

    names: dict[tuple[str, str], tuple[str, str]]
    since: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The first torch on which a backend does what was asserted, where that is not all of them."""

    def under(self, torch: str) -> Evidence:
        """Return what holds under a release of torch."""
        late = {at for at, first in self.since.items() if release(torch) < release(first)}
        return Evidence({at: told for at, told in self.names.items() if at not in late})

    def of(self, dotted: str, backend: str, *, own: bool) -> dict[str, str]:
        """Return the evidence for ``dotted`` on ``backend``, as two keys of a cell.

        Args:
            dotted: the member's name.
            backend: the column.
            own: whether the mirror hands out torch's own object there.
        """
        nothing = ("inherited" if own else "checked", "")
        evidence, asserted = self.names.get((backend, dotted), nothing)
        return {"evidence": evidence, "asserted": asserted}


def read_evidence(folder: Path) -> Evidence:
    """Read every ``<backend>.json``: ``{"kind": "executed", "functions": {dotted: asserted, …}, "since": {dotted: torch, …}}``.

    Raises:
        GenerationError: a file is damaged, or knows another kind or assertion.
    """
    names: dict[tuple[str, str], tuple[str, str]] = {}
    since: dict[tuple[str, str], str] = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            kind, functions = data["kind"], dict(data["functions"])
            since.update(
                {(path.stem, dotted): one for dotted, one in data.get("since", {}).items()}
            )
        except (ValueError, KeyError, TypeError) as error:
            raise GenerationError(f"{path.name} is not an evidence file: {error!r}.") from None
        if kind not in _KINDS:
            raise GenerationError(
                f"{path.name}: unknown kind {kind!r}; known are {sorted(_KINDS)}."
            )
        for dotted, asserted in functions.items():
            if asserted not in _ASSERTED:
                raise GenerationError(
                    f"{path.name}: {dotted} says {asserted!r} was asserted; known are "
                    f"{sorted(_ASSERTED)}. Write it anew: python tests/mirror/exercise.py --write"
                )
            names[(path.stem, dotted)] = kind, asserted
    return Evidence(names, since)
