"""Has a question and what it decides about change together, or not at all.

``if torch.accelerator.is_available(): model.cuda(i)`` asks for CUDA where there is none, while both
lines as they were, or both in generic names, do not. So this looks at what the other passes have
planned: where something of CUDA's is left in what a question decides about, the question stays, and
with it all that it decides about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants, dotted, string_value
from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.rules.accelerator.rules import GAP
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.guards import after_early_exit
from tdev_core.codemod.engine.rules.kernels import CUDA_ONLY, KERNEL
from tdev_core.codemod.engine.rules.references import AVAILABILITY, every_reference

_LEFT = frozenset({GAP.id, CUDA_ONLY.id, KERNEL.id})
_STREAMS = re.compile(r"[sS]tream|Event")
_KEEPS = "decides about what only CUDA has; left as it is, with what it decides about"


def together(file: File) -> None:
    """Take back what is planned for questions, and for what they decide about, where that stays CUDA's."""
    asked = [f for f in every_reference(file) if f.name in AVAILABILITY and f.package == "torch"]
    decided = {f.node: list(decides_about(file, f.node)) for f in asked if not file.kept(f.node)}
    if not decided:
        return
    left = {
        start
        for (rule, start, _), finding in file.findings.items()
        if rule in _LEFT and finding.severity != "note" and start not in file.harmless
    }
    for sum_ in file.tree.of(cst.BinaryOperation):
        text = string_value(sum_.left)
        if text in ("cuda", "cuda:") and not _planned(file, file.tree.span(sum_.left)):
            left.add(file.tree.span(sum_)[0])
    waiting = dict(decided)
    again = True
    while again:
        again = False
        for node, spans in list(waiting.items()):
            at = file.tree.span(node)
            stays = not _planned(file, at)
            if not stays and not any(a <= start < b for start in left for a, b in spans):
                continue
            if not stays:
                file.find(GAP, node, f"{file.tree.text(node)} {_KEEPS}")
            del waiting[node]
            left |= _take_back(file, [at, *spans], file.tree.position(at[0])[0])
            again = True


def _planned(file: File, at: Span) -> bool:
    return any(start <= at[0] and at[1] <= end for start, end in file.changes)


def _take_back(file: File, spans: list[Span], line: int) -> set[int]:
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
        if here not in said:
            said.add(here)
            file.find_at(
                GAP, change.start, f"stays CUDA's with the question in line {line}", "note"
            )
    return {change.start for change in dropped}


def _is_of_streams(file: File, change: Change) -> bool:
    return _STREAMS.search(file.tree.source[change.start : change.end]) is not None


def decides_about(file: File, node: cst.CSTNode) -> Iterator[Span]:
    """Yield the spans that are only reached, or only meant, where a question is answered with yes.

    An arm and its condition, what follows an early exit or an assertion, a loop over devices, what is
    decorated, and the same for a variable or a function that gives the answer.
    """
    tree = file.tree
    below, yes = node, True
    for parent in tree.ancestors(node):
        match parent:
            case cst.UnaryOperation(operator=cst.Not()):
                yes = not yes
            case cst.Comparison():
                yes = yes != _asks_for_none(parent)
            case cst.If() | cst.While() if below is parent.test:
                yield tree.span(parent.test)
                yield from _arm(file, parent, yes)
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


def _decided_by(file: File, node: cst.CSTNode, name: str) -> Iterator[Span]:
    """Yield what the choices decide about that ask for a variable, an attribute or a function."""
    home: cst.CSTNode = enclosing_function(file, node) or file.tree.module
    if "." in name:
        owner = (p for p in file.tree.ancestors(node) if isinstance(p, cst.ClassDef))
        home = next(owner, home)
    used = re.compile(rf"(?<![.\w]){re.escape(name)}(?!\w)")
    for choice in descendants(home):
        if isinstance(choice, cst.If) and (found := used.search(file.tree.text(choice.test))):
            before = file.tree.text(choice.test)[: found.start()]
            yield from _arm(file, choice, not before.rstrip().endswith("not"))
        elif isinstance(choice, (cst.IfExp, cst.BooleanOperation)):
            asks = choice.test if isinstance(choice, cst.IfExp) else choice.left
            if used.search(file.tree.text(asks)):
                yield file.tree.span(choice)
