"""The catalog, for tests that walk all of torch."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@lru_cache(maxsize=1)
def catalog() -> dict[str, Any]:
    """``catalog.json`` of this repository."""
    data: dict[str, Any] = json.loads((ROOT / "catalog.json").read_text(encoding="utf-8"))
    return data


def mirrored(dotted: str) -> str:
    """The tdev name of a torch name."""
    return "tdev" + dotted[len("torch") :]
