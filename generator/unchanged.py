"""Tell whether a run would write what is there already, and so need not be made.

What a run writes depends on nothing but what it reads: torch (by the key of its facts), the sources of the
generator with its tables, the templates, ``tdev_core``, and the tools that render and format. The last run
left a digest of all that and of what it wrote. Only ``python -m generator`` believes it; ``--check`` makes
the whole run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from generator import paths
from generator.facts import cache
from generator.render.writer import present
from generator.running.caches import folder, forget_oldest
from generator.running.memo import Memo, digest

__all__ = ["LastRun"]

_TOOLS = ("jinja2", "markupsafe", "ruff")
_SUFFIX = ".last-run.json"
_KEEP = 16  # trees that are remembered


class LastRun:
    """The inputs as they are now, beside what the last run read and wrote.

    Made before the run, so that a source saved while it goes on makes the next one go on too.
    """

    def __init__(self) -> None:
        self._memo = Memo(folder() / f"{digest(str(paths.ROOT))}{_SUFFIX}")
        self._inputs = digest(cache.key(), *_versions(), *_sources())

    def summary(self) -> str | None:
        """Return what the last run said of the catalog, if it read these inputs and what it wrote is still there."""
        key = self._key()
        return self._memo.get(key, str) if self._memo.knows(key) else None

    def remember(self, summary: str) -> None:
        """Note that what is there now was made from these inputs."""
        self._memo.get(self._key(), lambda: summary)
        self._memo.save()
        forget_oldest(folder(), _SUFFIX, _KEEP)

    def _key(self) -> str:
        return digest(self._inputs, *_hashed([paths.CATALOG, *_below(paths.GENERATED)]))


def _versions() -> Iterator[str]:
    for tool in _TOOLS:
        try:
            yield f"{tool}=={version(tool)}"
        except PackageNotFoundError:
            yield f"no {tool}"


def _sources() -> Iterator[str]:
    for source in (paths.ROOT / "generator", paths.TEMPLATES, paths.CORE):
        yield from _hashed(_below(source))


def _below(folder: Path) -> list[Path]:
    return [folder / path for path in present(folder)]


def _hashed(files: list[Path]) -> Iterator[str]:
    for path in files:
        yield str(path)
        yield hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
