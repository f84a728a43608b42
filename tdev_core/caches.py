"""Where tdev keeps what it worked out and could work out again."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["directory"]


def directory(what: str) -> Path | None:
    """Return the folder for ``what`` in ``TDEV_CACHE_DIR``, or in the user's cache directory; None where there is neither."""
    given = os.environ.get("TDEV_CACHE_DIR")
    if given:
        return Path(given) / what
    try:
        from platformdirs import user_cache_dir

        return Path(user_cache_dir("tdev", appauthor=False)) / what
    except (ImportError, RuntimeError):  # RuntimeError: no home directory
        return None
