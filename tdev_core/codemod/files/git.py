"""Asks git whether what would be rewritten can be taken back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from tdev_core.codemod.files.ignore import repository_root

_UNTRACKED = "??"


class Unknown(Exception):
    """git is not installed or does not answer for a repository; the message says which and why."""


def uncommitted(files: Iterable[Path], roots: Sequence[Path]) -> list[str]:
    """Paths with uncommitted changes that a rewrite of ``files`` would be mixed up with.

    These are tracked files changed anywhere below ``roots`` (the paths that were given) and
    untracked ones among ``files``: an overwritten file that git never saw is gone. Files outside
    every repository are nobody's concern here.

    Raises :class:`Unknown` where git cannot tell.
    """
    wanted = set(files)
    repositories: dict[Path, Path | None] = {}
    for path in wanted:
        if path.parent not in repositories:
            repositories[path.parent] = repository_root(path.parent)
    found = []
    for repository in sorted({root for root in repositories.values() if root is not None}):
        for state, path in _status(repository):
            below = any(root == path or root in path.parents for root in roots)
            if path in wanted or (below and state != _UNTRACKED):
                found.append(os.path.relpath(path))
    return found


def _status(repository: Path) -> list[tuple[str, Path]]:
    command = [
        "git",
        "--no-optional-locks",
        "-C",
        str(repository),
        "status",
        "--porcelain=v1",
        "-z",
    ]
    try:
        done = subprocess.run(
            [*command, "--untracked-files=all", "--no-renames"], capture_output=True, check=False
        )
    except OSError as error:
        raise Unknown(f"git cannot be run for {repository}: {error.strerror}") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip()
        raise Unknown(f"git does not answer for {repository}: {said}")
    entries = os.fsdecode(done.stdout).split("\0")
    return [(entry[:2], repository / entry[3:]) for entry in entries if entry]
