"""Find the folder where results are kept between runs, and keep it small."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["folder", "forget_oldest"]


def folder() -> Path:
    """Return the platform's cache folder for this project; ``TDEV_CACHE_DIR`` overrides it."""
    chosen = os.environ.get("TDEV_CACHE_DIR")
    if chosen:
        return Path(chosen)
    home = Path.home()
    match sys.platform:
        case "darwin":
            base = home / "Library/Caches"
        case "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local")
        case _:
            base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "tdev"


def forget_oldest(where: Path, pattern: str, keep: int) -> None:
    """Delete all but the newest ``keep`` files in the folder ``where`` whose names match ``pattern``."""
    try:
        for old in sorted(where.glob(pattern), key=lambda item: -item.stat().st_mtime)[keep:]:
            old.unlink(missing_ok=True)
    except OSError:
        return  # another process has deleted one: it is at the same work
