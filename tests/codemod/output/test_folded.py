"""Much that is found becomes a screen that says what to do next; all of it is a flag away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tdev_core.codemod.output.folded import LISTED, Group
from tests.codemod.conftest import BEFORE, Ran

Codemod = Callable[..., Ran]
FILES = 60


@pytest.fixture
def large(place: Path) -> Path:
    """A tree with changes, errors and notes, most of them in one file."""
    (place / "most.py").write_bytes(BEFORE + b"import cupy  # hint\n" * 9)
    for index in range(FILES):
        (place / f"f{index:02}.py").write_bytes(BEFORE + b"import cupy\n")
    return place


def test_a_large_tree_is_a_screen(large: Path, codemod: Codemod) -> None:
    ran = codemod("--check", ".")
    assert ran.status == 1
    assert ran.out.splitlines() == [
        "To rewrite (the codemod does it): 122 places in 61 files",
        "      61  calls: calls, 61 files",
        "          f00.py:3, f01.py:3, f02.py:3, and 58 more files",
        "      61  imports: imports, 61 files",
        "          f00.py:1, f01.py:1, f02.py:1, and 58 more files",
        "CUDA only: to be replaced or guarded: 69 places in 61 files",
        "      69  cupy: only CUDA has it, 61 files",
        "          most.py:4 (9), f00.py:4, f01.py:4, and 58 more files",
        "Left as it is on purpose: 9 places in 1 file",
        "       9  hint: left alone on purpose, 1 file",
        "          most.py:4 (9)",
        "Next:",
        "  python -m tdev.codemod --diff .  shows the rewrite; without --diff it is made",
        "  python -m tdev.codemod --explain cupy  says what a rule is about and what to do",
        "  --verbose  lists all 200; --report markdown is for a pull request",
    ]
    assert ran.err.splitlines() == ["61 files would be rewritten."]


@pytest.mark.parametrize(("folder", "named"), [(18, 3), (30, 2), (90, 1), (150, 1)])
def test_a_path_is_never_cut_and_the_others_are_counted(folder: int, named: int) -> None:
    group = Group()
    paths = [f"{'d' * folder}/{index}.py" for index in range(9)]
    for path in paths:
        group.files[path] += 1
        group.first[path] = "1"
    shown = [f"{path}:1" for path in paths[:named]]
    assert group.where(100) == [*shown, f"and {9 - named} more files"]
    assert len(group.where()) == 4


def test_verbose_lists_all(large: Path, codemod: Codemod) -> None:
    ran = codemod("--check", "--verbose", ".")
    assert len(ran.out.splitlines()) == 200 and "cupy" in ran.err.splitlines()[3]
    assert codemod("--check", "--format", "github", ".").out.count("\n::") == 199


def test_as_many_as_fit_are_listed(place: Path, codemod: Codemod) -> None:
    (place / "a.py").write_bytes(b"# torch\n" + b"import cupy\n" * LISTED)
    ran = codemod("--check", ".")
    assert len(ran.out.splitlines()) == LISTED and "a.py:2:8 cupy" in ran.out


def test_after_a_rewrite_what_is_left_is_folded(large: Path, codemod: Codemod) -> None:
    ran = codemod(".")
    assert ran.status == 1 and "--diff" not in ran.out
    assert ran.out.startswith("CUDA only: to be replaced or guarded: 69 places in 61 files\n")
    assert "most.py:5 (9)" in ran.out  # in the file as it is now


def test_the_report_for_a_pull_request_stays_short(large: Path, codemod: Codemod) -> None:
    ran = codemod("--check", "--report", "markdown", ".")
    assert len(ran.out.splitlines()) < 40
    assert "## CUDA only: to be replaced or guarded: 69 places in 61 files" in ran.out
    assert "| 69 | 61 | `cupy` | only CUDA has it | most.py:4 (9), f00.py:4" in ran.out
    assert len(codemod("--check", "-v", "--report", "markdown", ".").out.splitlines()) > 200
