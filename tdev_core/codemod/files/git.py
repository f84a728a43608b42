"""Asks git whether what would be rewritten can be taken back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
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
    # Not the work trees of submodules: they have configurations of their own, and answer for themselves.
    asked = ["--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"]
    said = _git(
        repository, "status", "--porcelain=v1", "-z", *asked, settings=_running_nothing(repository)
    )
    entries = said.split("\0")
    return [(entry[:2], repository / entry[3:]) for entry in entries if entry]


def _running_nothing(repository: Path) -> dict[str, str]:
    """Return settings under which git runs none of the programs that the repository's own configuration names.

    A repository that was unpacked, not cloned, brings its configuration along. ``git status`` runs what that names
    as the monitor of the file system, and the filters through which a changed file is read. Filters that
    the user has set up for all repositories (git-lfs) stay.
    """
    found = _git(
        repository, "config", "--list", "-z", "--name-only", "--show-scope", settings={}
    ).split("\0")
    settings = {"core.fsmonitor": "false"}
    for scope, key in zip(found[::2], found[1::2], strict=False):
        if scope in ("local", "worktree") and key.startswith("filter."):
            name = key.rpartition(".")[0]
            settings |= {f"{name}.clean": "", f"{name}.process": "", f"{name}.required": "false"}
    return settings


def _git(repository: Path, command: str, *arguments: str, settings: Mapping[str, str]) -> str:
    """Return what a command of git's says, under ``settings``; raises :class:`Unknown` where it fails."""
    env = {**os.environ, "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(
        settings.items()
    ):  # not -c, which ends a key at its first "="
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    words = ["git", "--no-optional-locks", "-C", str(repository), command, *arguments]
    try:
        done = subprocess.run(words, capture_output=True, check=False, env=env)
    except OSError as error:
        raise Unknown(f"git cannot be run for {repository}: {error.strerror}") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip()
        raise Unknown(f"git does not answer for {repository}: {said}")
    return os.fsdecode(done.stdout)
