"""Which release of torch is loaded, as numbers, for what differs between them; none where the codemod runs without.

if torch_release >= (2, 15):
"""

from __future__ import annotations

import re
import sys

__all__ = ["release_of", "torch_release"]


def release_of(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version; (0, 0) where it has none."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


_torch = sys.modules.get("torch")
torch_release = release_of(str(getattr(_torch, "__version__", "")))
"""Its first two numbers; what comes behind those, and behind a plus, changes no name and no signature."""
