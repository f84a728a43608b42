"""Imports of something inside torch: re-pointed to tdev, or split between the two."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.bindings import Binding
from tdev_core.codemod.engine.analysis.nodes import dotted
from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.rules.import_order import planned, set_apart
from tdev_core.codemod.engine.rules.import_places import IMPORT, marked_late, unique


def repoint(file: File) -> None:
    wanted = unique(file.repointed)
    statements: dict[cst.CSTNode, list[Binding]] = {}
    for binding in wanted:
        if binding.statement is None or any(
            low <= file.tree.span(binding.statement)[0] < high for low, high in file.of_old_torch
        ):
            continue
        if (binding.target or "").startswith("torch"):
            statements.setdefault(binding.statement, []).append(binding)
    for statement, bindings in statements.items():
        if isinstance(statement, cst.Import):
            for binding in bindings:
                assert isinstance(binding.node, cst.ImportAlias)
                start, _ = file.tree.span(binding.node.name)
                why = file.why.get(binding.node, "")
                edit = Change(start, start + len("torch"), "tdev", IMPORT.id, why=why)
                if len(statement.names) == 1:
                    name = "tdev" + (binding.target or "")[len("torch") :]
                    planned(file, file.tree.span(statement), edit, name, plain=True)
                else:
                    file.changes.setdefault((edit.start, edit.end), edit)
        elif isinstance(statement, cst.ImportFrom) and statement.module is not None:
            _repoint_from(file, statement, bindings)


def _repoint_from(file: File, statement: cst.ImportFrom, bindings: list[Binding]) -> None:
    assert statement.module is not None and not isinstance(statement.names, cst.ImportStar)
    start, end = file.tree.span(statement.module)
    moved: set[cst.CSTNode] = {b.node for b in bindings}
    why = "; ".join(file.why[b.node] for b in bindings if b.node in file.why)
    whole = len(moved) == len(statement.names)
    parted = not file.left_imports.isdisjoint(statement.names)
    alike = file.options.style == "alias" or _one_line_more(file, statement, start, end)
    if whole or alike and not parted:
        edit = Change(start, start + len("torch"), "tdev", IMPORT.id, why=why)
        name = "tdev" + file.tree.source[start + len("torch") : end]
        planned(file, file.tree.span(statement), edit, name, plain=False)
        return
    module = "tdev" + file.tree.source[start + len("torch") : end]
    line = file.tree.statement(statement)
    first, last = file.tree.span(statement)
    taken = ", ".join(file.tree.text(a) for a in statement.names if a in moved)
    added = f"from {module} import {taken}"
    comment = _take_out(file, list(statement.names), moved)
    if comment and len(moved) == 1:
        added += "  " + comment
    else:
        added += marked_late(file, file.tree.position(last)[0])
    begin = file.tree.line_start(file.tree.position(first)[0])
    indent = file.tree.source[begin:first]
    if indent.strip() or not isinstance(line, cst.SimpleStatementLine):
        file.replace(IMPORT, first, first, added + "; ", why)
    elif indent or not set_apart(file, begin, added + file.tree.newline, IMPORT.id):
        file.replace(IMPORT, begin, begin, indent + added + file.tree.newline, why)


def _one_line_more(file: File, statement: cst.ImportFrom, start: int, end: int) -> bool:
    """Tell whether the whole import may move: from a module of torch's that has little else than such names.

    Its other names are torch's own objects there as well; of torch itself as much stays torch's as can.
    """
    assert not isinstance(statement.names, cst.ImportStar)
    names = [dotted(alias.name) or "_" for alias in statement.names]
    return "." in file.tree.source[start:end] and not any(name.startswith("_") for name in names)


def _take_out(file: File, names: list[cst.ImportAlias], moved: set[cst.CSTNode]) -> str:
    """Remove names from the list of an import; returns the comment that stood beside them."""
    tree = file.tree
    comment = ""
    index = 0
    while index < len(names):
        if names[index] not in moved:
            index += 1
            continue
        own_line = _own_line(file, names, names[index])
        if own_line is not None:
            low, high, comment = own_line
            file.replace(IMPORT, low, high, "")
            index += 1
            continue
        last = index
        while (
            last + 1 < len(names)
            and names[last + 1] in moved
            and _own_line(file, names, names[last + 1]) is None
        ):
            last += 1
        low, high = tree.span(names[index])[0], tree.span(names[last])[1]
        if last + 1 < len(names):
            following = tree.span(names[last + 1])[0]
            between = tree.source[high:following]
            if "#" not in between and "\n" not in between:
                high = following
            else:
                high += between.index(",") + 1
                low = (
                    low if index == 0 else _after_comma(tree.source, tree.span(names[index - 1])[1])
                )
        elif index:
            low = tree.span(names[index - 1])[1]
        file.replace(IMPORT, low, high, "")
        index = last + 1
    return comment


def _after_comma(source: str, at: int) -> int:
    return source.index(",", at) + 1


def _own_line(
    file: File, names: list[cst.ImportAlias], alias: cst.ImportAlias
) -> tuple[int, int, str] | None:
    """Return the whole line of a name that has one to itself, and the comment on it."""
    low, high = file.tree.span(alias)
    line = file.tree.position(low)[0]
    text = file.tree.line_text(line)
    start = file.tree.line_start(line)
    rest = text[high - start :].strip()
    found = re.fullmatch(r",?\s*(#.*)?", rest)
    if text[: low - start].strip() or found is None or line == file.tree.line_count:
        return None
    if names[-1] is alias and not rest.startswith(","):
        return None  # its line ends the list; the name before it would keep its comma
    return start, start + len(text), found[1] or ""


def repoint_stars(file: File) -> None:
    for node in file.tree.of(cst.ImportFrom):
        if isinstance(node.names, cst.ImportStar) and node.module is not None and not node.relative:
            name = dotted(node.module) or ""
            if (name + ".").startswith("torch.cuda.") and not file.kept(node):
                start, _ = file.tree.span(node.module)
                file.replace(IMPORT, start, start + len("torch"), "tdev")
