"""Writes unified diffs that ``git apply`` and ``patch -p1`` take, byte for byte."""

from __future__ import annotations

import difflib
import os

_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def unified(path: str, old: bytes, new: bytes) -> bytes:
    """Return the diff of one file, in the file's own encoding and with its own newlines."""
    name = os.fsencode(path.replace(os.sep, "/").lstrip("/"))
    # As git does: a tab ends a name with spaces, which else would end at the first one.
    end = b"\t" if b" " in name else b""
    rows = difflib.diff_bytes(
        difflib.unified_diff, _rows(old), _rows(new), b"a/" + name + end, b"b/" + name + end
    )
    return b"".join(row if row.endswith(b"\n") else row + _NO_NEWLINE for row in rows)


def _rows(raw: bytes) -> list[bytes]:
    rows = raw.split(b"\n")
    return [row + b"\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])
