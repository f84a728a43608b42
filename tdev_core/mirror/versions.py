"""Messages about names that the installed torch lacks, and about a torch that the mirror was not generated from.

Each mirror of a module knows which of its names not every torch has. ``tdev/_names.json`` lists all that those
torches have; it is read only where the installed torch is none of them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from tdev_core.release import release_of, torch_release

__all__ = [
    "absent_message",
    "differs",
    "known_module",
    "known_names",
    "lost_message",
    "lost_names",
    "translated_names",
]


@lru_cache(maxsize=8)
def differs(generated_from: str) -> bool:
    """Tell whether the installed torch is none of those the mirror was generated from: ``"2.11 to 2.15"``.

    An empty ``generated_from`` is that of a module which is not generated: an alias that answers a
    few names itself. Nothing that it lacks is another torch's.
    """
    if not generated_from:
        return False
    first, _, last = generated_from.partition(" to ")
    return not release_of(first) <= torch_release <= release_of(last or first)


def absent_message(dotted: str, having: str) -> str:
    """Return what to raise with when somebody asks for ``dotted``, which ``having`` has: ``"2.15 and newer"``."""
    number, newer = having.partition(" ")[0], having.endswith("newer")
    wanted = f"torch>={number}" if newer else f"torch=={number}.*"
    return (
        f"torch {torch.__version__} has no {dotted!r}; it is in torch {having}. Install such a torch "
        f"(python -m pip install '{wanted}'), or do without."
    )


def lost_message(dotted: str, generated_from: str) -> str:
    """Return what to raise with when somebody asks for ``dotted``, which only other torches have."""
    return (
        f"torch {torch.__version__} has no {dotted!r}; this mirror was generated from torch "
        f"{generated_from}, which has it. Install that torch, or regenerate the mirror against the "
        "installed one: nox -s upgrade"
    )


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    spec = importlib.util.find_spec("tdev")
    places = spec.submodule_search_locations if spec is not None else None
    try:
        text = Path(next(iter(places or ())), "_names.json").read_text(encoding="utf-8")
    except (StopIteration, OSError):  # a program that was frozen without tdev's files
        return {"names": {}, "untyped": [], "translated": []}
    table: Mapping[str, Any] = json.loads(text)
    return table


@lru_cache(maxsize=1)
def _known() -> Mapping[str, frozenset[str]]:
    """Return the names of each module of that torch, as far as a type checker sees them; of some, none."""
    table = _table()
    names = {module: frozenset(names.split()) for module, names in table["names"].items()}
    return dict.fromkeys(table["untyped"], frozenset()) | names


@lru_cache(maxsize=1)
def translated_names() -> frozenset[str]:
    """Return the functions of which the mirror calls torch's own, with their devices translated."""
    return frozenset(_table()["translated"])


def known_module(module: str) -> bool:
    """Tell whether the torch that the mirror was generated from has that module."""
    return module in _known()


def known_names(module: str) -> frozenset[str]:
    """Return names that a module of that torch has, as far as a type checker sees them."""
    return _known().get(module, frozenset())


def lost_names(module: str) -> frozenset[str]:
    """Return those of :func:`known_names` that the installed torch's module of that name does not have."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return frozenset()
    there = vars(loaded)
    absent = [name for name in known_names(module) if name not in there]
    with warnings.catch_warnings():  # a module's __getattr__ warns of what torch is about to drop
        warnings.simplefilter("ignore")
        return frozenset(
            name
            for name in absent
            if not hasattr(loaded, name) and not _importable(f"{module}.{name}")
        )


def _importable(module: str) -> bool:
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
