"""Decides what a walk leaves out: what git ignores, what nobody wants rewritten, and the user's patterns.

git's own rule is followed: the last matching line of the deepest ``.gitignore`` decides, then its
parents', then ``.git/info/exclude``; what lies in an ignored directory cannot be taken back in.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

DEFAULT_EXCLUDES = frozenset(
    """.bzr .direnv .eggs .git .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pyre .pytest_cache
    .pytype .ruff_cache .svn .tox .venv .vscode __pycache__ __pypackages__ _build _darcs buck-out
    build dist node_modules site-packages venv""".split()
)
_MAYBE_PACKAGES = frozenset({"build", "dist"})


@dataclass(frozen=True)
class Layer:
    """The patterns of one file, and the directory they are relative to."""

    base: Path
    spec: GitIgnoreSpec

    def verdict(self, path: Path, is_dir: bool) -> bool | None:
        """True: ignored; False: taken back in by a ``!`` line; None: nothing said."""
        relative = path.relative_to(self.base).as_posix()
        return self.spec.check_file(relative + "/" if is_dir else relative).include


Layers = tuple[Layer, ...]
"""From the outermost to the innermost."""


def ignored(layers: Layers, path: Path, is_dir: bool) -> bool:
    """Tell whether the innermost layer that says anything about ``path`` says that it is ignored."""
    for layer in reversed(layers):
        verdict = layer.verdict(path, is_dir)
        if verdict is not None:
            return verdict
    return False


def patterns(lines: Sequence[str]) -> GitIgnoreSpec:
    """Patterns in the language of ``.gitignore``."""
    from pathspec import GitIgnoreSpec  # not a dependency of tdev without its extra

    return GitIgnoreSpec.from_lines(lines)


def enter(layers: Layers, directory: Path) -> Layers:
    """``layers`` and, innermost, the ``.gitignore`` of ``directory`` where it has one."""
    return with_file(layers, directory, directory / ".gitignore")


def layers_above(directory: Path) -> Layers:
    """Return the layers that hold in ``directory`` without its own: from its repository's root downward.

    A layer that ignores the very directory is dropped: who names an ignored directory on the
    command line means it.
    """
    root = repository_root(directory)
    if root is None:
        return ()
    layers = with_file((), root, git_directory(root) / "info" / "exclude")
    above = [parent for parent in (directory, *directory.parents) if _within(parent, root)]
    for parent in reversed(above[1:]):
        layers = enter(layers, parent)
    return tuple(
        layer
        for layer in layers
        if not any(
            layer.verdict(p, True) for p in above if p != layer.base and _within(p, layer.base)
        )
    )


def repository_root(directory: Path) -> Path | None:
    """Return the root of the git work tree that ``directory`` (absolute) lies in, or None."""
    for parent in (directory, *directory.parents):
        if os.path.exists(parent / ".git"):  # Path.exists() raises where a directory is closed
            return parent
    return None


def git_directory(root: Path) -> Path:
    """Return the directory with ``info/exclude``; a linked work tree's ``.git`` is a file that points there."""
    entry = root / ".git"
    if entry.is_dir():
        return entry
    try:
        pointed = root / entry.read_text(encoding="utf-8").partition("gitdir:")[2].strip()
        common = pointed / "commondir"
        return pointed / common.read_text(encoding="utf-8").strip() if common.is_file() else pointed
    except (OSError, UnicodeDecodeError):
        return entry


def excluded_by_default(directory: Path) -> bool:
    """Tell whether a directory of this name, or a virtual environment of any name, is never walked.

    ``build`` and ``dist`` are left out only where they are no Python packages.
    """
    if directory.name in DEFAULT_EXCLUDES:
        is_package = os.path.isfile(directory / "__init__.py")
        return not (directory.name in _MAYBE_PACKAGES and is_package)
    return os.path.isfile(directory / "pyvenv.cfg")


def with_file(layers: Layers, base: Path, file: Path) -> Layers:
    """``layers`` and, innermost, the patterns in ``file`` relative to ``base``; no file, no change."""
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return layers
    return (*layers, Layer(base, patterns(text.splitlines())))


def _within(path: Path, root: Path) -> bool:
    return path == root or root in path.parents
