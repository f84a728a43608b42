"""The catalog, for tests that walk all of torch."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from generator import union
from generator.facts.pin import installed_version

ROOT = Path(__file__).resolve().parent.parent


@lru_cache(maxsize=1)
def catalog() -> dict[str, Any]:
    """``catalog.json`` of this repository, as it is for the installed torch."""
    return of_installed(joined())


@lru_cache(maxsize=1)
def joined() -> dict[str, Any]:
    """``catalog.json`` of this repository, which is of several torches."""
    data: dict[str, Any] = json.loads((ROOT / "catalog.json").read_text(encoding="utf-8"))
    return data


def of_installed(joined: dict[str, Any]) -> dict[str, Any]:
    """The view of the installed torch, a patch release as its minor; of one newer than the catalog, the newest."""
    known = union.torches(joined)
    here = union.release(installed_version())
    return union.view(joined, next((one for one in known if union.release(one) == here), known[-1]))


def mirrored(dotted: str) -> str:
    """The tdev name of a torch name."""
    return "tdev" + dotted[len("torch") :]
