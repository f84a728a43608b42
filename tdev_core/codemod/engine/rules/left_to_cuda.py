"""Leaves what a kept question lets through: what follows its early exit, and the test that it skips."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.early_exits import after_early_exit


def leave_the_rest(file: File, question: cst.CSTNode, *, denied: bool = False) -> None:
    """Leave what follows an early exit for all but CUDA: ``if … or not torch.cuda.is_available() or …: return``.

    ``denied`` where the question itself asks for another: ``device.type != "cuda"``.
    """
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.Assert):
            home = enclosing_function(file, question)
            if home is not None:
                file.untouched.append((file.tree.span(parent)[1], file.tree.span(home)[1]))
            return
        if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
            denied = True
        elif isinstance(parent, cst.If):
            later = after_early_exit(file, parent) if denied else None
            if later is not None:
                file.untouched.append(later)
            return
        elif isinstance(parent, cst.BooleanOperation):
            if not isinstance(parent.operator, cst.Or):
                return
        elif not isinstance(parent, cst.Call):
            return


def leave_what_it_lets_through(file: File, question: cst.CSTNode) -> None:
    """Leave what follows the early exit that a question of one word is: ``if device == "cuda" and not …: skip()``."""
    choice = next((p for p in file.tree.ancestors(question) if isinstance(p, cst.If)), None)
    later = after_early_exit(file, choice) if choice is not None else None
    if later is not None:
        file.untouched.append(later)


def leave_decorated(file: File, question: cst.CSTNode) -> None:
    """Leave the test whose decorator skips it where there is no CUDA: it stays CUDA's with that."""
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.Decorator):
            file.untouched.append(file.tree.span(file.tree.parents[parent]))
            return
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return
