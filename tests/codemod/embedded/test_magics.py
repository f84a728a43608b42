"""IPython's lines in a cell."""

from __future__ import annotations

import pytest

from tdev_core.codemod.embedded import magics

MASKED = [
    "%matplotlib inline",
    "!pip install torch",
    "!!ls",
    "    %time f()",
    "?torch",
    "torch.cuda?",
    "torch??  # what is it",
    "%timeit?",
    "files = !ls *.py",
    "t = %timeit -o f()",
    "a, b = %sx ls",
    "%cd \\\n  somewhere",
]
PYTHON = [
    "x = a % b",
    "x = (a\n% b)",
    "s = '''\n%matplotlib\n!ls\n'''",
    "x = a != b",
    "if x != 1: pass",
    "s = 'a' \\\n  '%s' % b",
    's = "what?"',
    "# really?",
    "x = 1  # why?",
    "f(')', \"(\", '''\n''')\ny = 2",
]


@pytest.mark.parametrize("line", MASKED)
def test_they_are_masked_and_come_back(line: str) -> None:
    opening = "if True:\n" if line.startswith(" ") else ""
    cell = f"y = 2\n{opening}{line}\nx = 1"
    segment = magics.mask(cell)
    assert segment is not None and segment.masks and segment.parses
    assert segment.code.count("\n") == cell.count("\n")
    restored = segment.code
    for name, original in segment.masks.items():
        restored = restored.replace(name, original)
    assert restored == cell


@pytest.mark.parametrize("cell", PYTHON)
def test_python_is_not_mistaken_for_them(cell: str) -> None:
    segment = magics.mask(cell)
    assert segment is not None and segment.code == cell and not segment.masks


@pytest.mark.parametrize("name", ["time", "timeit", "capture", "prun"])
def test_cell_magics_that_run_python_keep_their_line(name: str) -> None:
    segment = magics.mask(f"%%{name} -n 1 out\nx = 1\n")
    assert segment is not None and segment.parses
    assert list(segment.masks.values()) == [f"%%{name} -n 1 out"]


@pytest.mark.parametrize("name", ["bash", "html", "writefile x.py", "R", "cython", "script python"])
def test_other_cell_magics_are_another_language(name: str) -> None:
    assert magics.mask(f"%%{name}\nx = 1\n") is None


def test_an_assignment_keeps_the_name_that_it_binds() -> None:
    segment = magics.mask("torch = !which torch")
    assert segment is not None and segment.code.startswith("torch = ")
