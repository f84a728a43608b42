"""Compares types by value where ``type(x) is torch.device`` stood: a stand-in equals torch's type only."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.import_places import IMPORT
from tdev_core.codemod.engine.rules.kept_questions import from_tdev

# The types that tdev_core.mirror.standins stands in for.
_STANDINS = frozenset(f"torch.{name}" for name in ("device", "Generator", "Stream", "Event"))
_IS = re.compile(r"(?:[\s\\]|#[^\n]*\n)*(is(?:[\s\\]+(not)\b)?)")


def identities(file: File) -> None:
    """Compare by value what came by name from an import that is tdev's now."""
    for node in file.tree.of(cst.Comparison):
        operand = node.left
        for target in node.comparisons:
            if isinstance(target.operator, (cst.Is, cst.IsNot)) and not file.kept(node):
                if _moved(file, operand) or _moved(file, target.comparator):
                    _by_value(file, operand, target)
            operand = target.comparator


def _moved(file: File, node: cst.BaseExpression) -> bool:
    """Tell whether an expression is one of the types, taken from tdev."""
    found = file.resolver.reference(node)
    return found is not None and found.name in _STANDINS and from_tdev(file, found)


def _by_value(file: File, left: cst.BaseExpression, target: cst.ComparisonTarget) -> None:
    word = _IS.match(file.tree.source, file.tree.outer_span(left)[1])
    negated = isinstance(target.operator, cst.IsNot)
    if word is not None and negated == bool(word[2]):  # nobody writes a comment inside `is not`
        file.replace(IMPORT, *word.span(1), "!=" if negated else "==")
