"""Leaves what a kept question lets through: what follows its early exit, and the test that it skips."""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import BINDERS, bound_by
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.early_exits import after_early_exit


def leave_what_it_opens(
    file: File, question: cst.CSTNode, *, denied: bool = False, arms: bool = True
) -> None:
    """Leave what a question that stays opens, by itself, with others, or by the variable that keeps its answer, or past an exit for all others.

    Args:
        denied: the question itself asks for another: ``device.type != "cuda"``.
        arms: whether the arms of an ``if`` are left, too, and not only the rest of its condition.
    """
    below, no = question, denied
    given = False  # to a function, which does with it what it likes
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.WithItem):
            file.untouched.append(file.tree.span(parent))
            return
        if isinstance(parent, cst.Assert):
            home = enclosing_function(file, question)
            if home is not None and not (no or given):
                file.untouched.append((file.tree.span(parent)[1], _reach(file, parent, home)))
            return
        if isinstance(parent, (cst.If, cst.IfExp)):
            if below is parent.test and arms and not given:
                _leave_arm(file, parent, no)
            return
        if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
            no = not no
        elif isinstance(parent, cst.BooleanOperation):
            # `a and cuda` opens for CUDA alone; so is what `a or not cuda` goes past.
            if isinstance(parent.operator, cst.Or) is not no:
                return
            if below is parent.left:
                file.untouched.append(file.tree.span(parent.right))
        elif isinstance(parent, cst.Call):
            known = parent.func is below or file.tree.text(parent.func) in ("all", "any", "bool")
            given = given or not known
        elif isinstance(parent, (cst.Arg, cst.GeneratorExp, cst.ListComp)):
            pass  # `all(device.type == "cuda" for device in devices)`
        elif isinstance(parent, cst.Comparison) and below is parent.left:
            if (told := _counts(parent)) is None:
                return
            no = no if told else not no
        elif isinstance(parent, cst.Assign):
            target = parent.targets[0].target
            if (
                len(parent.targets) == 1
                and isinstance(target, cst.Name)
                and not (no or given)
                and arms
            ):
                _leave_opened_by(file, parent, target.value)
            return
        else:
            return
        below = parent


def _reach(file: File, asserted: cst.Assert, home: cst.FunctionDef) -> int:
    """Return the end of what comes after an assertion alone: that of its function, or of the arm that it stands in."""
    below: cst.CSTNode = asserted
    for parent in file.tree.ancestors(asserted):
        if parent is home:
            break
        if isinstance(below, cst.IndentedBlock) and not isinstance(parent, (cst.With, cst.Try)):
            return file.tree.span(below)[1]
        below = parent
    return file.tree.span(home)[1]


def _counts(node: cst.Comparison) -> bool | None:
    """Tell what a comparison of a count of devices says of there being any; None where it may be either."""
    (asked,) = node.comparisons if len(node.comparisons) == 1 else (None,)
    number = asked.comparator if asked is not None else None
    if asked is None or not isinstance(number, cst.Integer):
        # `device_count() > rank`
        return True if asked is not None and isinstance(asked.operator, cst.GreaterThan) else None
    match asked.operator, int(number.value, 0):
        case (cst.GreaterThan(), _) | (cst.NotEqual(), 0):
            return True
        case (cst.GreaterThanEqual() | cst.Equal(), least) if least > 0:
            return True
        case (cst.Equal() | cst.LessThanEqual(), 0):
            return False
        case (cst.LessThan(), most) if most > 0:
            return False
        case _:
            return None


def _leave_arm(file: File, choice: cst.If | cst.IfExp, no: bool) -> None:
    if not no:
        file.untouched.append(file.tree.span(choice.body))
    elif isinstance(choice, cst.IfExp):
        file.untouched.append(file.tree.span(choice.orelse))
    elif isinstance(choice.orelse, cst.Else):
        file.untouched.append(file.tree.span(choice.orelse.body))
    elif choice.orelse is None and (later := after_early_exit(file, choice)) is not None:
        file.untouched.append(later)


def _leave_opened_by(file: File, kept_in: cst.Assign, name: str) -> None:
    """Leave what the variable opens that keeps the answer, or one that needs it: ``if use_cp:``, ``if use_cp and big:``.

    A variable that is bound again may open something else.
    """
    function = enclosing_function(file, kept_in)
    home = file.tree.module if function is None else function.body
    opened: dict[str, list[cst.If | cst.IfExp]] = {}
    needing: dict[str, list[str]] = {}
    for node in descendants(home):
        if isinstance(node, cst.Assign):
            if found := _FIRST_OF_ALL.match(file.tree.text(node.value)):
                given = file.tree.text(node.targets[0].target)
                needing.setdefault(found[1], []).append(given)
        elif isinstance(node, (cst.If, cst.IfExp)):
            if found := _FIRST_OF_ALL.match(file.tree.text(node.test)):
                opened.setdefault(found[1], []).append(node)
    names = [name]
    for each in names:
        if not (each in opened or each in needing) or not _is_bound_once(file, kept_in, each):
            continue
        names += [given for given in needing.get(each, ()) if given not in names]
        for choice in opened.get(each, ()):
            file.untouched.append(file.tree.span(choice.test))
            _leave_arm(file, choice, no=False)


def _is_bound_once(file: File, kept_in: cst.Assign, name: str) -> bool:
    """Tell whether nothing else gives a name a value in the function of a statement, or in the functions inside of that."""
    tree = file.python
    place = tree.at(file.tree.span(kept_in.value)) if tree is not None else None
    if tree is None or place is None:
        return False
    homes = (ast.FunctionDef, ast.AsyncFunctionDef)
    around = (each for each in tree.ancestors(place) if isinstance(each, homes))
    times = 0
    for part in ast.walk(next(around, tree.module)):
        if type(part) in BINDERS:
            times += sum(each == name for each in bound_by(part))
        elif isinstance(part, ast.arg):
            times += part.arg == name
        elif isinstance(part, (ast.Global, ast.Nonlocal)):
            times += name in part.names
    return times == 1


# `use_several = use_cuda and several`
_FIRST_OF_ALL = re.compile(r"(\w+)(?:\s+and\s|\Z)")


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
