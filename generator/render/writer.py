"""The writer owns ``generated/``: it writes only what changed and deletes what is not its own."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["compare", "present", "write_file", "write_tree"]

_IGNORED = ("__pycache__",)


def write_tree(root: Path, files: dict[str, str]) -> tuple[int, int]:
    """Make ``root`` hold exactly ``files``.

    Returns:
        How many files were written, and how many strays were deleted.
    """
    written = sum(write_file(root / path, text) for path, text in files.items())
    strays = [path for path in present(root) if path not in files]
    for path in strays:
        (root / path).unlink()
    for folder in sorted((p for p in root.rglob("*") if p.is_dir()), reverse=True):
        contents = [entry for entry in folder.iterdir() if entry.name not in _IGNORED]
        if not contents and folder.name not in _IGNORED:
            for cache in folder.iterdir():
                for compiled in cache.iterdir():
                    compiled.unlink()
                cache.rmdir()
            folder.rmdir()
    return written, len(strays)


def write_file(path: Path, text: str) -> bool:
    """Write ``text`` unless the file holds it already; whole or not at all."""
    data = text.encode("utf-8")
    try:
        if path.read_bytes() == data:
            return False
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return True


def compare(root: Path, files: dict[str, str]) -> Iterator[str]:
    """Unified diffs from what ``root`` holds to ``files``; nothing where they are equal."""
    there = set(present(root))
    for path in sorted(there | files.keys()):
        before = (root / path).read_text(encoding="utf-8") if path in there else ""
        after = files.get(path, "")
        if before == after and (path in there) == (path in files):
            continue
        yield from difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            f"{root.name}/{path} (on disk)" if path in there else "/dev/null",
            f"{root.name}/{path} (as generated)" if path in files else "/dev/null",
        )


def present(root: Path) -> Iterator[str]:
    """Yield the files below ``root``, relative to it, in order; caches of compiled code are not among them."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and not any(part in _IGNORED for part in path.parts):
            yield path.relative_to(root).as_posix()
