"""Results kept between runs: where, and the way in and out that refuses what another user could have written.

The rules are those of :mod:`tdev_core.caches`, which imports nothing else of the library; what is remembered here
becomes source code.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from tdev_core import caches

__all__ = ["folder", "forget_oldest", "load", "store"]


def folder() -> Path:
    """Return the generator's folder among this project's caches; ``TDEV_CACHE_DIR`` says where those are."""
    # Where there is no place for caches, below what can hold no file: nothing is found there, and nothing kept.
    return caches.directory("generator") or Path(os.devnull, "generator")


def load(path: Path) -> str | None:
    """Return the text of a file, or None; one that another user could have written is told of, and is none."""
    try:
        return caches.read(path).decode("utf-8")
    except caches.Refused as error:
        _tell(str(error))
    except (OSError, ValueError):
        pass  # nothing is remembered
    return None


def store(path: Path, text: str) -> bool:
    """Write a file, whole or not at all; returns whether it is there. A cache that cannot be written is none."""
    try:
        caches.write(path, text.encode("utf-8"))
        return True
    except caches.Refused as error:
        _tell(str(error))
    except OSError:
        pass  # the next run works it out again
    return False


def forget_oldest(where: Path, suffix: str, keep: int) -> None:
    """Delete all but those ``keep`` files in the folder ``where`` that were used last, of those that end with ``suffix``."""
    caches.trim(where, suffix, files=keep)


@cache
def _tell(message: str) -> None:
    """Say it once."""
    print(f"generator: {message}", file=sys.stderr)
