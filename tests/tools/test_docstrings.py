"""Docstrings of the sources start with what a thing does or is, not with a question word."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("tdev_core", "generator", "tools", "benchmarks", "generated/tdev")
QUESTIONS = frozenset({"How", "What", "When", "Where", "Whether", "Which", "Why"})


def _questions(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the first word of each docstring that asks; a property that is true or false says ``Whether``."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(decorator_list=[*decorators]):
                value = any("property" in ast.unparse(one) for one in decorators)
            case ast.Module() | ast.ClassDef() | ast.AsyncFunctionDef():
                value = False
            case _:
                continue
        word = (ast.get_docstring(node) or "").partition(" ")[0]
        if word in QUESTIONS and not (value and word == "Whether"):
            yield node.body[0].lineno, word


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_starts_with_a_question(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = [
        f"{file.relative_to(ROOT)}:{line}: {word} …"
        for file in files
        for line, word in _questions(file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_a_question_is_found() -> None:
    source = 'class A:\n    """What it is."""\n    @property\n    def b(self):\n        """Whether it is."""\n'
    assert list(_questions(source)) == [(2, "What")]
