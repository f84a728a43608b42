"""How long a project lets its lines be is read where its tools read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tdev_core.codemod.files.line_length import formatters_width, line_length

SAID = {
    "black": ("pyproject.toml", "[tool.black]\nline-length = 100\n", 100),
    "black's own": ("pyproject.toml", "[tool.black]\ntarget-version = ['py310']\n", 88),
    "black, as Python spells it": ("pyproject.toml", "[tool.black]\nline_length = 119\n", 119),
    "ruff": (
        "pyproject.toml",
        "[tool.black]\nline-length = 90\n[tool.ruff]\nline-length = 119\n",
        119,
    ),
    "ruff.toml": ("ruff.toml", "line-length = 110\n", 110),
    "flake8": (".flake8", "[flake8]\nmax-line-length = 80\n", 80),
    "setup.cfg": ("setup.cfg", "[flake8]\nmax-line-length = 127  # as on GitHub\n", 127),
    "pycodestyle": ("tox.ini", "[pycodestyle]\nmax_line_length = 99\n", 99),
    "editorconfig": (".editorconfig", "root = true\n[*]\nmax_line_length = 120\n", 120),
    "editorconfig of others": (".editorconfig", "[*.md]\nmax_line_length = 120\n", 0),
    "no limit": ("pyproject.toml", "[tool.ruff]\nline-length = 10000\n", 0),
    "no TOML": ("pyproject.toml", "[tool.black\n", 0),
    "nothing": ("pyproject.toml", "[project]\nname = 'x'\n", 0),
}


@pytest.mark.parametrize("name", SAID)
def test_said_by_the_project(tmp_path: Path, name: str) -> None:
    file, text, columns = SAID[name]
    (tmp_path / ".git").mkdir()
    (tmp_path / file).write_text(text)
    below = tmp_path / "package" / "inner"
    below.mkdir(parents=True)
    assert line_length(below) == columns


def test_nothing_above_the_repository(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.black]\nline-length = 100\n")
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    assert line_length(tmp_path / "repository") == 0


def test_the_nearest_says_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.black]\nline-length = 100\n")
    below = tmp_path / "below"
    below.mkdir()
    (below / "setup.cfg").write_text("[flake8]\nmax-line-length = 90\n")
    assert line_length(below) == 90


@pytest.mark.parametrize(
    ("widths", "columns"),
    [
        ([88, 85, 60, 70, 82, 40, 50, 86], 88),
        ([79, 75, 60, 70, 72, 40, 50, 79], 0),
        ([88, 95, 60, 120, 82, 40, 50, 86], 0),
        ([88, 85, 82], 0),
    ],
)
def test_a_package_shows_that_a_formatter_was_at_it(
    tmp_path: Path, widths: list[int], columns: int
) -> None:
    inner = tmp_path / "package" / "inner"
    inner.mkdir(parents=True)
    for number, width in enumerate(widths):
        text = f'"""{"x" * 150}"""\n# {"y" * 150}\n{"z" * width}\n'
        (inner / f"m{number}.py").write_text(text)
    (inner / "__init__.py").touch()
    (inner.parent / "__init__.py").touch()
    assert formatters_width(inner) == formatters_width(inner.parent) == columns


def test_a_folder_that_is_no_package_is_not_searched(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    for number in range(8):
        (inner / f"m{number}.py").write_text(f"{'z' * 88}\n")
    assert (formatters_width(inner), formatters_width(tmp_path)) == (88, 0)


def test_what_is_no_file_or_not_its_own_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "_vendor").mkdir()
    (tmp_path / "__init__.py").touch()
    for number in range(12):
        (tmp_path / "_vendor" / f"m{number}.py").write_text(f"{'z' * 88}\n")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.py")
    assert formatters_width(tmp_path) == 0


def test_where_a_package_lies_does_not_count(tmp_path: Path) -> None:
    package = tmp_path / "vendor" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for number in range(8):
        (package / f"m{number}.py").write_text(f"{'z' * 88}\n")
    assert formatters_width(package) == 88
