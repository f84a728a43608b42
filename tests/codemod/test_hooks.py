"""The hooks for pre-commit: what they run is a command line that there is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codemod.conftest import AFTER, BEFORE, Ran

HOOKS = Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml"


def entry(name: str) -> list[str]:
    """The command of one hook (the file is read as text: nothing else here needs YAML)."""
    blocks = re.split(r"^- ", HOOKS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    [block] = [block for block in blocks if block.startswith(f"id: {name}\n")]
    [command] = re.findall(r"^  entry: (.*)$", block, flags=re.MULTILINE)
    return str(command).split()


@pytest.mark.parametrize(
    ("name", "status", "then"), [("tdev-codemod", 0, AFTER), ("tdev-check", 1, BEFORE)]
)
def test_a_hook_runs_on_staged_files(
    place: Path,
    codemod: Callable[..., Ran],
    git: Callable[..., None],
    name: str,
    status: int,
    then: bytes,
) -> None:
    (place / "a b.py").write_bytes(BEFORE)
    (place / "c.py").write_bytes(b"x = 1\n")
    git("init", "-q")
    git("add", ".")
    program, *arguments = entry(name)
    assert program == "tdev-codemod"
    assert codemod(*arguments, "a b.py", "c.py").status == status
    assert (place / "a b.py").read_bytes() == then
    assert codemod(*arguments, "c.py").status == 0
