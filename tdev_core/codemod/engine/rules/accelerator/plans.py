"""Takes back what the passes have planned for a part of a file."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.rules.accelerator.rules import GAP

_STREAMS = re.compile(r"[sS]tream|Event")


def planned(file: File, at: Span) -> bool:
    return at in file.changes or any(a <= at[0] and at[1] <= b for a, b in file.changes)


def line_of(file: File, node: cst.CSTNode) -> int:
    return file.tree.position(file.tree.span(node)[0])[0]


def take_back(file: File, spans: list[Span], line: int, why: str = "") -> set[int]:
    """Drop the changes inside these spans; returns where they were."""
    dropped = [c for c in file.changes.values() if any(a <= c.start < b for a, b in spans)]
    if any(_is_of_streams(file, change) for change in dropped):
        # torch's streams and CUDA's do not mix.
        dropped += [
            c for c in file.changes.values() if c not in dropped and _is_of_streams(file, c)
        ]
    said = {line}
    for change in dropped:
        del file.changes[change.start, change.end]
        here = file.tree.position(change.start)[0]
        if here not in said and (line or why):
            said.add(here)
            told = why or f"stays CUDA's with the question in line {line}"
            file.find_at(GAP, change.start, told, "note")
    return {change.start for change in dropped}


def _is_of_streams(file: File, change: Change) -> bool:
    return _STREAMS.search(file.tree.source[change.start : change.end]) is not None
