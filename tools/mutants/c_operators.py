"""Faults in C source, as replacements of text in code that is neither comment, string nor preprocessor line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.mutants.operators import Edit

__all__ = ["c_edits"]

_ASIDE = re.compile(
    rb'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|"(?:[^"\\\n]|\\.)*"', re.S | re.M
)
_FUNCTION = re.compile(rb"^(\w+)\(", re.M)
_SWAPPED: tuple[tuple[str, bytes, bytes], ...] = (
    ("compares otherwise", rb"==", b"!="),
    ("compares otherwise", rb"!=", b"=="),
    ("compares otherwise", rb"(?<= )<(?= )", b"<="),
    ("compares otherwise", rb"(?<= )>(?= )", b">="),
    ("compares otherwise", rb"(?<= )<=(?= )", b"<"),
    ("compares otherwise", rb"(?<= )>=(?= )", b">"),
    ("and / or", rb"&&", b"||"),
    ("and / or", rb"\|\|", b"&&"),
    ("sign or not removed", rb"!(?=[\w(])", b""),
    ("computes otherwise", rb"(?<= )\+(?= )", b"-"),
    ("computes otherwise", rb"(?<= )-(?= )", b"+"),
    ("computes otherwise", rb"\+\+", b"--"),
    ("off by one", rb"\b0(?=[;,)\]])", b"1"),
    ("off by one", rb"\b1(?=[;,)\]])", b"2"),
    ("statement deleted", rb"(?<=\n)[ ]+\w+\([^;{}]*\);", b" ;"),
    ("statement deleted", rb"(?<=\n)[ ]+[\w>.\[\]-]+ = [^;{}]*;", b" ;"),
    ("another way", rb"\bAS_IT_IS\b(?!,)", b"WRAPPER"),
    ("another way", rb"\bWRAPPER\b(?!,)", b"AS_IT_IS"),
    ("a reference less", rb"\bPy_NewRef\b", b"(PyObject *)"),
)


def c_edits(source: bytes) -> Iterator[Edit]:
    """Yield every fault that can be planted in a file of C."""
    aside = [match.span() for match in _ASIDE.finditer(source)]
    functions = [(match.start(), match.group(1).decode()) for match in _FUNCTION.finditer(source)]
    first = functions[0][0] if functions else 0
    for kind, pattern, after in _SWAPPED:
        for match in re.finditer(pattern, source):
            start, end = match.span()
            if start < first or any(a < end and start < b for a, b in aside):
                continue
            function = [name for at, name in functions if at <= start][-1]
            line = source.count(b"\n", 0, start) + 1
            before = match.group().decode()
            yield Edit(kind, function, 0, line, line, line, start, end, before, after.decode())
