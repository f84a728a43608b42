"""Follows the calls of a file's own functions: what they do belongs to the place that they are called from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import PurePath

from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.survey import is_for_tests

_FUNCTION = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_USED = re.compile(r"(?<![\w.\"'])(?<!def )(\w+)\b(?=[ \t]*[(,)])")
_AT_THE_MARGIN = re.compile(r"^[\w@]", re.MULTILINE)
_SCRIPT = re.compile(r"^if __name__ == ", re.MULTILINE)


class Calls:
    """The functions at the top level of a file, and where it names them."""

    def __init__(self, file: File) -> None:
        source = file.tree.source
        self._file = file
        self._bodies: dict[str, Span] = {}
        self._used: dict[str, list[int]] = {}
        # Read from the text: what is of no concern to any rule is not in the tree.
        for home in _FUNCTION.finditer(source):
            after = _AT_THE_MARGIN.search(source, home.end())
            self._bodies[home[1]] = home.end(), after.start() if after else len(source)
        for found in _USED.finditer(source) if self._bodies else ():
            if found[1] in self._bodies:
                self._used.setdefault(found[1], []).append(found.start())
        self._places = sorted((at, name) for name, used in self._used.items() for at in used)

    def bodies(self, spans: list[Span]) -> list[Span]:
        """Return the bodies of the functions that are called in these spans, and those that they call."""
        found: dict[Span, None] = {}
        spans = list(spans)
        while spans:
            low, high = spans.pop()
            first, last = (
                bisect_left(self._places, (low, "")),
                bisect_left(self._places, (high, "")),
            )
            for _, name in self._places[first:last]:
                body = self._bodies[name]
                if body not in found:
                    found[body] = None
                    spans.append(body)
        return list(found)

    def only_from(self, spans: list[Span]) -> Iterator[tuple[Span, str]]:
        """Yield the functions that nothing calls but these spans, which stay CUDA's.

        What a library defines may be called from elsewhere; a private function, and those of a script or a
        test, are not.
        """
        source = self._file.tree.source
        alone = _SCRIPT.search(source) is not None or is_for_tests(PurePath(self._file.filename))
        spans = list(spans)
        again = bool(spans)
        while again:
            again = False
            for name, places in self._used.items():
                body = self._bodies[name]
                if body in spans or not places or not (alone or name.startswith("_")):
                    continue
                if all(any(low <= at < high for low, high in spans) for at in places):
                    spans.append(body)
                    again = True
                    yield body, f"{name} is only called where CUDA itself is asked for"
