"""Finds what the site is made from: in a checkout its root, in an installation the copy that the wheel has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tdev_core.errors import ConfigError

__all__ = ["ROOT_PAGES", "Sources", "find"]

ROOT_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""The documents that lie in the root, apart from what other projects keep there."""

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Sources:
    """The folder that holds ``catalog.json``, ``README.md``, ``docs/`` and ``benchmarks/``.

    Attributes:
        root: that folder.
        whole: whether it is a checkout, so that a link to any file of the repository can be judged.
    """

    root: Path
    whole: bool

    def documents(self) -> list[Path]:
        """Return the Markdown that becomes pages."""
        found = [self.root / name for name in ROOT_PAGES]
        found += [*(self.root / "docs").rglob("*.md"), *(self.root / "benchmarks").glob("*.md")]
        return [path for path in found if path.is_file()]

    def images(self) -> list[Path]:
        """Return the images that the documents show."""
        return list((self.root / "docs").rglob("*.svg"))


def find() -> Sources:
    """Return the sources of this installation.

    Raises:
        ConfigError: there are none, so that nothing can be built.
    """
    for root, whole in ((_HERE / "sources", False), (_HERE.parents[1], True)):
        if (root / "catalog.json").is_file():
            return Sources(root, whole)
    raise ConfigError(
        f"{_HERE / 'sources'} is missing from this installation, and the site is made from it. Install tdev again."
    )
