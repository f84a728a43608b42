"""The private modules that have a stub: read from ``private_modules.toml``, and held against torch's.

Invariants: there are at most :data:`MOST`; each says who imports it; torch has it, and every private package on
the way to it is listed too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import Any

from generator.errors import Decision, GenerationError
from generator.facts.model import Private

__all__ = ["MOST", "catalogued", "loaded", "read_private"]

MOST = 60
_WHERE = "private_modules.toml"


def read_private(tables: Mapping[str, Any], where: str) -> Mapping[str, str]:
    """Return the modules, each with who imports it.

    Raises:
        GenerationError: there are more than :data:`MOST`, or one does not say who imports it.
    """
    for name, who in tables.items():
        if not isinstance(who, str) or not who:
            raise GenerationError(f"{where}: {name!r} needs a text that says who imports it.")
    if len(tables) > MOST:
        raise GenerationError(f"{where}: lists {len(tables)} modules; {MOST} at most.")
    return tables


def catalogued(
    private: Iterable[Private], listed: Mapping[str, str], torch: str
) -> tuple[dict[str, dict[str, Any]], list[Decision]]:
    """Return the catalog's rows of the listed modules, and a decision for each that torch does not have.

    Raises:
        GenerationError: a package on the way to one is not listed.
    """
    known = {module.name: module for module in private}
    open_: list[Decision] = []
    for name in listed:
        if name not in known:
            text = (
                f"{_WHERE}: torch {torch} has no private module {name!r}, or only deep inside a private "
                "package. Correct the name, or delete it if torch dropped the module."
            )
            open_.append(Decision(text, absent=name))
        package = name.rpartition(".")[0]
        if package in known and package not in listed:
            raise GenerationError(f"{_WHERE}: {name!r} is listed, its package {package!r} is not.")
    attributes = loaded(known.values(), listed)
    rows = {
        name: {
            "package": known[name].is_package,
            "names": list(known[name].visible),
            "reached": known[name].reached,
            "loaded": sorted(attributes[name] - {*known[name].visible}),
        }
        for name in sorted(listed)
        if name in known
    }
    return rows, open_


def loaded(private: Iterable[Private], listed: Container[str]) -> Mapping[str, set[str]]:
    """By package, its private submodules that have no stub and that ``import torch`` leads a checker to.

    They are attributes of the package, whether its own text binds them or an import elsewhere in torch.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for module in private:
        if module.reached and module.name not in listed:
            package, _, leaf = module.name.rpartition(".")
            found[package].add(leaf)
    return found
