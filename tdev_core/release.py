"""The release of torch, loaded or installed, as numbers, for what differs between them; none where there is no torch.

if torch_release >= (2, 15):
"""

from __future__ import annotations

import re
import sys

__all__ = ["OLDEST", "release_of", "torch_release"]

OLDEST = (2, 11)
"""The oldest torch that a mirror can be of."""


def release_of(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version; (0, 0) where it has none."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


torch_release: tuple[int, int]
"""Its first two numbers; what comes behind those, and behind a plus, changes no name and no signature."""


def __getattr__(name: str) -> tuple[int, int]:
    # Asked for at each import: commands that begin without torch may load it.
    if name != "torch_release":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    loaded = getattr(sys.modules.get("torch"), "__version__", None)
    return release_of(_installed() if loaded is None else str(loaded))


def _installed() -> str:
    """Return the version of the torch that an import would load, without that import; nothing where there is none."""
    # Takes longer to import than the rest of a command's start.
    from importlib import metadata

    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return ""
