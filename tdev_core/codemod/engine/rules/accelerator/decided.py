"""Finds what a question decides about: the code that is only reached, or only meant, where the answer is yes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants, dotted
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.early_exits import after_early_exit


def decides_about(file: File, node: cst.CSTNode, yes: bool = True) -> Iterator[Span]:
    """Yield the spans that are only reached, or only meant, where a question is answered with yes.

    An arm and its condition, what follows an early exit or an assertion, a loop over devices, what is
    decorated, and the same for a variable or a function that gives the answer.
    """
    tree = file.tree
    below = node
    for parent in tree.ancestors(node):
        match parent:
            case cst.UnaryOperation(operator=cst.Not()):
                yes = not yes
            case cst.Comparison():
                yes = yes != _asks_for_none(parent)
            case cst.If() | cst.While() if below is parent.test:
                yield tree.span(parent.test)
                yield from _arm(file, parent, yes)
                for kept in _set_by(file, parent):
                    yield from _decided_by(file, parent, kept)
                return
            case cst.IfExp() if below is parent.test:
                yield tree.span(parent)
            case cst.BooleanOperation(operator=cst.And()):
                yield tree.span(parent)
            case cst.Assert():
                block = tree.parents[tree.parents[parent]]
                yield tree.span(parent)[0], tree.span(block)[1]
                return
            case cst.For() if below is parent.iter:
                yield tree.span(parent)
                return
            case cst.Call() if below is not parent.func and _spawns(file, parent):
                yield tree.span(parent)
                return
            case cst.CompFor() if below is parent.iter:
                yield tree.span(tree.parents[parent])
            case cst.Decorator():
                yield tree.span(tree.parents[parent])
                return
            case cst.Assign() | cst.AnnAssign() | cst.NamedExpr():
                target = (
                    parent.targets[0].target if isinstance(parent, cst.Assign) else parent.target
                )
                if (name := dotted(target)) is not None:
                    yield from _decided_by(file, parent, name)
                return
            case cst.Return():
                home = enclosing_function(file, parent)
                if home is not None:
                    yield from _decided_by(file, home, home.name.value)
                return
            case cst.BaseSuite() | cst.BaseSmallStatement() | cst.Lambda():
                return
            case _:
                pass
        below = parent


def _asks_for_none(node: cst.Comparison) -> bool:
    """Tell whether a comparison of a count is true where there is nothing: ``== 0``, ``< 1``."""
    operator, other = node.comparisons[0].operator, node.comparisons[0].comparator
    zero = isinstance(other, cst.Integer) and other.value == "0"
    return (
        isinstance(operator, cst.Equal)
        and zero
        or isinstance(operator, (cst.LessThan, cst.LessThanEqual))
    )


def _arm(file: File, choice: cst.If | cst.While, yes: bool) -> Iterator[Span]:
    if yes:
        yield file.tree.span(choice.body)
        return
    if choice.orelse is not None:
        yield file.tree.span(choice.orelse)
    later = after_early_exit(file, choice) if isinstance(choice, cst.If) else None
    if later is not None:
        yield later


_TRUE = re.compile(r"^[ \t]*([\w.]+)[ \t]*=[ \t]*True[ \t]*$", re.MULTILINE)


def _set_by(file: File, choice: cst.If | cst.While) -> Iterator[str]:
    """Yield the names that keep the answer: ``if torch.cuda.is_available(): self.gpu = True``, and ``else: self.gpu = False``."""
    if not isinstance(choice, cst.If) or choice.orelse is None:
        return
    otherwise = file.tree.text(choice.orelse)
    for found in _TRUE.finditer(file.tree.text(choice.body)):
        if re.search(
            rf"^[ \t]*{re.escape(found[1])}[ \t]*=[ \t]*False[ \t]*$", otherwise, re.MULTILINE
        ):
            yield found[1]


def _decided_by(file: File, node: cst.CSTNode, name: str) -> Iterator[Span]:
    """Yield what the choices decide about that ask for a variable, an attribute or a function."""
    home: cst.CSTNode = enclosing_function(file, node) or file.tree.module
    if "." in name:
        owner = (p for p in file.tree.ancestors(node) if isinstance(p, cst.ClassDef))
        home = next(owner, home)
    used = re.compile(rf"(?<![.\w]){re.escape(name)}(?!\w)")
    # Read from the text: a call of no concern to any rule is not in the tree.
    for started in _SPAWNED.finditer(file.tree.source, *file.tree.span(home)):
        if used.search(started.group()):
            yield started.span()
    for choice in descendants(home):
        if isinstance(choice, cst.If) and (found := used.search(file.tree.text(choice.test))):
            before = file.tree.text(choice.test)[: found.start()]
            yield from _arm(file, choice, not before.rstrip().endswith("not"))
        elif isinstance(choice, (cst.IfExp, cst.BooleanOperation)):
            asks = choice.test if isinstance(choice, cst.IfExp) else choice.left
            if used.search(file.tree.text(asks)):
                yield file.tree.span(choice)


# What starts a process for each device, and what CUDA's mixed precision is turned on by.
_SPAWNED = re.compile(
    r"(?<![\w.])(?:[\w.]+\.)?(?:spawn|GradScaler|autocast)\((?:[^()]|\([^()]*\))*\)"
)


def _spawns(file: File, call: cst.Call) -> bool:
    """Tell whether a call starts a process for each device: ``mp.spawn(worker, nprocs=count)``."""
    return (dotted(call.func) or "").rpartition(".")[2] == "spawn"
