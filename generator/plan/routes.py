"""Reading ``generator/routes/*.toml``: the curated knowledge of how each function is answered.

Invariants, enforced while reading:

- Every key is known; a typo names the file and the entry.
- A capability has a cell for each backend, and every spelling belongs to one capability only.
- A cell says what its route needs: ``call`` or ``object`` for the routes that answer, ``note`` for
  ``noop``, ``why`` and ``instead`` for ``unsupported``.

That a call can be made, and that no parameter is dropped without a reason, is seen when it is planned
(``generator/plan/arguments.py``).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator.errors import GenerationError
from generator.plan.planned import Planned, read_planned
from generator.plan.private import read_private

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BACKENDS = ("cuda", "mps", "mlx", "sim", "cpu")
ANSWERS = frozenset({"same", "native", "mapped", "emulated", "fallback"})
ROUTES = ANSWERS | {"noop", "unsupported"}

_CELL_KEYS = frozenset(
    {"route", "call", "check", "object", "value", "note", "why", "instead", "ignores"}
)
_SHIM_KEYS = frozenset({"factory", "devices", "none", "note"})
_DEVICE_KEYS = frozenset({"devices", "lacking", "none", "note", "shares"})


@dataclass(frozen=True)
class Cell:
    """The answer of one capability on one backend.

    ``check`` is an expression that is evaluated before ``call``, for what it raises. ``value`` is what a ``noop``
    returns. ``ignores`` says of parameters that the answer does not look at why that is right.
    """

    route: str
    call: str | None = None
    check: str | None = None
    object: str | None = None
    value: str | None = None
    note: str = ""
    why: str = ""
    instead: str = ""
    ignores: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Capability:
    """One thing a program wants, under all the names that torch has for it.

    ``spellings`` maps each dotted torch name to its renames: canonical parameter name to an
    expression in that spelling's own parameters.
    """

    id: str
    where: str
    spellings: Mapping[str, Mapping[str, str]]
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class ShimRoute:
    """The shim of a method or constructor that takes a device, where the facts do not settle it.

    ``dotted`` is the method, or a pattern (``torch.fx.*``) for methods without an entry of their own.
    ``none`` says why it needs no shim.
    """

    dotted: str
    where: str
    factory: str = ""
    devices: tuple[str, ...] = ()
    none: str = ""
    note: str = ""


@dataclass(frozen=True)
class DeviceRoute:
    """The parameters of a function that are devices, where the facts leave it open or are wrong."""

    dotted: str
    where: str
    devices: tuple[str, ...]
    note: str
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Backends whose device cannot do it at all, and why."""
    shares: bool = False
    """Whether it makes a tensor of data without copying it, where that is on the device."""


@dataclass(frozen=True)
class Routes:
    """Everything that was curated."""

    capabilities: tuple[Capability, ...]
    shims: Mapping[str, ShimRoute]
    devices: Mapping[str, DeviceRoute]
    scope: tuple[str, ...] = ()
    categories: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    planned: tuple[Planned, ...] = ()
    private: Mapping[str, str] = field(default_factory=dict)
    """Private modules that have a stub, and who imports them."""


def read_routes(folder: Path) -> Routes:
    """Read every ``*.toml`` under ``folder``.

    ``shims*.toml``, ``devices.toml``, ``scope.toml``, ``categories.toml``, ``plan_functions.toml`` and
    ``private_modules.toml`` have their own keys; every other file holds capabilities.

    Raises:
        GenerationError: a file does not parse, or breaks one of the invariants above.
    """
    if not folder.is_dir():
        raise GenerationError(f"{folder} is not a folder; the routes are read from there.")
    capabilities: list[Capability] = []
    shims: dict[str, ShimRoute] = {}
    devices: dict[str, DeviceRoute] = {}
    scope: tuple[str, ...] = ()
    categories: dict[str, tuple[str, str]] = {}
    planned: tuple[Planned, ...] = ()
    private: Mapping[str, str] = {}
    for path in sorted(folder.glob("*.toml")):
        tables = _load(path)
        if path.stem.startswith("shims"):
            for name, table in tables.items():
                shims[name] = _shim(name, table, f"{path.name}: [{name}]")
        elif path.stem == "devices":
            for name, table in tables.items():
                devices[name] = _device(name, table, f"{path.name}: [{name}]")
        elif path.stem == "scope":
            _only_keys(tables, {"packages"}, path.name)
            scope = tuple(tables["packages"])
        elif path.stem == "categories":
            for prefix, table in tables.items():
                _only_keys(table, {"category", "priority"}, f"{path.name}: [{prefix}]")
                categories[prefix] = (table["category"], table["priority"])
        elif path.stem == "plan_functions":
            planned = read_planned(tables)
        elif path.stem == "private_modules":
            private = read_private(tables, path.name)
        else:
            for name, table in tables.items():
                capabilities.append(_capability(name, table, f"{path.name}: [{name}]"))
    _check_unique(capabilities)
    return Routes(tuple(capabilities), shims, devices, scope, categories, planned, private)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GenerationError(f"{path.name} is not valid TOML: {error}.") from None


def _only_keys(table: Any, known: set[str] | frozenset[str], where: str) -> None:
    if not isinstance(table, dict):
        raise GenerationError(f"{where}: expected a table, found {table!r}.")
    for key in table:
        if key not in known:
            raise GenerationError(
                f"{where}: unknown key {key!r}; known are {', '.join(sorted(known))}."
            )


def _capability(name: str, table: Any, where: str) -> Capability:
    if not isinstance(table, dict) or "spellings" not in table:
        raise GenerationError(f"{where}: no spellings; list at least one dotted torch name.")
    cells: dict[str, Cell] = {}
    for key, value in table.items():
        if key == "spellings":
            continue
        for backend in (part.strip() for part in key.split(",")):
            if backend not in BACKENDS:
                raise GenerationError(
                    f"{where}: unknown key {key!r}; known are spellings and the backends "
                    f'{", ".join(BACKENDS)} (several may share one cell: "sim,cpu").'
                )
            if backend in cells:
                raise GenerationError(f"{where}: backend {backend!r} has two cells.")
            cells[backend] = _cell(value, f"{where} {backend}")
    lacking = [backend for backend in BACKENDS if backend not in cells]
    if lacking:
        raise GenerationError(f"{where}: no cell for {', '.join(lacking)}.")
    spellings: dict[str, dict[str, str]] = {}
    for dotted, renames in table["spellings"].items():
        if not isinstance(renames, dict):
            raise GenerationError(
                f"{where}: spelling {dotted!r} needs a table of renames, {{}} for none."
            )
        for expression in renames.values():
            _expression(expression, f"{where} spelling {dotted}")
        spellings[dotted] = dict(renames)
    return Capability(name, where, spellings, cells)


def _cell(value: Any, where: str) -> Cell:
    _only_keys(value, _CELL_KEYS, where)
    cell = Cell(**value)
    if cell.route not in ROUTES:
        raise GenerationError(
            f"{where}: unknown route {cell.route!r}; known are {', '.join(sorted(ROUTES))}."
        )
    if cell.route in ANSWERS and cell.route not in ("same", "native"):
        if (cell.call is None) == (cell.object is None):
            raise GenerationError(f"{where}: route {cell.route!r} needs either call or object.")
    if cell.route == "noop" and not cell.note:
        raise GenerationError(
            f"{where}: a noop needs a note that says why nothing is the right answer."
        )
    if cell.route == "unsupported" and not (cell.why and cell.instead):
        raise GenerationError(f"{where}: unsupported needs why and instead.")
    if not all(isinstance(why, str) and why for why in cell.ignores.values()):
        raise GenerationError(f"{where}: ignores says of each parameter why ignoring it is right.")
    for expression in (cell.call, cell.check, cell.object, cell.value):
        if expression is not None:
            _expression(expression, where)
    return cell


def _expression(text: str, where: str) -> None:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, TypeError) as error:
        raise GenerationError(f"{where}: {text!r} is not a Python expression ({error}).") from None


def _shim(name: str, table: Any, where: str) -> ShimRoute:
    _only_keys(table, _SHIM_KEYS, where)
    factory = table.get("factory", "")
    if factory and ":" not in factory:
        raise GenerationError(f"{where}: factory {factory!r} is not of the form module:function.")
    given = [key for key in ("factory", "devices", "none") if key in table]
    if not given or ("none" in given and len(given) > 1):
        raise GenerationError(f"{where}: give factory or devices, or none with the reason.")
    return ShimRoute(
        name,
        where,
        factory,
        tuple(table.get("devices", ())),
        table.get("none", ""),
        table.get("note", ""),
    )


def _device(name: str, table: Any, where: str) -> DeviceRoute:
    _only_keys(table, _DEVICE_KEYS, where)
    if ("devices" in table) == ("none" in table):
        raise GenerationError(
            f'{where}: give either devices = [...] or none = "why no parameter is a device".'
        )
    note = table.get("note", table.get("none", ""))
    lacking = table.get("lacking", {})
    _only_keys(lacking, frozenset(BACKENDS), f"{where} lacking")
    shares = table.get("shares", False)
    return DeviceRoute(name, where, tuple(table.get("devices", ())), note, lacking, shares)


def _check_unique(capabilities: list[Capability]) -> None:
    seen: dict[str, str] = {}
    for capability in capabilities:
        for dotted in capability.spellings:
            if dotted in seen:
                raise GenerationError(
                    f"{capability.where}: spelling {dotted!r} already belongs to {seen[dotted]}."
                )
            seen[dotted] = capability.where
