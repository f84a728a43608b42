"""Writes a comment above each statement that a person has to look at (``--annotate``)."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.api import Finding, WholeTextNeeded
from tdev_core.codemod.engine.file import Change, File


def annotate(file: File) -> None:
    """Plan ``# tdev: <rule>: <message>`` above the line of every error and warning.

    The comment goes above the statement (a place where a comment is always legal), with the
    statement's indentation, and only if the lines above do not hold it already.
    """
    tree = file.tree
    starts = {}
    for node in tree.of(cst.SimpleStatementLine, *_compound()):
        start, end = tree.span(node)
        starts[start] = (start, end)
    spans = sorted(starts.values())
    said: dict[int, list[str]] = {}
    for finding in sorted(file.findings.values(), key=lambda f: (f.line, f.column, f.message)):
        if finding.severity == "note":
            continue
        line = _statement_line(file, finding, spans)
        comment = f"# tdev: {finding.rule}: {finding.message}"
        above = line - 1
        present = False
        while above >= 1 and tree.line_text(above).strip().startswith("#"):
            # By rule alone: the message may quote what an edit has changed since.
            said_above = tree.line_text(above).strip()
            present = present or said_above.startswith(f"# tdev: {finding.rule}: ")
            above -= 1
        comments = said.setdefault(line, [])
        if not present and comment not in comments:
            comments.append(comment)
    for line, comments in said.items():
        if not comments:
            continue
        start = tree.line_start(line)
        text = tree.line_text(line)
        indent = text[: len(text) - len(text.lstrip())]
        block = "".join(indent + c + tree.newline for c in comments)
        old = file.changes.get((start, start))
        if old is not None:
            block = old.text + block
        file.changes[(start, start)] = Change(start, start, block, "annotate")


def _compound() -> tuple[type[cst.CSTNode], ...]:
    return (cst.If, cst.For, cst.While, cst.With, cst.Try, cst.FunctionDef, cst.ClassDef)


def _statement_line(file: File, finding: Finding, spans: list[tuple[int, int]]) -> int:
    """Return the first line of the innermost statement around a finding.

    Raises:
        WholeTextNeeded: that statement is left out.
    """
    tree = file.tree
    at = tree.line_start(finding.line) + finding.column - 1
    if tree.leaves_out(at):
        raise WholeTextNeeded
    best = None
    for start, end in spans:
        if start > at:
            break
        if at < max(end, start + 1):
            head = tree.source[tree.line_start(tree.position(start)[0]) : start]
            if not head.strip():
                best = start
    return tree.position(best)[0] if best is not None else finding.line
