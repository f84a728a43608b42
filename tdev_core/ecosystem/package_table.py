"""Read the table of packages for CUDA, ``packages.toml``: what each is for, what answers for it, what replaces it.

The codemod, the stand-ins, the doctor and the documentation ask here, and none has a list of its own. Nothing is read before
the first question, since ``import tdev`` asks none.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

__all__ = ["ANSWERS", "Package", "of_module", "packages", "parsed", "stand_ins"]

ANSWERS = ("stand-in", "interpreter", "own", "none")


@dataclass(frozen=True)
class Package:
    """One package; the head of ``packages.toml`` tells what its keys mean."""

    name: str
    what: str
    install: str
    answer: str
    instead: str
    source: str
    checked: datetime.date
    beside: str = ""
    like: str = ""
    has: str = ""
    lacks: str = ""
    guards: bool = False
    kernels: bool = False
    loads: bool = False

    @property
    def needs_cuda(self) -> bool:
        """Whether nothing that imports it can be imported without ``torch.cuda``.

        ROCm's torch has that, too, and on MUSA torchada answers for it (github.com/sgl-project/sglang/pull/26437).
        """
        return not self.loads and self.beside in ("", "ROCm", "ROCm and MUSA")

    @property
    def runs_on(self) -> str:
        """The devices that it runs on, in words that follow its name."""
        return f"runs beside CUDA on {self.beside} alone" if self.beside else "exists for CUDA only"


@lru_cache(maxsize=1)
def packages() -> Mapping[str, Package]:
    """Return every package of the table, by the name that is imported."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    text = Path(__file__).with_name("packages.toml").read_text(encoding="utf-8")
    return parsed(tomllib.loads(text))


@lru_cache(maxsize=1)
def stand_ins() -> Mapping[str, Package]:
    """Return the packages that have a stand-in."""
    return {name: known for name, known in packages().items() if known.answer == "stand-in"}


def of_module(module: str) -> Package | None:
    """Return the package that a dotted module belongs to; None where the table has none.

    ``numba.cuda`` is a package of the table, ``numba`` is not.
    """
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in (2, 1) if len(parts) >= length)
    return next((packages()[name] for name in names if name in packages()), None)


def parsed(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Package]:
    """Return the packages of a table that was read, in its order.

    Raises:
        ValueError: a key is lacking, unknown, of another type or of a value that means nothing; it names both.
    """
    return {name: _package(name, table) for name, table in tables.items()}


def _package(name: str, table: Mapping[str, Any]) -> Package:
    kinds = {"checked": datetime.date, "guards": bool, "kernels": bool, "loads": bool}
    known = {field.name for field in fields(Package)} - {"name"}
    needed = ("what", "install", "answer", "instead", "source", "checked")
    for key, value in table.items():
        if key not in known:
            raise ValueError(f"packages.toml: [{name}] has an unknown key, {key}")
        if not isinstance(value, kinds.get(key, str)) or value == "":
            raise ValueError(f"packages.toml: [{name}] {key} = {value!r} is not what it must be")
    for key in needed:
        if key not in table:
            raise ValueError(f"packages.toml: [{name}] lacks {key}")
    if table["answer"] not in ANSWERS:
        raise ValueError(
            f"packages.toml: [{name}] answer = {table['answer']!r}; one of {', '.join(ANSWERS)} is needed"
        )
    stands = table["answer"] == "stand-in"
    for key in ("like", "has", "lacks"):
        if (key in table) is not stands:
            raise ValueError(
                f"packages.toml: [{name}] {'lacks' if stands else 'is no stand-in and has'} {key}"
            )
    return Package(name=name, **table)
