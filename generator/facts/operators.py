"""ATen's operators and their kernels, from the table that ships in the torch wheel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]

from generator.facts.model import Operator
from generator.facts.pin import FactsError

_FUNC = re.compile(r"^(?P<name>\w+)(?:\.(?P<overload>\w+))?\(")
IMPLICIT, EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
NON_FUNCTIONAL = "CompositeExplicitAutogradNonFunctional"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster where libyaml is


def read_operators(path: Path) -> tuple[Operator, ...]:
    """Parse ``native_functions.yaml``; sorted by name and overload.

    Raises ``FactsError`` where the file is missing or is not what torch 2 ships.
    """
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # nosec B506  # a safe one
    except OSError as error:
        raise FactsError(
            f"torch's operator table {path.name} could not be read ({error.strerror}). It ships in "
            "the torch wheel under torchgen/packaged/ATen/native; reinstall torch."
        ) from error
    tables: dict[str, tuple[dict[str, Any], dict[str, str]]] = {}
    for entry in entries:
        match = _FUNC.match(entry["func"])
        if match is None:
            raise FactsError(f"torch's operator table has an entry without a name: {entry!r}.")
        full = match["name"] + (f".{match['overload']}" if match["overload"] else "")
        tables[full] = (entry, _dispatch(entry))
    found = [_operator(full, tables) for full in tables]
    return tuple(sorted(found, key=lambda item: (item.name, item.overload)))


def _dispatch(entry: dict[str, Any]) -> dict[str, str]:
    """``{"CPU, CUDA": kernel}`` as one entry per key."""
    table: dict[str, str] = {}
    for keys, kernel in (entry.get("dispatch") or {}).items():
        for key in keys.split(","):
            table[key.strip()] = str(kernel)
    if "ufunc_inner_loop" in entry:
        # The build generates kernels from these loops (add.out); the table does not repeat them.
        name = entry["func"].partition("(")[0].partition(".")[0]
        table.setdefault("CPU", f"ufunc_{name}_CPU")
        table.setdefault("CUDA", f"ufunc_{name}_CUDA")
    return table


def _operator(full: str, tables: dict[str, tuple[dict[str, Any], dict[str, str]]]) -> Operator:
    entry, own = tables[full]
    delegate = entry.get("structured_delegate")
    dispatch = dict(own)
    composite: Literal["implicit", "explicit"] | None = None
    if delegate is not None:
        if delegate not in tables:
            raise FactsError(f"operator {full} delegates to {delegate}, which the table lacks.")
        # The delegate's kernels serve all variants; entries of its own come first.
        dispatch = {**tables[delegate][1], **own}
    elif not own and not entry.get("structured"):
        # native_functions.yaml's rule: no dispatch table means one implicit composite kernel.
        dispatch = {IMPLICIT: full.partition(".")[0]}
    if IMPLICIT in dispatch:
        composite = "implicit"
    elif EXPLICIT in dispatch or NON_FUNCTIONAL in dispatch:
        composite = "explicit"
    tags = entry.get("tags") or []
    name, _, overload = full.partition(".")
    return Operator(
        name=name,
        overload=overload,
        dispatch=dict(sorted(dispatch.items())),
        composite=composite,
        delegate=delegate,
        tags=tuple(sorted([tags] if isinstance(tags, str) else tags)),
        python_module=entry.get("python_module"),
        variants=tuple(item.strip() for item in str(entry.get("variants", "function")).split(",")),
        schema=" ".join(str(entry["func"]).split()),
    )
