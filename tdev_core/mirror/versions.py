"""A mirror of one torch on another: which names the installed torch lacks, and what to say of them.

``tdev/_names.json`` lists what the torch had that the mirror was generated from. It is read only where the
installed torch is another one.
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

__all__ = [
    "differs",
    "known_module",
    "known_names",
    "lost_message",
    "lost_names",
    "translated_names",
]


def differs(generated_from: str) -> bool:
    """Tell whether the installed torch is another release than the one the mirror was generated from.

    An empty ``generated_from`` is that of a module which is not generated: an alias that answers a
    few names itself. Nothing that it lacks is another torch's.
    """
    return bool(generated_from) and torch.__version__.partition("+")[0] != generated_from


def lost_message(dotted: str, generated_from: str) -> str:
    """Return what to raise with when somebody asks for ``dotted``, which only the older or newer torch has."""
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
