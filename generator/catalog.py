"""``catalog.json``: how it is written, so that a diff shows one line per member, and read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from generator.errors import GenerationError

__all__ = ["SCHEMA", "dumps", "loads", "read"]

SCHEMA = 4


def dumps(catalog: dict[str, Any]) -> str:
    """Return the catalog as text: JSON with one line for each module, mirror, shim and member."""
    lines = ["{"]
    keys = list(catalog)
    for number, key in enumerate(keys):
        comma = "," if number < len(keys) - 1 else ""
        value = catalog[key]
        if isinstance(value, dict) and value:
            rows = [f"  {_compact(name)}: {_compact(row)}" for name, row in value.items()]
            lines += [f"{_compact(key)}: {{", ",\n".join(rows), f"}}{comma}"]
        elif isinstance(value, list) and value:
            rows = [f"  {_compact(row)}" for row in value]
            lines += [f"{_compact(key)}: [", ",\n".join(rows), f"]{comma}"]
        else:
            lines.append(f"{_compact(key)}: {_compact(value)}{comma}")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def loads(text: str, where: str = "catalog.json") -> dict[str, Any]:
    """Return the catalog that :func:`dumps` wrote.

    Raises:
        GenerationError: the text is not JSON, or of another schema.
    """
    try:
        catalog = json.loads(text)
    except ValueError as error:
        raise GenerationError(
            f"{where} is not valid JSON ({error}). Write it anew with: python -m generator"
        ) from None
    if not isinstance(catalog, dict) or catalog.get("schema") != SCHEMA:
        raise GenerationError(
            f"{where} is not of schema {SCHEMA}. Write it anew with: python -m generator"
        )
    return catalog


def read(path: Path) -> dict[str, Any]:
    """Return the catalog in the file ``path``."""
    try:
        return loads(path.read_text(encoding="utf-8"), path.name)
    except FileNotFoundError:
        raise GenerationError(
            f"{path} does not exist. Write it with: python -m generator"
        ) from None
