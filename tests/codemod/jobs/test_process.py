"""One file's bytes to its outcome, with an engine that is right and with one that is not."""

from __future__ import annotations

import re

import pytest

from tdev_core.codemod.engine import Names, Options
from tdev_core.codemod.jobs.process import Job, process
from tdev_core.codemod.model import Change, Kind, Outcome, Place, Status, moved
from tests.codemod import small_engine
from tests.codemod.conftest import AFTER, BEFORE

NAMES = Names(frozenset(), {}, {}, frozenset(), {}, frozenset())


def outcome(raw: bytes, kind: Kind = Kind.PYTHON) -> Outcome:
    return process(Job("file.py", kind, raw, Options()), small_engine, NAMES)


@pytest.mark.parametrize(
    ("raw", "new"),
    [
        (BEFORE, AFTER),
        (BEFORE.replace(b"\n", b"\r\n"), AFTER.replace(b"\n", b"\r\n")),
        (b"\xef\xbb\xbf" + BEFORE, b"\xef\xbb\xbf" + AFTER),
        (b"if x:\r\n\ttorch.cuda.synchronize()\n", b"if x:\r\n\ttdev.cuda.synchronize()\n"),
        (b"torch.cuda.synchronize()", b"tdev.cuda.synchronize()"),
        (
            "# coding: latin-1\ntorch.cuda.synchronize()  # für\r\n".encode("latin-1"),
            "# coding: latin-1\ntdev.cuda.synchronize()  # für\r\n".encode("latin-1"),
        ),
        (
            b"x = 1\x0c\ntorch.cuda.synchronize()\x20\t\n",
            b"x = 1\x0c\ntdev.cuda.synchronize()\x20\t\n",
        ),
    ],
    ids=["plain", "CRLF", "BOM", "mixed newlines and tabs", "no end", "latin-1", "form feed"],
)
def test_only_the_edits_change_bytes(raw: bytes, new: bytes) -> None:
    found = outcome(raw)
    assert (found.status, found.new) == (Status.CHANGED, new)
    assert outcome(new).status is Status.UNCHANGED


def test_edits_and_findings_become_records() -> None:
    found = outcome(b"import cupy, torch\ntorch.cuda.synchronize()\n")
    [change] = found.changes
    assert (change.rule, str(change.place), change.message) == (
        "calls",
        "2:1",
        "`torch.cuda.synchronize` becomes `tdev.cuda.synchronize`",
    )
    [remark] = found.remarks
    assert (str(remark.place), remark.severity, remark.name) == ("1:8", "error", "cupy")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"torch CRASH", "asked to crash.*report it"),
        (b"LIE = 1\n", "do not account for every difference"),
        (b"BREAK = 1\n", "would not parse"),
        (
            b"import torch\nprint 'x'\n",
            "not Python 3 .line 2, column 1: Missing parentheses in call to 'print'",
        ),
        (b"import torch\nx = '\xff'\n", "left alone: "),
        (b"import torch\n\0", "null bytes"),
    ],
)
def test_what_goes_wrong_is_an_error_and_changes_nothing(raw: bytes, said: str) -> None:
    found = outcome(raw)
    assert found.status is Status.ERROR and found.new is None
    assert re.search(said, found.message), found.message


def test_a_long_change_is_told_in_one_line() -> None:
    place = Place(1, 1, 1, 1)
    told = Change("r", place, "a(\n    b)", "x" * 200).message
    assert told.startswith("`a( b)` becomes `xxx") and told.endswith("...`") and "\n" not in told
    assert Change("r", place, "", "import tdev\n").message == "add `import tdev`"
    assert Change("r", place, "import torch", "").message == "remove `import torch`"


def test_an_outcome_cannot_be_unchanged_and_have_bytes() -> None:
    with pytest.raises(ValueError):
        Outcome(Status.UNCHANGED, new=b"")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([Change("r", Place(1, 5, 1, 5), "", "\nimport tdev")], (4, 8)),
        ([Change("r", Place(3, 1, 3, 6), "torch", "tdev")], (3, 7)),
        (
            [Change("r", Place(3, 1, 3, 2), "a", "bcd"), Change("r", Place(3, 5, 3, 6), "a", "")],
            (3, 9),
        ),
        (
            [Change("r", Place(3, 9, 3, 10), "a", "bcd"), Change("r", Place(4, 1, 4, 2), "a", "")],
            (3, 8),
        ),
        ([Change("r", Place(1, 1, 2, 3), "a\nbc", "d")], (2, 8)),
        ([Change("r", Place(3, 3, 3, 4), "x", "y\nzz")], (4, 7)),
        ([Change("r", Place(1, 1, 1, 1, cell=2), "", "\n")], (3, 8)),
    ],
)
def test_remarks_move_with_the_lines_that_changes_move(
    changes: list[Change], expected: tuple[int, int]
) -> None:
    place = moved(Place(3, 8, 3, 8), changes)
    assert (place.line, place.column) == expected
