"""The words from which the rules start: a statement without one is no place for an edit or a finding.

A rule that starts from another word has to name it here (or in the triage's list, which is part of
this one): the test that compares thinned files with whole ones finds a word that is missing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import chain

from tdev_core.codemod.engine.api import Names
from tdev_core.codemod.engine.vocabulary import PATCHED, SETTINGS, WORDS

# Parts of names and strings, besides those that make a file worth reading.
_PARTS = (
    "device",
    "map_location",
    "pin_memory",
    "tdev",
    "nvidia",
    "current_blas_handle",
    "current_solver_handle",
)
# Whole names, besides those of torch's functions that act on a device without saying so.
_NAMES = ("load", "load_inline", "CppExtension")
_MANY = 20_000  # answers that are kept: a worker sees the names of many files


class Words:
    """Where a text says something that a rule starts from."""

    def __init__(self, names: frozenset[str]) -> None:
        self._parts = sorted({*WORDS, *_PARTS})
        self._names = sorted(
            name for name in {*names, *_NAMES} if not any(part in name for part in self._parts)
        )
        self._said: dict[str, bool] = {}

    @staticmethod
    def of(names: Names) -> Words:
        """Those for these facts about torch."""
        found = {n.rpartition(".")[2] for n in names.routed if not n.startswith("torch.cuda")}
        for name, parameters in names.device_params.items():
            # Where the device can only be given as `device=...`, that is the word.
            if any(at is not None or "device" not in given for given, at in parameters):
                found.add(name.rpartition(".")[2])
        return _words(frozenset(found))

    def places(self, text: str) -> Iterator[int]:
        """The offset of each word that says it wherever it stands."""
        yield from (found.start() for found in PATCHED.finditer(text))
        # Plain searches are many times faster than one pattern of alternatives.
        for part in self._parts:
            at = text.find(part)
            while at >= 0:
                yield at
                at = text.find(part, at + 1)

    def named(self, text: str) -> Iterator[int]:
        """The offset of each name of a function that acts on a device without saying so."""
        for name in self._names:
            yield from places(text, name)

    def says(self, name: str) -> bool:
        """Whether a short text holds such a word, or is such a name."""
        known = self._said.get(name)
        if known is None:
            if len(self._said) > _MANY:
                self._said.clear()
            known = self._said[name] = any(True for _ in chain(self.places(name), self.named(name)))
        return known

    def imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        """The names under which an import brings in something of torch's that a rule looks for."""
        base = "" if isinstance(node, ast.Import) else (node.module or "")
        for alias in node.names:
            full = f"{base}.{alias.name}" if base else alias.name
            if full.split(".")[0] in ("torch", "tdev") and self.says(full):
                if alias.asname is not None:
                    yield alias.asname
                elif base and alias.name != "*":
                    yield alias.name


def of_an_object(text: str, at: int, torch: Container[str]) -> bool:
    """Whether the word here is only that of an object's own device, which is a real one.

    So it is in ``x.device`` and ``device=x.device``, unless ``x`` is ``self`` (it may be set to
    anything), holds settings, or is one of the names under which the file knows ``torch``.
    """
    if text[at : at + 6] != "device" or _MORE.match(text, at + 6):
        return False
    if text[at - 1 : at] == ".":
        start = at - 1
        while start and (text[start - 1].isalnum() or text[start - 1] in "_.[]"):
            start -= 1
        found = _OWN.match(text, start)
        if found is None or found.end() != at + 6:
            return False
    else:
        found = _GIVEN.match(text, at + 6)
        if found is None:
            return False
    base = _INDEX.sub("", found[1])
    root, last = base.partition(".")[0], base.rpartition(".")[2]
    return base not in ("self", "cls") and root not in torch and not _SETTINGS.search(last)


_MORE = re.compile(r"\w|\s*\(|\s*:|\s*=\s*[^\s\w=]")
_CHAIN = r"([A-Za-z_][\w.]*(?:\[\w*\][\w.]*)*)\.device(?!\w|\s*[(:]|\s*=[^=])"
_OWN = re.compile(_CHAIN)
_GIVEN = re.compile(rf"[ \t]*=[ \t]*{_CHAIN}(?=[ \t]*[,)\r\n])")
_INDEX = re.compile(r"\[\w*\]")
_SETTINGS = re.compile(rf"(^|_)({SETTINGS})$", re.IGNORECASE)


def of_a_method(text: str, at: int, torch: Container[str]) -> bool:
    """Whether the name here is certainly that of an object's method, or of a module not torch's.

    So it is in ``x.gather(1, index)`` and ``json.load(file)``. ``torch`` are the names that imports
    bind to something of torch's; a variable that holds one is another matter (:mod:`.holders`).
    Where the text before the name does not show with what it starts (on the line above, after a
    comment), the answer is no.
    """
    start = at
    while start and (text[start - 1].isalnum() or text[start - 1] in "_."):
        start -= 1
    root, dot, _ = text[start:at].partition(".")
    if not dot:
        return False
    if not root:
        return text[start - 1 : start] in tuple(")]}\"'")
    return root not in torch and not may_go_on(text, start)


def may_go_on(text: str, at: int) -> bool:
    """Whether a name here may be an attribute of something that ends on a line before it."""
    return _GOES_ON.search(text[max(0, at - _REACH) : at]) is not None


_REACH = 200
_GOES_ON = re.compile(r"[.\\]\s*\Z|#[^\n]*\s*\Z|\A\s*\Z")


def places(text: str, name: str, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """The offset of each ``name`` in a text that is not a part of a longer one."""
    at = text.find(name, start, stop)
    while at >= 0:
        end = at + len(name)
        before, after = text[at - 1 : at], text[end : end + 1]
        if not (before == "_" or before.isalnum() or after == "_" or after.isalnum()):
            yield at
        at = text.find(name, end, stop)


@lru_cache(maxsize=4)
def _words(names: frozenset[str]) -> Words:
    return Words(names)
