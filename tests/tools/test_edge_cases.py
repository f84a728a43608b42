"""``tests/edge_cases.toml`` names tests that are there."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TESTS = Path(__file__).resolve().parents[1]
TABLE = tomllib.loads((TESTS / "edge_cases.toml").read_text(encoding="utf-8"))
LINES = [
    pytest.param(tests, id=f"{section}: {line}")
    for section, lines in TABLE.items()
    for line, tests in lines.items()
]


def found(path: str) -> set[str]:
    """Test functions in the files that ``path`` names."""
    tree = [ast.parse(file.read_text(encoding="utf-8")) for file in TESTS.glob(path)]
    return {
        node.name
        for module in tree
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


@pytest.mark.parametrize("tests", LINES)
def test_the_tests_of_an_edge_case_are_there(tests: list[str]) -> None:
    assert tests
    for test in tests:
        path, _, name = test.partition("::")
        there = found(path if path.endswith(".py") else f"{path}.py")
        assert there, f"{path} has no tests"
        assert name in (*there, "*", ""), f"{path} has no {name}"
