"""Finds the files that a run looks at.

Invariants:

- every file comes once, in the order of the given paths and by name within a directory;
- nothing outside the given paths is ever returned: links to directories are not walked, and a link
  to a file is left out (the file it leads to is looked at under its own name where that was given);
- a file with several names (hard links) is looked at under the first of them;
- a directory that cannot be read is an error by itself, and so is a path given in one; the rest is returned;
- a file named on the command line is looked at even where git ignores it; only patterns that the
  user wrote as ``exclude`` keep it out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tdev_core.codemod.config import Settings
from tdev_core.codemod.errors import UsageError
from tdev_core.codemod.files import ignore
from tdev_core.codemod.model import Kind

_KINDS = {
    ".py": Kind.PYTHON,
    ".pyi": Kind.PYTHON,
    ".pyw": Kind.PYTHON,
    ".ipynb": Kind.NOTEBOOK,
}
# Files without code of ours that may say CUDA.
_OTHER_SUFFIXES = frozenset(
    (
        *(".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".env"),
        *(".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".mk", ".dockerfile"),
        *(".pyx", ".pxd"),
    )
)
_OTHER_NAMES = re.compile(r"(?:Dockerfile|Containerfile|[Mm]akefile|GNUmakefile|\.env)(?:\..+)?$")
_DOCS_KINDS = {".md": Kind.DOCS, ".rst": Kind.DOCS}


@dataclass(frozen=True)
class Found:
    """A file to look at: where it is, how it is shown, how it is read.

    ``skip`` says why it is left out on purpose, ``error`` why it (or a directory) cannot be looked at.
    """

    path: Path
    shown: str
    kind: Kind
    skip: str = ""
    error: str = ""
    named: bool = False
    """Whether the file itself was named, and not only a directory around it."""


def discover(paths: Sequence[str], settings: Settings) -> list[Found]:
    """Return all files below ``paths``; raises :class:`UsageError` for paths that do not exist."""
    missing = [path for path in paths if isinstance(_refusal(path), _MISSING)]
    if missing:
        raise UsageError(f"no such file or directory: {', '.join(missing)}")
    finder = _Finder(settings, [Path(path).resolve() for path in paths])
    found: dict[str, Found] = {}
    for path in paths:
        for item in finder.below(path):
            found.setdefault(str(item.path), item)
    return list(_once(found.values()))


_MISSING = (FileNotFoundError, NotADirectoryError, ValueError)


def _refusal(path: str) -> OSError | ValueError | None:
    """Return why nothing can be said of a path: it is not there, or lies in a directory that is closed."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return error
    return None


def _once(found: Iterable[Found]) -> Iterator[Found]:
    """Yield the files with each further name of one that came already to be skipped."""
    first: dict[tuple[int, int], str] = {}
    for item in found:
        try:
            status = item.path.stat()
        except OSError:  # said when it is read
            yield item
            continue
        if item.skip or item.error or status.st_nlink < 2:
            yield item
            continue
        other = first.setdefault((status.st_dev, status.st_ino), item.shown)
        if other == item.shown:
            yield item
        else:
            yield replace(item, skip=f"the same file as {other} (a hard link)")


class _Finder:
    def __init__(self, settings: Settings, roots: Sequence[Path]) -> None:
        self._base = settings.base
        self._kinds = {**_KINDS, **(_DOCS_KINDS if settings.docs else {})}
        self._include = ignore.patterns(settings.include) if settings.include else None
        self._exclude = ignore.patterns(settings.exclude)
        self._roots = roots

    def below(self, given: str) -> Iterator[Found]:
        """Yield the files at or below one given path."""
        path = Path(os.path.abspath(given))
        if isinstance(refusal := _refusal(given), OSError):
            yield Found(
                path, given, Kind.PYTHON, error=f"cannot be read: {refusal.strerror or refusal}"
            )
            return
        # os.path answers no where a directory is closed; a Path raises.
        if os.path.isdir(path):
            root = path.resolve()
            if not self._excluded(root, True):
                yield from self._walk(root, given, ignore.layers_above(root))
        elif os.path.islink(path):
            yield from self._link(path, given)
        elif not os.path.isfile(path):
            raise UsageError(f"{given}: neither a file nor a directory")
        elif not self._excluded(path.resolve(), False):
            # Resolved, so that a file reached by two names comes once.
            yield self._named(path.resolve(), given)

    def _named(self, path: Path, given: str) -> Found:
        """Return a file named on the command line: Python, whatever its name, unless that says otherwise."""
        if path.suffix.lower() in _DOCS_KINDS and path.suffix.lower() not in self._kinds:
            return Found(path, given, Kind.DOCS, skip="a document; --docs looks into documents")
        return Found(path, given, self._kind(path) or Kind.PYTHON, named=True)

    def _link(self, path: Path, given: str) -> Iterator[Found]:
        if not os.path.exists(path):
            raise UsageError(f"{given}: a symbolic link that leads nowhere ({os.readlink(path)})")
        target = path.resolve()
        if any(
            root == target or root in target.parents for root in self._roots if os.path.isdir(root)
        ):
            return  # it lies in a directory that was given too and is looked at there
        reason = f"a symbolic link; name the file it leads to instead: {target}"
        yield Found(path, given, self._kind(path) or Kind.PYTHON, skip=reason)

    def _walk(self, directory: Path, shown: str, layers: ignore.Layers) -> Iterator[Found]:
        if os.path.exists(directory / ".git"):  # a repository of its own ignores by its own rules
            exclude = ignore.git_directory(directory) / "info" / "exclude"
            layers = ignore.with_file((), directory, exclude)
        layers = ignore.enter(layers, directory)
        try:
            with os.scandir(directory) as scanned:
                entries = sorted(scanned, key=lambda entry: entry.name)
            # Listed is not yet entered; a Path would leave the dot out.
            os.stat(os.path.join(directory, os.curdir))
        except OSError as error:
            reason = f"this directory cannot be read: {error.strerror or error}"
            yield Found(directory, shown, Kind.PYTHON, error=reason)
            return
        for entry in entries:
            path = directory / entry.name
            name = entry.name if shown in (".", "./") else os.path.join(shown, entry.name)
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if not (
                    ignore.excluded_by_default(path)
                    or self._excluded(path, True)
                    or ignore.ignored(layers, path, True)
                ):
                    yield from self._walk(path, name, layers)
            elif entry.is_file():
                kind = self._wanted(path)
                if kind is not None and not ignore.ignored(layers, path, False):
                    yield Found(path, name, kind)

    def _wanted(self, path: Path) -> Kind | None:
        if self._excluded(path, False):
            return None
        if self._include is None:
            return self._kind(path)
        if self._include.match_file(self._relative(path)):
            return self._kind(path) or Kind.PYTHON
        return None

    def _kind(self, path: Path) -> Kind | None:
        kind = self._kinds.get(path.suffix.lower())
        if kind is not None:
            return kind
        other = path.suffix.lower() in _OTHER_SUFFIXES or _OTHER_NAMES.match(path.name)
        return Kind.OTHER if other else None

    def _excluded(self, path: Path, is_dir: bool) -> bool:
        relative = self._relative(path)
        return bool(relative) and self._exclude.match_file(relative + "/" if is_dir else relative)

    def _relative(self, path: Path) -> str:
        try:
            relative = path.relative_to(self._base).as_posix()
        except ValueError:  # outside the configuration's directory: patterns start from the root
            relative = path.relative_to(path.anchor).as_posix()
        return "" if relative == "." else relative
