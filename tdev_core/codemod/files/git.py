"""Asks git, and whether what would be rewritten can be taken back."""

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


def ask(
    repository: Path, *arguments: str, check: bool = True
) -> subprocess.CompletedProcess[bytes]:
    """Run git in ``repository`` and return what it printed; it runs no program that the repository names.

    Raises :class:`Unknown` where git is not there and, with ``check``, where it fails.
    """
    return _run(repository, arguments, _running_nothing(repository), check)


def decoded(raw: bytes) -> str:
    """Return a file name, or words about one, as Python has them."""
    return os.fsdecode(raw)


def _status(repository: Path) -> list[tuple[str, Path]]:
    # Not the work trees of submodules: they have configurations of their own, and answer for themselves.
    asked = ["--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"]
    done = ask(repository, "status", "--porcelain=v1", "-z", *asked)
    entries = decoded(done.stdout).split("\0")
    return [(entry[:2], repository / entry[3:]) for entry in entries if entry]


def _running_nothing(repository: Path) -> dict[str, str]:
    """Return settings under which git runs none of the programs that the repository's own configuration names.

    A repository that was unpacked, not cloned, brings its configuration along. ``git status`` runs what that names
    as the monitor of the file system, and the filters through which a changed file is read. Filters that
    the user has set up for all repositories (git-lfs) stay.
    """
    asked = ("config", "--list", "-z", "--name-only", "--show-scope")
    found = decoded(_run(repository, asked, {}, check=False).stdout).split("\0")
    settings = {"core.fsmonitor": "false"}
    for scope, key in zip(found[::2], found[1::2], strict=False):
        if scope in ("local", "worktree") and key.startswith("filter."):
            name = key.rpartition(".")[0]
            settings |= {f"{name}.clean": "", f"{name}.process": "", f"{name}.required": "false"}
    return settings


def _run(
    repository: Path, arguments: Sequence[str], settings: Mapping[str, str], check: bool
) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        # Not -c, which ends a key at its first "=".
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    command = ["git", "--no-optional-locks", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=env
        )
    except OSError as error:
        raise Unknown(f"git cannot be run for {repository}: {error.strerror}") from None
    if check and done.returncode:
        said = decoded(done.stderr).strip()
        raise Unknown(f"git does not answer for {repository}: {said}")
    return done
