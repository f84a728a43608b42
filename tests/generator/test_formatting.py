"""Emitted files are formatted as the project's own are; what cannot be is told by its name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from generator import paths
from generator.errors import GenerationError
from generator.render.formatting import formatted

LONG = "a" * 60
IGNORED = f"from torch import {LONG} as {LONG}  # type: ignore[attr-defined]\n"


def test_python_is_formatted_and_nothing_else() -> None:
    text = "x = ( 'é')\n"
    files = {"a/b.py": text, "a/b.pyi": "def f(): ...\n\n\n\ndef g(): ...\n", "a.json": text}
    assert formatted(files) == {
        "a/b.py": 'x = "é"\n',
        "a/b.pyi": "def f(): ...\ndef g(): ...\n",
        "a.json": text,
    }


def test_the_settings_are_those_of_the_project(tmp_path: Path) -> None:
    """By lines of 99 to 101 characters, a form that is new in Python 3.11, and one that ruff leaves as it is."""
    texts = [f"f({'b' * length}, c)\n" for length in (94, 95, 96)]
    texts.append(f"with open('{'d' * 50}') as e, open('{'d' * 50}') as f:\n    pass\n")
    texts.append("from a import b, c\n")
    (tmp_path / "x.py").write_text("".join(texts), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--config", paths.ROOT / "pyproject.toml", "x.py"],
        cwd=tmp_path,
        check=True,
    )
    made = formatted({"x.py": "".join(texts)})["x.py"]
    assert made == (tmp_path / "x.py").read_text(encoding="utf-8") != "".join(texts)


def test_a_comment_for_checkers_stays_on_the_first_line_of_its_statement() -> None:
    (line,) = formatted({"x.pyi": IGNORED})["x.pyi"].splitlines()
    assert line.startswith(IGNORED.rstrip())
    assert "(\n" in formatted({"x.pyi": IGNORED.partition("  #")[0] + "\n"})["x.pyi"]


def test_what_is_no_python_is_told_by_file_and_line() -> None:
    with pytest.raises(GenerationError, match=r"invalid Python for a/7\.py, line 2: .+\."):
        formatted({"a/6.py": "x = 1\n", "a/7.py": "y = 1\nx = )\n"})


def test_without_ruff_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ruff.py").write_text("raise SystemExit('no ruff here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(GenerationError, match="nothing was written. ruff said: no ruff here"):
        formatted({"x.py": "x = 1\n"})
