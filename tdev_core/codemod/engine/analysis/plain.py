"""Makes libcst's nodes as cheap as other objects in a process that does nothing but the engine's work.

Nodes are compared by identity, by two methods in Python; and their classes are abstract ones, which answer
``isinstance`` in Python, too. Together that is a twentieth of the time of a run. Both are left as they are where the
engine is a part of another program.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst


class _Plain(type):
    """Answers ``isinstance`` by the bases of a class alone, as no abstract class does: libcst registers no others."""


def make_plain() -> None:
    """Have all nodes compared, hashed and asked for their class as plain objects are."""
    for kind in {cst.CSTNode, *_below(cst.CSTNode)}:  # type: ignore[type-abstract]
        kind.__eq__ = object.__eq__  # type: ignore[method-assign, assignment]
        kind.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]
        kind.__class__ = _Plain


def _below(kind: type[cst.CSTNode]) -> Iterator[type[cst.CSTNode]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)
