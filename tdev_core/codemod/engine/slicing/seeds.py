"""Finds the words from which the rules start: without one a statement sees no edit and no finding.

A rule that starts from another word has to name it here (or in the vocabulary, which is part of
this list): the test that compares slices with whole files finds a word that is missing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from tdev_core.codemod.engine.api import Names
from tdev_core.codemod.engine.slicing.lexical import occurrences
from tdev_core.codemod.engine.vocabulary import MAKERS, ORDINAL_MOVES, PATCHED, WORDS, places

# Parts of names and strings, besides those that make a file worth reading.
_PARTS = (
    "device",
    "map_location",
    "pin_memory",
    "tdev",
    "nvidia",
    "current_blas_handle",
    "current_solver_handle",
    "import_module",
    "__import__",
)
# Whole names, besides those of torch's functions that act on a device without saying so.
_NAMES = ("load", "load_inline", "CppExtension")
_MANY = 20_000  # answers that are kept: a worker sees the names of many files


class Seeds:
    """Finds in a text what a rule starts from: the seeds of a slice."""

    def __init__(self, names: frozenset[str]) -> None:
        self._parts = sorted({*WORDS, *_PARTS})
        self._names = sorted(
            name for name in {*names, *_NAMES} if not any(part in name for part in self._parts)
        )
        self._known: dict[str, bool] = {}

    @staticmethod
    def of(names: Names) -> Seeds:
        """Return those for these facts about torch, which all files of a run share."""
        if _last and _last[0][0] is names:
            return _last[0][1]
        found = {n.rpartition(".")[2] for n in names.routed if not n.startswith("torch.cuda")}
        for name, parameters in names.device_params.items():
            # Where the device can only be given as `device=...`, that is the word.
            if any(at is not None or "device" not in given for given, at in parameters):
                found.add(name.rpartition(".")[2])
        _last[:] = [(names, _seeds(frozenset(found)))]
        return _last[0][1]

    def words_in(self, text: str) -> Iterator[int]:
        """Yield the offset of each word that is one wherever it stands, in a longer name or a string too."""
        yield from (found.start() for found in PATCHED.finditer(text))
        yield from (found.start() for found in ORDINAL_MOVES.finditer(text))
        yield from (found.start() for found in MAKERS.finditer(text))
        # Plain searches are many times faster than one pattern of alternatives.
        for part in self._parts:
            yield from places(text, part)

    def functions_in(self, text: str) -> Iterator[int]:
        """Yield the offset of each name of a function that acts on a device without saying so."""
        for name in self._names:
            yield from occurrences(text, name)

    def is_seed(self, name: str) -> bool:
        """Tell whether a short text holds such a word, or is such a name."""
        known = self._known.get(name)
        if known is None:
            if len(self._known) > _MANY:
                self._known.clear()
            known = self._known[name] = any(
                True for _ in chain(self.words_in(name), self.functions_in(name))
            )
        return known

    def imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        """Yield the names under which an import brings in something of torch's that a rule looks for."""
        base = "" if isinstance(node, ast.Import) else (node.module or "")
        for alias in node.names:
            full = f"{base}.{alias.name}" if base else alias.name
            if full.split(".")[0] in ("torch", "tdev") and self.is_seed(full):
                if alias.asname is not None:
                    yield alias.asname
                elif base and alias.name != "*":
                    yield alias.name


_last: list[tuple[Names, Seeds]] = []


@lru_cache(maxsize=4)
def _seeds(names: frozenset[str]) -> Seeds:
    return Seeds(names)
