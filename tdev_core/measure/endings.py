"""Finds why a program has failed in what it has printed: an exception's first line, however long its message is."""

from __future__ import annotations

import re

__all__ = ["ending", "reason"]

_TRACEBACK = "Traceback (most recent call last):"
_NAMED = re.compile(r"[^\W\d]\w*(\.\w+)*(:|$)")
"""``RuntimeError: no such kernel``, ``torch._inductor.exc.InductorError: …``, ``KeyError``."""
_LINES, _MOST = 20, 40


def reason(said: str) -> str:
    """Return the line that says why: the one with the exception's name, else the last one; empty where nothing was said."""
    lines = said.strip().splitlines()
    return lines[_named(lines)] if lines else ""


def ending(said: str) -> list[str]:
    """Return the last lines, as many as are needed for the exception's name to be among them."""
    lines = said.strip().splitlines()
    begin = max(0, min(_named(lines), len(lines) - _LINES))
    return lines[begin : begin + _MOST]


def _named(lines: list[str]) -> int:
    """Return where the last traceback names its exception; where there is none, the last line."""
    last = len(lines) - 1
    if _TRACEBACK not in lines:
        return last
    for at in range(last, lines.index(_TRACEBACK), -1):
        # A message may be of many lines, which look like anything; only the first one follows a line of the program's.
        if lines[at - 1].startswith("  ") and _NAMED.match(lines[at]):
            return at
    return last
