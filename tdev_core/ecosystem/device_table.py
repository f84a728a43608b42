"""Read the table of packages and their devices, ``devices.toml``: what comes to each, which it knows, and which functions give one.

The codemod asks here, and none of its rules has a list of its own. Nothing is read before the first question.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["TAKES", "Holder", "give_devices", "holders", "named", "parsed"]

TAKES = ("tensors", "name", "program", "words", "nothing", "any")


@dataclass(frozen=True)
class Holder:
    """One package; the head of ``devices.toml`` tells what its keys mean."""

    name: str
    takes: str
    devices: tuple[str, ...]
    source: str
    checked: datetime.date
    called: str
    named: bool = False
    gives: tuple[str, ...] = ()
    doubles: tuple[str, ...] = ()

    @property
    def only_cuda_or_cpu(self) -> bool:
        """Whether it works with torch's tensors on CUDA and on the CPU, and on no accelerator beside."""
        return self.takes == "tensors" and set(self.devices) == {"cuda", "cpu"}


@lru_cache(maxsize=1)
def holders() -> Mapping[str, Holder]:
    """Return every package of the table, by the name that is imported."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = Path(__file__).with_name("devices.toml").read_text(encoding="utf-8")
    return parsed(tomllib.loads(text))


def named(*takes: str) -> tuple[str, ...]:
    """Return the packages to which one of these comes."""
    return tuple(known.name for known in holders().values() if known.takes in takes)


@lru_cache(maxsize=1)
def give_devices() -> frozenset[str]:
    """Return the functions that give a device which is there, by their full names."""
    return frozenset(name for known in holders().values() for name in known.gives)


def parsed(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Holder]:
    """Return the packages of a table that was read, in its order.

    Raises:
        ValueError: a key is lacking, unknown, of another type or of a value that means nothing; it names both.
    """
    return {name: _holder(name, table) for name, table in tables.items()}


def _holder(name: str, table: Mapping[str, Any]) -> Holder:
    kinds = {
        "checked": datetime.date,
        "named": bool,
        "devices": list,
        "gives": list,
        "doubles": list,
    }
    known = {field.name for field in fields(Holder)} - {"name"}
    for key, value in table.items():
        if key not in known:
            raise ValueError(f"devices.toml: [{name}] has an unknown key, {key}")
        if not isinstance(value, kinds.get(key, str)) or value in ("", []):
            raise ValueError(f"devices.toml: [{name}] {key} = {value!r} is not what it must be")
    for key in ("takes", "devices", "source", "checked"):
        if key not in table:
            raise ValueError(f"devices.toml: [{name}] lacks {key}")
    if table["takes"] not in TAKES:
        raise ValueError(
            f"devices.toml: [{name}] takes = {table['takes']!r}; one of {', '.join(TAKES)} is needed"
        )
    several = {key: tuple(table.get(key, ())) for key in ("devices", "gives", "doubles")}
    return Holder(**{"called": name, **table, "name": name, **several})
