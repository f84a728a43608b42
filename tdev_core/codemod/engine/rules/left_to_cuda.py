"""Leaves what a kept question lets through: what follows its early exit, and the test that it skips."""

from __future__ import annotations

import re
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import dotted
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.cudas_arms import CALLS_CUDA
from tdev_core.codemod.engine.rules.early_exits import after_early_exit
from tdev_core.codemod.engine.survey import is_for_tests
from tdev_core.codemod.engine.vocabulary import without_prose


def leave_what_it_opens(
    file: File, question: cst.CSTNode, *, denied: bool = False, arms: bool = True
) -> None:
    """Leave what a question that stays opens, by itself, with others, or past an exit for all others.

    What its answer opens where that is kept or given back, :mod:`.behind_what_stays` finds.

    Args:
        denied: the question itself asks for another: ``device.type != "cuda"``.
        arms: whether the arms of an ``if`` are left, too, and not only the rest of its condition.
    """
    if arms:
        file.gates.append((file.tree.span(question), denied))
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
                if arms and no and not given:
                    _leave_the_word(file, parent)
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
        else:
            return
        below = parent


_NOT_THERE = r"not\s+(?:\w+\.)*cuda\.is_available\(\)"
_OF_THE_WORD = r"(\w+)(?:\s*==\s*[\"']cuda[\"']|\.startswith\([\"']cuda[\"']\))"
_REFUSES_THE_WORD = re.compile(
    rf"\(?(?:{_OF_THE_WORD}\s+and\s+{_NOT_THERE}|{_NOT_THERE}\s+and\s+{_OF_THE_WORD})\)?"
)


def _leave_the_word(file: File, condition: cst.BooleanOperation) -> None:
    """Leave what is given a word behind the early exit that refuses CUDA's: ``if kind == "cuda" and not …: return``.

    Outside of tests ``"cuda:1"`` may be given as well, which no comparison with the one word refuses.
    """
    found = _REFUSES_THE_WORD.fullmatch(file.tree.text(condition))
    choice = file.tree.parents[condition]
    if found is None or not isinstance(choice, cst.If):
        return
    if "startswith" not in found[0] and not is_for_tests(PurePath(file.filename)):
        return
    later = after_early_exit(file, choice)
    word = found[1] or found[2]
    if later is None or re.search(rf"\b{word}[ \t]*=(?!=)", file.code[slice(*later)]):
        return
    for node in file.tree.of(cst.Name):
        if node.value != word or not later[0] <= file.tree.span(node)[0] < later[1]:
            continue
        file.untouched.append(file.tree.span(node))
        call = file.tree.parents[file.tree.parents[node]]
        if isinstance(call, cst.Call) and dotted(call.func) is not None:
            file.untouched.append(file.tree.span(call.func))


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


def leave_what_it_lets_through(file: File, question: cst.CSTNode) -> None:
    """Leave what follows the early exit that a question of one word is: ``if device == "cuda" and not …: skip()``."""
    choice = next((p for p in file.tree.ancestors(question) if isinstance(p, cst.If)), None)
    later = after_early_exit(file, choice) if choice is not None else None
    if later is not None:
        file.untouched.append(later)


def leave_decorated(file: File, question: cst.CSTNode, *, rows: bool = False) -> None:
    """Leave the test whose decorator skips it where there is no CUDA: it stays CUDA's with that. So do all, by a name for one.

    ``pytestmark`` is that of all tests of the module, or the class, that it stands in. Where ``rows`` of other devices stand
    beside the one that is skipped, a test that names CUDA itself runs for them, too.
    """
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.Decorator):
            file.untouched.append(file.tree.span(parent))  # and the values that it lists for it
            test = file.tree.parents[parent]
            body = file.tree.text(test.body) if isinstance(test, cst.FunctionDef) else ""
            if not rows or CALLS_CUDA.search(without_prose(body)) is None:
                file.untouched.append(file.tree.span(test))
            return
        if isinstance(parent, cst.Assign) and isinstance(parent.value, (cst.Call, cst.List)):
            name = file.tree.text(parent.targets[0].target)
            marked = (
                file.tree.parents[file.tree.statement(parent)] if name == "pytestmark" else None
            )
            for test in file.tree.of(cst.FunctionDef, cst.ClassDef):
                if (
                    file.tree.parents[test] is marked
                    and not _may_be_imported(file)
                    or any(file.tree.text(each.decorator) == name for each in test.decorators)
                ):
                    file.untouched.append(file.tree.span(test))
            return
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return


def _may_be_imported(file: File) -> bool:
    """Tell whether another file imports this one of tests: whatever marks them does not skip what is called from there."""
    tree = file.options.tree
    return tree is not None and PurePath(file.filename).stem in tree.imported_tests
