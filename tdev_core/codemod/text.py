"""Turns bytes into text and back without losing one of them, and edits applied by position."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from tdev_core.codemod.engine import Edit
from tdev_core.codemod.errors import Unreadable

_BOM = b"\xef\xbb\xbf"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_GENERATED_LINES = 10


@dataclass(frozen=True)
class Text:
    """The text of a file, with what is needed to turn another text into the same kind of bytes."""

    code: str
    encoding: str
    bom: bytes

    def encode(self, code: str) -> bytes:
        """``code`` as this file's bytes: its encoding, its byte order mark, newlines as they are."""
        try:
            return self.bom + code.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise Unreadable(f"the result cannot be written as {self.encoding}: {error}") from None


def decode_python(raw: bytes) -> Text:
    """Decode Python source as PEP 263 says: a byte order mark, else the coding comment, else UTF-8.

    Raises :class:`Unreadable` for an unknown encoding, bytes that the encoding does not have, null
    bytes, and bytes that would not come back the same.
    """
    if b"\0" in raw:
        raise Unreadable("it contains null bytes, which no Python source may")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    except SyntaxError as error:
        raise Unreadable(f"{error.msg}; say the encoding in a coding comment (PEP 263)") from None
    return _decode(raw, "utf-8" if encoding == "utf-8-sig" else encoding)


def decode_utf8(raw: bytes) -> Text:
    """Decode a file that is UTF-8 by its format (notebooks, Markdown, reStructuredText)."""
    return _decode(raw, "utf-8")


def _decode(raw: bytes, encoding: str) -> Text:
    bom = _BOM if raw.startswith(_BOM) else b""
    try:
        text = Text(raw[len(bom) :].decode(encoding), encoding, bom)
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not {encoding}: {error.reason} at byte {error.start}") from None
    except LookupError:
        raise Unreadable(f"unknown encoding {encoding!r}") from None
    if text.encode(text.code) != raw:
        raise Unreadable(f"its bytes do not survive being read and written as {encoding}")
    return text


def lines(code: str) -> list[str]:
    r"""Return the lines of ``code`` with their ends, split at ``\n``, ``\r\n`` and ``\r`` only.

    ``str.splitlines`` also splits at form feeds and Unicode separators, which Python does not.
    """
    return _LINE.findall(code)


class Offsets:
    """The starts of the lines of a text, to turn a line and a column (both from 1) into an offset."""

    def __init__(self, code: str) -> None:
        self._starts = [0]
        for line in lines(code):
            self._starts.append(self._starts[-1] + len(line))

    def __call__(self, line: int, column: int) -> int:
        """Return the offset of a position; raises :class:`IndexError` for a line the text does not have."""
        if line < 1:
            raise IndexError(line)
        return self._starts[line - 1] + column - 1


def apply_edits(code: str, edits: Iterable[Edit]) -> str:
    """``code`` with every edit applied, all of them meant for the same text.

    Raises ``ValueError`` when two overlap or one does not find its ``before`` where it says.
    """
    offset = Offsets(code)
    pieces = []
    done = 0
    for edit in sorted(edits, key=lambda e: (e.line, e.column, e.end_line, e.end_column)):
        start, end = offset(edit.line, edit.column), offset(edit.end_line, edit.end_column)
        if start < done:
            raise ValueError(f"overlapping edits at line {edit.line}")
        if code[start:end] != edit.before:
            raise ValueError(f"line {edit.line} does not hold {edit.before!r}")
        pieces += [code[done:start], edit.after]
        done = end
    return "".join([*pieces, code[done:]])


def is_generated(raw: bytes) -> bool:
    """Tell whether the first lines carry the ``@generated`` mark of a file that a program wrote."""
    return b"@generated" in b"\n".join(raw[:4096].splitlines()[:_GENERATED_LINES])
