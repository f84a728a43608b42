"""Takes back what would be one half of a statement or a function whose other half stays CUDA's."""

from __future__ import annotations

import re
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.analysis.literals import is_device_word
from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules.accelerator.plans import line_of, planned, take_back
from tdev_core.codemod.engine.rules.accelerator.rules import GAP
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.compare import COMPARISON
from tdev_core.codemod.engine.rules.references import AVAILABILITY, every_reference
from tdev_core.codemod.engine.survey import is_for_tests

_MESH = re.compile(r"(?:^|\.)(?:init_device_mesh|DeviceMesh)\Z")
_CHOSEN = re.compile(r"\A[bfru]*[\"']cuda|\Atorch\.device\(")
_COMPARED = re.compile(r"[!=]=\s*[\"']cuda[\"']")


def halves(file: File) -> set[int]:
    """Take back what stands beside a literal that stays: its call, the devices of its function, its table.

    Returns where that was.
    """
    dropped: set[int] = set()
    for node in file.tree.of(cst.SimpleString) if file.changes else ():
        if not (string_value(node) or "").startswith("cuda") or planned(file, file.tree.span(node)):
            continue
        parent = file.tree.parents[node]
        call = file.tree.parents[parent] if isinstance(parent, cst.Arg) else None
        if isinstance(call, cst.Call):
            # `torch.accelerator.memory_stats("cuda:0")` is no more generic than before.
            dropped |= _take(file, call.func, node)
            if _MESH.search(file.tree.text(call.func)):
                dropped |= _take(file, enclosing_function(file, node), node)
        elif _is_kept(file, node):
            dropped |= _take(file, enclosing_function(file, node), node)
    if (compared := _COMPARED.search(file.tree.source)) is not None:
        dropped |= _in_tables(file, compared.span())
    return dropped


def half_a_test(file: File) -> None:
    """Take back what is planned for a file of tests in which a device stays CUDA's: its helpers serve both."""
    if not file.changes or not is_for_tests(PurePath(file.filename)):
        return
    for (rule, start, _), found in sorted(file.findings.items()):
        if rule in _TELLS_OF_CUDA and found.severity != "note" and start not in file.harmless:
            line = file.tree.position(start)[0]
            why = f"stays CUDA's with line {line}: a file of tests is ported as a whole"
            take_back(file, [(0, len(file.tree.source))], line, why)
            return


_TELLS_OF_CUDA = frozenset({GAP.id, COMPARISON.id, "is-cuda"})


def _take(file: File, node: cst.CSTNode | None, literal: cst.CSTNode) -> set[int]:
    if node is None:
        return set()
    line = line_of(file, literal)
    return take_back(
        file, [file.tree.span(node)], line, f"stays CUDA's with the device in line {line}"
    )


def _is_kept(file: File, node: cst.SimpleString) -> bool:
    """Tell whether a literal is kept in a variable for devices: ``target_device = "cuda:0"``."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Assign):
            return any(is_device_word(target.target) for target in parent.targets)
        if not isinstance(parent, cst.IfExp):
            return False
    return False


def _in_tables(file: File, compared: Span) -> set[int]:
    """Take back the device in a row of a table, as of a test's parameters, that the file compares with ``"cuda"``."""
    dropped: set[int] = set()
    line = file.tree.position(compared[0])[0]
    for node in file.tree.of(cst.SimpleString):
        row = file.tree.parents.get(file.tree.parents[node])
        if isinstance(file.tree.parents[node], cst.Element) and isinstance(row, cst.Tuple):
            if planned(file, file.tree.span(node)):
                why = f'is a row of a table, and line {line} compares with "cuda"'
                dropped |= take_back(file, [file.tree.span(node)], line, why)
    return dropped


def moved_to_cuda(file: File, question: Question) -> None:
    """Take back what a kept question is about: its move, ``if x.type != "cuda": x = x.cuda()``, and its function's choices."""
    for parent in file.tree.ancestors(question.node):
        if isinstance(parent, cst.If):
            take_back(file, [file.tree.span(parent.body)], line_of(file, question.node))
            home = enclosing_function(file, parent)
            low, high = file.tree.span(home.body) if home is not None else (0, 0)
            for choice in file.tree.of(cst.IfExp):
                start, end = file.tree.span(choice)
                if low <= start < high and _CHOSEN.search(file.tree.text(choice)):
                    take_back(file, [(start, end)], line_of(file, question.node))
        if isinstance(parent, (cst.If, cst.BaseSmallStatement, cst.BaseSuite)):
            return


def counted_for_processes(file: File) -> None:
    """Take back the count of processes that a function starts where nothing of what they run changes."""
    counts = {
        change.start: change
        for change in file.changes.values()
        if file.tree.source[change.start : change.end].endswith("cuda.device_count")
    }
    if not counts or len(counts) < len(file.changes):
        return
    for started in _STARTED.finditer(file.tree.source):
        line = file.tree.position(started.start())[0]
        why = f"counts the processes of line {line}, which say themselves where they run"
        take_back(file, [(start, change.end) for start, change in counts.items()], 0, why)
        return


_STARTED = re.compile(r"(?<![\w])(?:spawn|start_processes|elastic_launch)\(")


def named_in_comments(file: File) -> None:
    """Take back a name that a comment of its function speaks of: it would be about what is not there."""
    said = list(_COMMENTED.finditer(file.tree.source)) if file.changes else []
    for home in file.tree.of(cst.FunctionDef) if said else ():
        low, high = file.tree.span(home)
        for comment in said:
            if low <= comment.start() < high:
                same = [
                    (change.start, change.end)
                    for change in file.changes.values()
                    if low <= change.start < high
                    and file.tree.source[change.start : change.end] == comment[1]
                ]
                line = file.tree.position(comment.start())[0]
                take_back(file, same, 0, f"a comment speaks of it in line {line}")


_COMMENTED = re.compile(r"#[^\n]*\b(torch\.cuda\.\w+)")


def beside_a_printed_answer(file: File) -> None:
    """Take back the questions in a block that prints the answer for CUDA: it would be another's."""
    for found in every_reference(file) if file.changes else ():
        if found.name not in AVAILABILITY or planned(file, file.tree.span(found.node)):
            continue
        below: cst.CSTNode = found.node
        printed = False
        for parent in file.tree.ancestors(found.node):
            printed = printed or isinstance(parent, cst.FormattedStringExpression)
            if (
                isinstance(parent, cst.IndentedBlock)
                or not printed
                and isinstance(parent, cst.BaseSmallStatement)
            ):
                break
            below = parent
        else:
            continue
        if printed:
            line = line_of(file, found.node)
            start = file.tree.span(below)[0]
            why = f"stays CUDA's with the answer that line {line} prints"
            take_back(file, [(start, file.tree.span(parent)[1])], line, why)
