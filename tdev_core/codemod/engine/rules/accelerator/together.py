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

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules.accelerator.beside import (
    asked_for_alone,
    beside_a_kept_device,
    beside_a_kept_index,
    beside_a_kept_number,
    beside_what_raises,
    patched_alone,
)
from tdev_core.codemod.engine.rules.accelerator.calls import Calls
from tdev_core.codemod.engine.rules.accelerator.decided import decides_about
from tdev_core.codemod.engine.rules.accelerator.elsewhere import why_elsewhere_fails
from tdev_core.codemod.engine.rules.accelerator.halves import (
    beside_a_printed_answer,
    counted_for_processes,
    half_a_test,
    halves,
    moved_to_cuda,
    named_in_comments,
)
from tdev_core.codemod.engine.rules.accelerator.literals import current_accelerator
from tdev_core.codemod.engine.rules.accelerator.plans import line_of, planned, take_back
from tdev_core.codemod.engine.rules.accelerator.questions import spelling
from tdev_core.codemod.engine.rules.accelerator.rules import ACCELERATOR, GAP
from tdev_core.codemod.engine.rules.accelerator.said import line_that_lies
from tdev_core.codemod.engine.rules.accelerator.whole import requirements, whole
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.kernels import CUDA_ONLY, KERNEL
from tdev_core.codemod.engine.rules.references import AVAILABILITY, every_reference

_LEFT = frozenset({GAP.id, CUDA_ONLY.id, KERNEL.id})
_KEEPS = "decides about what only CUDA has; left as it is, with what it decides about"


def together(file: File) -> None:
    """Take back what is planned for questions, and for what they decide about, where that stays CUDA's."""
    settle(file, set())


def settle(file: File, dropped: set[int]) -> None:
    """Do so until it holds; ``dropped`` are the places at which something planned will not be done."""
    _settle(file, dropped)
    half_a_test(file)


def _settle(file: File, dropped: set[int]) -> None:
    for rule in (whole, requirements):
        for span, why in list(rule(file)):
            take_back(file, [span], 0, why)
    patched_alone(file)
    beside_a_kept_device(file)
    beside_a_kept_number(file)
    beside_a_kept_index(file)
    beside_what_raises(file)
    dropped = dropped | halves(file)
    beside_a_printed_answer(file)
    named_in_comments(file)
    asked = [f for f in every_reference(file) if f.name in AVAILABILITY and f.package == "torch"]
    for found in asked:
        home = enclosing_function(file, found.node)
        if home is not None and (met := why_elsewhere_fails(file, found.node)):
            take_back(file, [file.tree.span(home)], line_of(file, found.node), met)
    waiting = {f.node: list(decides_about(file, f.node)) for f in asked if not file.kept(f.node)}
    kept = _ask_generically(file)
    stayed: list[Span] = []
    for question in kept:
        stayed += (spans := _spans_of(file, question))
        take_back(file, spans, line_of(file, question.node))
        moved_to_cuda(file, question)
    waiting |= {q.node: _spans_of(file, q) for q in file.questions if q not in kept}
    if not waiting and not stayed:
        return
    left = dropped | {
        start
        for (rule, start, _), finding in file.findings.items()
        if rule in _LEFT and finding.severity != "note" and start not in file.harmless
    }
    for sum_ in file.tree.of(cst.BinaryOperation):
        text = string_value(sum_.left)
        if text in ("cuda", "cuda:") and not planned(file, file.tree.span(sum_.left)):
            left.add(file.tree.span(sum_)[0])
    for literal in file.tree.of(cst.SimpleString):
        if string_value(literal) == "cuda" and _is_answered(file, literal):
            if not planned(file, file.tree.span(literal)):
                left.add(file.tree.span(literal)[0])
    left |= set(_defaults(file))
    for node in list(waiting):
        if planned(file, file.tree.span(node)) and (line := line_that_lies(file, node)):
            file.find(GAP, node, f"the message in line {line} says CUDA; left as it is, with that")
            left |= take_back(file, [_said_with(file, node)], 0)
    calls = Calls(file)
    again = True
    while again:
        again = False
        for node, spans in list(waiting.items()):
            at = file.tree.span(node)
            stays = not planned(file, at)
            reached = [*spans, *calls.bodies(spans)]
            held = any(a <= start < b for start in left for a, b in reached)
            alone = _only_harmless(file, at, spans) or _skips_alone(file, node, spans)
            if not stays and not held and not alone:
                continue
            if not stays:
                file.find(GAP, node, f"{file.tree.text(node)} {_KEEPS}")
            del waiting[node]
            left |= take_back(file, [at, *spans], line_of(file, node))
            stayed += spans
            again = True
    _alike(file, asked)
    counted_for_processes(file)
    for span, why in calls.only_from(stayed):
        take_back(file, [span], 0, why)
    asked_for_alone(file, [f.node for f in asked if not planned(file, file.tree.span(f.node))])


def _alike(file: File, asked: list[Reference]) -> None:
    """Keep the questions of a function that asks for CUDA's own beside them: it would choose by two answers."""
    kept: dict[cst.CSTNode, int] = {}
    for found in asked:
        home = _asks_in(file, found.node)
        if home is not None and not planned(file, file.tree.span(found.node)):
            if not _only_seeds(file, found.node):
                kept.setdefault(home, line_of(file, found.node))
    for found in asked:
        home = _asks_in(file, found.node)
        if home in kept and planned(file, at := file.tree.span(found.node)):
            take_back(file, [at, *decides_about(file, found.node)], kept[home])


def _asks_in(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the function that a question is asked in; of a script the whole, for the answers that it keeps."""
    home = enclosing_function(file, node)
    if home is None and isinstance(file.tree.parents[file.tree.parents[node]], cst.Assign):
        return file.tree.module
    return home


def _only_seeds(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a kept question decides about seeds, which do nothing elsewhere."""
    return any("manual_seed" in file.tree.source[a:b] for a, b in decides_about(file, node))


def _said_with(file: File, node: cst.CSTNode) -> Span:
    """Return what stays with a question about which something is said: its statement, or the question of an ``if``."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BaseSmallStatement):
            return file.tree.span(parent)
        if isinstance(parent, (cst.If, cst.BaseSuite)):
            break
    return file.tree.span(node)


def _defaults(file: File) -> Iterator[int]:
    """Yield where a parameter is used whose default names CUDA, and stays: ``def f(device="cuda")``."""
    for param in file.tree.of(cst.Param):
        literal = param.default
        if literal is None or not (string_value(literal) or "").startswith("cuda"):
            continue
        home = enclosing_function(file, param)
        if home is None or planned(file, file.tree.span(literal)):
            continue
        used = re.compile(rf"(?<![\w.\"'-]){param.name.value}\b(?!\s*=[^=])")
        for found in used.finditer(file.tree.source, *file.tree.span(home.body)):
            yield found.start()


def _is_answered(file: File, literal: cst.SimpleString) -> bool:
    """Tell whether a device's name is returned, alone or first in a tuple: ``return ("cuda", index)``."""
    parent = file.tree.parents[literal]
    if isinstance(parent, cst.Element):
        several = file.tree.parents[parent]
        if not isinstance(several, cst.Tuple) or several.elements[0] is not parent:
            return False
        parent = file.tree.parents[several]
    return isinstance(parent, cst.Return)


_SKIPS = re.compile(r"\b(?:skip\w*|SkipTest)\(")


def _skips_alone(file: File, node: cst.CSTNode, spans: list[Span]) -> bool:
    """Tell whether a question skips a test in which nothing changes: what it needs CUDA for is not seen."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.If):
            if not _SKIPS.search(file.tree.text(parent.body)):
                return False
            home = enclosing_function(file, parent)
            low, high = file.tree.span(home if home is not None else file.tree.module)
            own = file.tree.span(parent)
            changes = [c for c in file.changes.values() if low <= c.start < high]
            return all(own[0] <= c.start < own[1] for c in changes)
        if isinstance(parent, (cst.BaseSuite, cst.BaseSmallStatement)):
            return False
    return False


def _only_harmless(file: File, at: Span, spans: list[Span]) -> bool:
    """Tell whether a question decides about nothing but what is CUDA's and does nothing elsewhere.

    Seeds, and settings of cuDNN.
    """
    source = file.tree.source
    harmless = any(a <= start < b for start in file.harmless for a, b in spans)
    if not harmless and not any(_OF_CUDNN.search(source, a, b) for a, b in spans):
        return False
    return not any(
        a <= change.start < b and not at[0] <= change.start < at[1]
        for change in file.changes.values()
        for a, b in spans
    )


def _ask_generically(file: File) -> list[Question]:
    """Plan the questions whose arms are generic, and report and return the others."""
    kept = []
    for question in file.questions:
        node = question.node
        if planned(file, file.tree.span(node)):
            continue
        current = current_accelerator(file, node)
        text = spelling(file, question, current)
        if text is not None and _is_generic(file, question):
            file.replace_node(ACCELERATOR, node, text)
            continue
        kept.append(question)
        if text is not None:
            said = (
                f"asks for CUDA alone; where any accelerator will do, compare with {current}.type"
            )
            file.find(question.rule, node, said)
        elif question.said:
            file.find(question.rule, node, question.said)
    return kept


def _is_generic(file: File, question: Question) -> bool:
    """Tell whether something of what a question decides about changes: then it is not CUDA's alone."""
    low, high = file.tree.span(_condition(file, question.node))
    return any(
        a <= change.start < b and not low <= change.start < high
        for change in file.changes.values()
        for a, b in _spans_of(file, question)
    )


def _condition(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the whole condition that a question is a part of."""
    whole = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            whole = parent
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            break
    return whole


def _spans_of(file: File, question: Question) -> list[Span]:
    """What a question decides about, with the whole condition that it is a part of.

    An assertion, and what raises, is about the function that it stands in: that is ported as a whole.
    """
    spans = list(decides_about(file, question.node, question.yes))
    spans.append(file.tree.span(_condition(file, question.node)))
    for parent in file.tree.ancestors(question.node):
        raises = isinstance(parent, cst.If) and _RAISES.search(file.tree.text(parent.body))
        if raises or isinstance(parent, cst.Assert) or isinstance(question.node, cst.Call):
            home = enclosing_function(file, parent)
            if home is not None:
                spans.append(file.tree.span(home.body))
        if isinstance(parent, (cst.If, cst.BaseSmallStatement, cst.BaseSuite)):
            break
    return spans


_OF_CUDNN = re.compile(r"(?<![\w])cudnn\.\w+\s*=(?!=)")
_RAISES = re.compile(r"\A\s*raise\b")
