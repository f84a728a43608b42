"""Emitted files as ruff formats them: all at one call, which takes less than a second."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from generator.errors import GenerationError

__all__ = ["formatted"]

# As [tool.ruff] in pyproject.toml has it, which is not found from where the files are formatted.
_RUFF = ("format", "--isolated", "--no-cache", "--line-length", "100", "--target-version", "py310")
_UNPARSED = re.compile(r"Failed to parse (?P<path>.+?):(?P<line>\d+):\d+: (?P<what>.+)")
# A checker looks for the comment on the first line of a statement. ruff would break this one, and put it on the last.
_LONG_IGNORED = re.compile(r"^(.{101,}  # type: ignore\[.*\])$", re.MULTILINE)


def formatted(files: Mapping[str, str]) -> dict[str, str]:
    """Return ``files``, texts by path, with those that are Python formatted.

    Raises:
        GenerationError: one is no Python, or ruff cannot be run.
    """
    python = {path: text for path, text in files.items() if path.endswith((".py", ".pyi"))}
    with tempfile.TemporaryDirectory(prefix="tdev-generator-") as name:
        root = Path(name)
        for path, text in python.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_LONG_IGNORED.sub(r"\1  # fmt: skip", text).encode())
        _format(root)
        return {**files, **{path: (root / path).read_bytes().decode() for path in python}}


def _format(root: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", *_RUFF, "."], cwd=root, capture_output=True, text=True
    )
    if ran.returncode == 0:
        return
    found = _UNPARSED.search(ran.stderr)
    if found is not None:
        path = Path(found["path"]).as_posix()
        raise GenerationError(
            f"the templates emit invalid Python for {path}, line {found['line']}: {found['what']}."
        )
    raise GenerationError(
        f"the emitted files cannot be formatted, nothing was written. ruff said: {ran.stderr.strip()}"
    )
