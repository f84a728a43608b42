"""Asks git which lines of which files were added since a ref, in the work tree as it is now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tdev_core.codemod.errors import UsageError
from tdev_core.codemod.files import git
from tdev_core.codemod.files.ignore import repository_root

Lines = frozenset[int] | None
"""Numbers of lines, from 1; None: every line, because the whole file is new."""

_HUNK = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_SECTION = re.compile(rb"^diff --git ", re.MULTILINE)
# What the user's own settings may not change, for both lists of files to come out the same.
_DIFF: tuple[str, ...] = (
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--submodule=short",
)
_DIFF += ("--diff-filter=d", "--find-renames", "--unified=0", "--inter-hunk-context=0")


def added(files: Iterable[Path], ref: str) -> Mapping[Path, Lines]:
    """Return the files that have lines which were added since ``ref``, with those lines.

    ``ref`` is compared where it parted from HEAD (its merge base), so that what happened on it since is
    nobody's addition here. A renamed file has the lines alone that changed; an untracked one all.

    Raises :class:`UsageError` for a file outside every repository, a ref that is not there, a clone too
    shallow to hold the merge base, and where git is missing or does not answer.
    """
    wanted = set(files)
    repositories: dict[Path, Path | None] = {}
    for path in wanted:
        if path.parent not in repositories:
            repositories[path.parent] = repository_root(path.parent)
        if repositories[path.parent] is None:
            raise UsageError(
                f"--since {ref}: {path} lies in no git repository; without git, use --baseline"
            )
    found: dict[Path, Lines] = {}
    for repository in sorted({root for root in repositories.values() if root is not None}):
        try:
            lines = _added_in(repository, ref)
        except git.Unknown as error:
            raise UsageError(f"--since {ref}: {error}; without git, use --baseline") from None
        found.update((path, lines[path]) for path in wanted & lines.keys())
    return found


def _added_in(repository: Path, ref: str) -> dict[Path, Lines]:
    base = _base(repository, ref)
    names = _names(git.ask(repository, *_DIFF, "--name-only", "-z", base, "--").stdout)
    patch = git.ask(repository, *_DIFF, base, "--").stdout
    # Sections come in the order of the names. A line of a file never starts one: it has a sign before it.
    sections = _SECTION.split(patch)[1:]
    if len(sections) != len(names):
        raise UsageError(
            f"--since {ref}: {repository} is in the middle of a merge; finish it first"
        )
    found: dict[Path, Lines] = {}
    for name, section in zip(names, sections, strict=True):
        hunks = [(int(m[1]), int(m[2] or 1)) for m in _HUNK.finditer(section)]
        lines = frozenset(n for start, count in hunks for n in range(start, start + count))
        if lines:
            found[repository / name] = lines
    untracked = git.ask(repository, "ls-files", "--others", "-z").stdout
    found.update((repository / name, None) for name in _names(untracked))
    return found


def _base(repository: Path, ref: str) -> str:
    """Return the commit (or, before the first one, the empty tree) to compare with."""
    commit = _answer(repository, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    shallow = _answer(repository, "rev-parse", "--is-shallow-repository") == "true"
    deeper = (
        "this clone is shallow: fetch its history (git fetch --unshallow; in a GitHub "
        "workflow, fetch-depth: 0 for actions/checkout)"
    )
    if not commit or ref.startswith("-"):
        head = _answer(repository, "rev-parse", "--verify", "--quiet", "HEAD")
        if ref == "HEAD" and not head:  # nothing is committed yet: everything is new
            return _answer(repository, "hash-object", "-t", "tree", "--stdin")
        advice = (
            deeper if shallow else "fetch it, or name a commit, a branch or a tag that is there"
        )
        raise UsageError(f"--since {ref}: {repository} has no such commit; {advice}")
    base = _answer(repository, "merge-base", commit, "HEAD")
    if not base:
        advice = deeper if shallow else "name a commit that this branch comes from"
        raise UsageError(f"--since {ref}: it shares no history with HEAD in {repository}; {advice}")
    return base


def _answer(repository: Path, *arguments: str) -> str:
    """Return what git prints, or an empty string where it says no."""
    done = git.ask(repository, *arguments, check=False)
    return done.stdout.decode().strip() if not done.returncode else ""


def _names(raw: bytes) -> list[Path]:
    return [Path(git.decoded(name)) for name in raw.split(b"\0") if name]
