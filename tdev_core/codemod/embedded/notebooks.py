"""Rewrites notebooks, every Python cell; everything else keeps its bytes. Reads them for who only asks.

The cells of a notebook are one program: an import in one is known in the later ones. A cell that is
not Python by itself is left alone and named in a remark; magics stay as they are.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tdev_core.codemod.embedded import magics
from tdev_core.codemod.embedded.jsonspans import CellSource, Spans, read_spans
from tdev_core.codemod.embedded.rules import NOTEBOOK_MAGIC, NOTEBOOK_SYNTAX
from tdev_core.codemod.embedded.segments import Joined, Rewrite, Segment, rewrite_together
from tdev_core.codemod.engine import Rule
from tdev_core.codemod.errors import Unreadable
from tdev_core.codemod.model import Change, Outcome, Place, Remark, Status
from tdev_core.codemod.records import change, remark, resting
from tdev_core.codemod.text import decode_utf8, lines

_IMPORTS_TDEV = re.compile(r"^[ \t]*(?:import|from)[ \t]+tdev\b", re.MULTILINE)
INSTALL_TOO = "this notebook installs what it needs, and imports tdev: install that there, too"


def rewrite_notebook(raw: bytes, rewrite: Rewrite) -> Outcome:
    """Rewrite the notebook ``raw``; raises :class:`Unreadable` where it is none."""
    text = decode_utf8(raw)
    spans = _spans(text.code)
    language = _language(spans.data)
    if language != "python":
        return Outcome(Status.UNCHANGED, f"a notebook in {language}")
    cells, segments, remarks = _python_cells(spans)
    if not cells:
        return Outcome(Status.UNCHANGED, remarks=tuple(remarks))
    read = {cell.index for cell in cells}
    beside = [cell.code for cell in spans.cells if cell.index not in read]
    rewritten = rewrite_together(segments, rewrite, beside)
    rows = [lines(cell.code) for cell in cells]
    changes = tuple(change(e, rows[at], cells[at].index + 1) for at, e in rewritten.edits)
    remarks += [remark(f, rows[at], cells[at].index + 1) for at, f in rewritten.findings]
    new = _splice(text.code, spans, cells, rewritten.codes)
    if any(_IMPORTS_TDEV.search(code) for code in rewritten.codes):
        remarks += _installs(spans)  # now, or since an earlier run: a check tells the same
    ordered = tuple(sorted(remarks, key=_order))
    if new == text.code:
        return Outcome(Status.UNCHANGED, remarks=ordered)
    return Outcome(
        Status.CHANGED,
        new=text.encode(new),
        changes=tuple(sorted(changes, key=_order)),
        remarks=ordered,
        resting=tuple(
            remark
            for at, place in rewritten.resting
            for remark in resting([place], rows[at], cells[at].index + 1)
        ),
    )


@dataclass(frozen=True)
class NotebookCode:
    """The Python of a notebook as one module.

    Attributes:
        joined: the module.
        cells: the number of the cell, from 1, that each of its pieces is.
        broken: the numbers of the cells that are no Python 3, and not in it.
    """

    joined: Joined
    cells: tuple[int, ...]
    broken: tuple[int, ...]


def read_notebook(raw: bytes) -> NotebookCode:
    """Return the Python of the notebook ``raw``: nothing in one of another language.

    Raises:
        Unreadable: it is no notebook.
    """
    spans = _spans(decode_utf8(raw).code)
    if _language(spans.data) != "python":
        return NotebookCode(Joined.of(()), (), ())
    masked = [(cell.index + 1, magics.mask(cell.code)) for cell in spans.cells]
    python = [(number, segment) for number, segment in masked if segment is not None]
    read = [(number, segment) for number, segment in python if segment.parses]
    return NotebookCode(
        Joined.of([segment for _, segment in read]),
        tuple(number for number, _ in read),
        tuple(number for number, segment in python if not segment.parses),
    )


def _spans(text: str) -> Spans:
    try:
        return read_spans(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no notebook: {error}") from None


def _python_cells(spans: Spans) -> tuple[list[CellSource], list[Segment], list[Remark]]:
    cells, segments, remarks = [], [], []
    for cell in spans.cells:
        segment = magics.mask(cell.code)
        number = cell.index + 1
        if segment is None or segment.parses:
            remarks += [_magic_remark(number, said) for said in magics.mentions(cell.code, segment)]
        if segment is None:
            continue
        if not segment.parses:
            remarks.append(
                _cell_remark(
                    NOTEBOOK_SYNTAX, number, "this cell is not Python 3 and was left alone", cell
                )
            )
            continue
        cells.append(cell)
        segments.append(segment)
    return cells, segments, remarks


def _installs(spans: Spans) -> list[Remark]:
    """Return the remark that a notebook which installs what it needs, as on a machine of somebody else's, has to install tdev."""
    said = [(cell.index + 1, each) for cell in spans.cells for each in magics.installs(cell.code)]
    if not said or any("tdev" in each.text for _, each in said):
        return []
    cell, last = said[-1]
    place = Place(last.line, 1, last.line, 1, cell)
    return [Remark(NOTEBOOK_MAGIC.id, place, INSTALL_TOO, "warning", _cut(last.text))]


def _cell_remark(rule: Rule, number: int, message: str, cell: CellSource) -> Remark:
    severity = "warning" if "cuda" in cell.code else "note"
    return Remark(rule.id, Place(1, 1, 1, 1, number), message, severity)


def _magic_remark(cell: int, said: magics.Mention) -> Remark:
    message = "a magic or shell line mentions CUDA; such lines are never rewritten"
    place = Place(said.line, 1, said.line, 1, cell)
    severity = "warning" if said.uses else "note"
    return Remark(NOTEBOOK_MAGIC.id, place, message, severity, _cut(said.text))


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _order(item: Change | Remark) -> tuple[int, int, int]:
    return item.place.cell or 0, item.place.line, item.place.column


def _language(data: dict[str, Any]) -> str:
    """Return the language of a notebook's kernel; one that says nothing is Python, as Jupyter has it."""
    metadata = data.get("metadata")
    if isinstance(metadata, dict):
        for table, key in (("language_info", "name"), ("kernelspec", "language")):
            entry = metadata.get(table)
            if isinstance(entry, dict) and isinstance(entry.get(key), str):
                return "python" if entry[key].lower() in ("python", "ipython") else entry[key]
    return "python"


def _splice(text: str, spans: Spans, cells: Sequence[CellSource], codes: Sequence[str]) -> str:
    """``text`` with the new sources in place, and checked: as data nothing else may differ."""
    literal = _literal(text)
    pieces = []
    done = 0
    expected = spans.data
    for cell, code in zip(cells, codes, strict=True):
        if code == cell.code:
            continue
        new = _lines(cell, code)
        source = _list_text(text, cell, new, literal) if cell.is_list else literal(code, False)
        pieces += [text[done : cell.start], source]
        done = cell.end
        expected["cells"][cell.index]["source"] = new if cell.is_list else code
    result = "".join([*pieces, text[done:]])
    if pieces and json.loads(result) != expected:
        raise ValueError("the notebook's other contents would have changed")
    return result


def _list_text(text: str, cell: CellSource, new: Sequence[str], literal: Any) -> str:
    """Return the JSON text of a source list: unchanged lines keep their very text, and their separators."""
    tokens = cell.tokens
    old = [token.value for token in tokens]
    if not tokens:
        return "[" + ", ".join(literal(line, False) for line in new) + "]"
    head = text[cell.start : tokens[0].start]
    tail = text[tokens[-1].end : cell.end]
    between = text[tokens[0].end : tokens[1].start] if len(tokens) > 1 else "," + head[1:]
    parts: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            parts.append(text[tokens[old_start].start : tokens[old_end - 1].end])
        else:
            escaped = any("\\u" in text[t.start : t.end] for t in tokens[old_start:old_end])
            parts += [literal(line, escaped) for line in new[new_start:new_end]]
    return head + between.join(parts) + tail


def _lines(cell: CellSource, code: str) -> list[str]:
    r"""``code`` as nbformat keeps it: a list of lines with their ``\n``.

    Some editors end the list with an empty string; one that was there stays.
    """
    *rows, last = code.split("\n")
    had_empty = bool(cell.tokens) and not cell.tokens[-1].value
    return [row + "\n" for row in rows] + ([last] if last or had_empty else [])


def _literal(text: str) -> Any:
    """Tell how this notebook writes strings: characters beyond ASCII as they are, or escaped."""
    plain = not text.isascii()

    def literal(value: str, escaped: bool) -> str:
        return json.dumps(value, ensure_ascii=escaped or not plain)

    return literal
