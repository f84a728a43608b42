"""The engine over real files: the sources of the installed torch.

A fixed sample by default; ``TDEV_FUZZ_FILES=2000`` widens it to that many files (the fuzz session),
in every style. Each result has to parse, to be stable, and to differ from the source in its edits
alone.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import itertools
import os
import re
import warnings
from pathlib import Path

import pytest

from tdev_core.codemod.engine import STYLES, Names, Options, Style, may_concern, rewrite

NAMES = Names.load()
COUNT = int(os.environ.get("TDEV_FUZZ_FILES", "12"))
_SPEAKS = re.compile(rb"torch\.cuda\.|device=|\"cuda\"")
LARGEST = 60_000 if COUNT <= 12 else 2_000_000


def _sample() -> list[Path]:
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return []
    root = Path(found.origin).parent
    files = [p for p in root.rglob("*.py") if p.stat().st_size < LARGEST]
    # An order that does not follow the folders, and is the same everywhere.
    files.sort(key=lambda p: hashlib.sha256(str(p.relative_to(root)).encode()).digest())
    # Files that speak of devices first, then others: torch has some six hundred of the former.
    others = [p for p in files if not _SPEAKS.search(p.read_bytes())] if COUNT > 12 else []
    speaking = (p for p in files if _SPEAKS.search(p.read_bytes()))
    return list(itertools.islice(itertools.chain(speaking, others), COUNT))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("path", _sample(), ids=lambda p: "/".join(p.parts[-3:]))
def test_real_file(path: Path, style: Style) -> None:
    raw = path.read_bytes()
    source = raw.decode("utf-8")
    options = Options(style=style)
    result = rewrite(source, NAMES, options, filename=path.name)
    if result.code != source:
        assert may_concern(raw)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(result.code)
        assert rewrite(result.code, NAMES, options, filename=path.name).code == result.code
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n|\Z)", source)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    pieces, at = [], 0
    for edit in result.edits:
        start = starts[edit.line - 1] + edit.column - 1
        pieces += [source[at:start], edit.after]
        at = start + len(edit.before)
        assert source[start:at] == edit.before
    assert "".join([*pieces, source[at:]]) == result.code


def test_there_is_something_to_read() -> None:
    assert len(_sample()) == COUNT
