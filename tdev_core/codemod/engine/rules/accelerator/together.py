"""Has a question and what it decides about change together, or not at all.

``if torch.accelerator.is_available(): model.cuda(i)`` asks for CUDA where there is none, while both
lines as they were, or both in generic names, do not. So this looks at what the other passes have
planned: where something of CUDA's is left in what a question decides about, the question stays, and
with it all that it decides about.
"""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules.accelerator.beside import (
    asked_for_alone,
    beside_a_kept_device,
    beside_a_kept_number,
    beside_what_raises,
    patched_alone,
)
from tdev_core.codemod.engine.rules.accelerator.decided import decides_about
from tdev_core.codemod.engine.rules.accelerator.literals import current_accelerator
from tdev_core.codemod.engine.rules.accelerator.plans import line_of, planned, take_back
from tdev_core.codemod.engine.rules.accelerator.questions import spelling
from tdev_core.codemod.engine.rules.accelerator.rules import ACCELERATOR, GAP
from tdev_core.codemod.engine.rules.accelerator.whole import requirements, whole
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.kernels import CUDA_ONLY, KERNEL
from tdev_core.codemod.engine.rules.references import AVAILABILITY, every_reference

_LEFT = frozenset({GAP.id, CUDA_ONLY.id, KERNEL.id})
_KEEPS = "decides about what only CUDA has; left as it is, with what it decides about"
# Strings, and comments, which may hold quotes of their own.
_STRING = re.compile(
    r"#[^\n]*|[rRfFbBuU]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')",
    re.DOTALL,
)
_CODE = re.compile(r"\{[^{}]*\}")
# A message, not a key: it says CUDA as a word, or asks for it by its name in torch.
_MESSAGE = re.compile(r"(?<![.\w:{])cuda(?![.\w:])|torch\.cuda\.|\bnvml\b|nvidia", re.IGNORECASE)


def together(file: File) -> None:
    """Take back what is planned for questions, and for what they decide about, where that stays CUDA's."""
    settle(file, set())


def settle(file: File, dropped: set[int]) -> None:
    """Do so until it holds; ``dropped`` are the places at which something planned will not be done."""
    for rule in (whole, requirements):
        for span, why in list(rule(file)):
            take_back(file, [span], 0, why)
    patched_alone(file)
    beside_a_kept_device(file)
    beside_a_kept_number(file)
    beside_what_raises(file)
    asked = [f for f in every_reference(file) if f.name in AVAILABILITY and f.package == "torch"]
    waiting = {f.node: list(decides_about(file, f.node)) for f in asked if not file.kept(f.node)}
    kept = _ask_generically(file)
    for question in kept:
        take_back(file, _spans_of(file, question), line_of(file, question.node))
    waiting |= {q.node: _spans_of(file, q) for q in file.questions if q not in kept}
    if not waiting:
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
    for node in list(waiting):
        if planned(file, file.tree.span(node)) and (line := _lies(file, node)):
            file.find(GAP, node, f"the message in line {line} says CUDA; left as it is, with that")
            left |= take_back(file, [file.tree.span(node)], 0)
    again = True
    while again:
        again = False
        for node, spans in list(waiting.items()):
            at = file.tree.span(node)
            stays = not planned(file, at)
            held = any(a <= start < b for start in left for a, b in spans)
            if not stays and not held and not _only_harmless(file, at, spans):
                continue
            if not stays:
                file.find(GAP, node, f"{file.tree.text(node)} {_KEEPS}")
            del waiting[node]
            left |= take_back(file, [at, *spans], line_of(file, node))
            again = True
    asked_for_alone(file, [f.node for f in asked if not planned(file, file.tree.span(f.node))])


def _only_harmless(file: File, at: Span, spans: list[Span]) -> bool:
    """Tell whether a question decides about nothing but what is CUDA's and does nothing elsewhere."""
    if not any(a <= start < b for start in file.harmless for a, b in spans):
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


def _lies(file: File, node: cst.CSTNode) -> int:
    """Return the line of a message that would be wrong once a question is asked of any accelerator."""
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp)) and below is parent.test:
            return _message(file, parent)
        if isinstance(parent, cst.Call) and below is not parent.func:
            if _PRINTS.search(file.tree.text(parent.func)) and (line := _message(file, parent)):
                return line
        if isinstance(parent, (cst.BaseSuite, cst.BaseSmallStatement)):
            return 0
        below = parent
    return 0


def _message(file: File, node: cst.CSTNode) -> int:
    """Return the line of the first message below ``node`` that says CUDA; 0 where there is none."""
    for found in _STRING.finditer(file.tree.source, *file.tree.span(node)):
        text = _CODE.sub("", found.group())
        if text[0] != "#" and " " in text.strip("\"' ") and _MESSAGE.search(text):
            return file.tree.position(found.start())[0]
    return 0


_RAISES = re.compile(r"\A\s*raise\b")
# What is printed, and the label of a report: `add(output, "Has CUDA", …)`.
_PRINTS = re.compile(
    r"(?:^|\.)(?:print|echo|log\w*|info|debug|warn\w*|error|critical|write|add|\w*append)\Z"
)
