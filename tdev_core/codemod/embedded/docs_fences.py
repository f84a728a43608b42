"""Rewrites Python in Markdown and reStructuredText: fences, ``code-block`` directives and doctests.

A document's blocks are read in order. One that imports torch itself stands for itself; one that does
not goes on where the block before it stopped, as examples do. Blocks that are no Python by themselves
are left alone. Expected output of a doctest is never touched.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tdev_core.codemod.embedded.segments import Rewrite, Segment, rewrite_together
from tdev_core.codemod.model import Change, Outcome, Place, Remark, Status
from tdev_core.codemod.records import change, remark
from tdev_core.codemod.text import decode_utf8, lines

_FENCE = re.compile(r"(?P<indent>[ \t]*(?:>[ ]?)*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\r\n]*)")
_DIRECTIVE = re.compile(
    r"(?P<indent>[ \t]*)\.\.[ ]+(?:(?:code-block|code|sourcecode)::[ \t]*(?P<info>\w+)|testcode::)"
)
_PROMPT = re.compile(r"(?P<indent>[ \t>]*?)>>>(?:[ ](?P<code>.*))?$")
_IMPORTS_TORCH = re.compile(r"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
_PYTHON = frozenset({"py", "py3", "pycon", "python", "python3", "pyi"})


@dataclass(frozen=True)
class _Piece:
    """Lines ``first`` (from 0) and on: their code, and the prefix that each had before it."""

    first: int
    code: tuple[str, ...]
    prefixes: tuple[str, ...]
    doctest: bool

    @property
    def text(self) -> str:
        return "\n".join(self.code)


_Block = list[_Piece]


def rewrite_document(raw: bytes, rewrite: Rewrite) -> Outcome:
    """Rewrite the Python in the document ``raw``; raises ``Unreadable``."""
    text = decode_utf8(raw)
    rows = lines(text.code)
    changes: list[Change] = []
    remarks: list[Remark] = []
    replaced: list[tuple[_Piece, str]] = []
    for group in _groups(list(_blocks(rows))):
        pieces = [piece for piece in group if Segment(piece.text).parses]
        if not pieces:
            continue
        done = rewrite_together([Segment(piece.text) for piece in pieces], rewrite)
        for index, edit in done.edits:
            made = change(edit, lines(pieces[index].text))
            changes.append(_moved(made, pieces[index]))
        for index, finding in done.findings:
            found = remark(finding, lines(pieces[index].text))
            remarks.append(replace(found, place=_place(found.place, pieces[index])))
        for piece, code in zip(pieces, done.codes, strict=True):
            if code != piece.text:
                replaced.append((piece, code))
    new = list(rows)
    for piece, code in sorted(replaced, key=lambda item: -item[0].first):
        new[piece.first : piece.first + len(piece.code)] = _put_back(piece, code, rows)
    result = "".join(new)
    if result == text.code:
        return Outcome(Status.UNCHANGED, remarks=tuple(remarks))
    return Outcome(
        Status.CHANGED, new=text.encode(result), changes=tuple(changes), remarks=tuple(remarks)
    )


def _blocks(rows: Sequence[str]) -> Iterator[_Block]:
    at = 0
    while at < len(rows):
        row = rows[at].rstrip("\r\n")
        fence = _FENCE.match(row)
        directive = _DIRECTIVE.match(row)
        if fence and fence.end() == len(row):
            end = _fence_end(rows, at, fence)
            if _is_python(fence["info"]):
                yield _block(rows, at + 1, end, fence["indent"])
            at = end + 1
        elif directive and (directive["info"] or "python").lower() in _PYTHON:
            start, end, indent = _indented(rows, at + 1, directive["indent"])
            yield _block(rows, start, end, indent)
            at = max(end, at + 1)
        elif _PROMPT.match(row):
            end = at
            while end < len(rows) and rows[end].strip():
                end += 1
            yield list(_examples(rows, at, end))
            at = end
        else:
            at += 1


def _groups(blocks: Sequence[_Block]) -> list[list[_Piece]]:
    """Blocks that go together, the pieces of each group in order."""
    groups: list[list[_Piece]] = []
    for block in blocks:
        if not groups or any(_IMPORTS_TORCH.search(piece.text) for piece in block):
            groups.append([])
        groups[-1] += block
    return groups


def _is_python(info: str) -> bool:
    words = re.findall(r"[\w-]+", info.lower())
    if words[:1] in (["code-block"], ["code"], ["code-cell"]):
        words = words[1:]
    return bool(words) and words[0] in _PYTHON | {"ipython3"}


def _fence_end(rows: Sequence[str], at: int, fence: re.Match[str]) -> int:
    close = re.compile(rf"[ \t>]*{re.escape(fence['fence'][0])}{{{len(fence['fence'])},}}[ \t]*$")
    for end in range(at + 1, len(rows)):
        if close.match(rows[end].rstrip("\r\n")):
            return end
    return len(rows)


def _indented(rows: Sequence[str], at: int, outer: str) -> tuple[int, int, str]:
    """Start, end and indentation of a directive's body, its options left out."""
    while at < len(rows) and (not rows[at].strip() or re.match(r"\s+:[\w-]+:", rows[at])):
        at += 1
    indent = re.match(r"[ \t]*", rows[at]).group() if at < len(rows) else ""  # type: ignore[union-attr]
    end = at
    if len(indent) > len(outer):
        while end < len(rows) and (not rows[end].strip() or rows[end].startswith(indent)):
            end += 1
    while end > at and not rows[end - 1].strip():
        end -= 1
    return at, end, indent


def _block(rows: Sequence[str], start: int, end: int, indent: str) -> _Block:
    if any(_PROMPT.match(row.rstrip("\r\n")) for row in rows[start:end]):
        return list(_examples(rows, start, end))
    prefixes, code = [], []
    for row in rows[start:end]:
        body = row.rstrip("\r\n")
        prefix = indent if body.startswith(indent) else body[: len(body) - len(body.lstrip())]
        prefixes.append(prefix)
        code.append(body[len(prefix) :])
    return [_Piece(start, tuple(code), tuple(prefixes), False)]


def _examples(rows: Sequence[str], start: int, end: int) -> Iterator[_Piece]:
    at = start
    while at < end:
        prompt = _PROMPT.match(rows[at].rstrip("\r\n"))
        first = at
        at += 1
        if prompt is None:
            continue
        code, prefixes = [prompt["code"] or ""], [prompt["indent"] + ">>> "]
        more = prompt["indent"] + "..."
        while at < end and rows[at].rstrip("\r\n").startswith(more):
            rest = rows[at].rstrip("\r\n")[len(more) :]
            code.append(rest[1:])
            prefixes.append(more + " ")
            at += 1
        yield _Piece(first, tuple(code), tuple(prefixes), True)


def _put_back(piece: _Piece, code: str, rows: Sequence[str]) -> list[str]:
    """Return the document's lines for a rewritten piece; lines that did not change keep their bytes."""
    old, new = list(piece.code), code.split("\n")
    new = [line.rstrip("\r") for line in new]
    first = rows[piece.first]
    newline = first[len(first.rstrip("\r\n")) :] or "\n"
    starts = {node.lineno for node in ast.parse(code).body} if piece.doctest else set()
    outer = piece.prefixes[0].removesuffix(">>> ")
    result: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            result += rows[piece.first + old_start : piece.first + old_end]
            continue
        for index in range(new_start, new_end):
            if piece.doctest:
                prefix = outer + (">>> " if index + 1 in starts else "... ")
            else:
                prefix = piece.prefixes[0] if new[index] else piece.prefixes[0].rstrip()
            result.append(prefix + new[index] + newline)
    last = rows[piece.first + len(piece.code) - 1]
    if not last.endswith(("\n", "\r")):  # the document ends here, without a newline
        result[-1] = result[-1].rstrip("\r\n")
    elif not result[-1].endswith(("\n", "\r")):
        result[-1] += newline
    return result


def _moved(item: Change, piece: _Piece) -> Change:
    return replace(item, place=_place(item.place, piece))


def _place(place: Place, piece: _Piece) -> Place:
    """Return a place in the piece's code as one in the document."""

    def column(line: int, column: int) -> int:
        return column + len(piece.prefixes[min(line, len(piece.prefixes)) - 1])

    return Place(
        place.line + piece.first,
        column(place.line, place.column),
        place.end_line + piece.first,
        column(place.end_line, place.end_column),
    )
