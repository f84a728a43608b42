"""The names of torch that ship with the mirror, for programs that run it on a torch newer than all that it is of.

``tdev/_names.json`` holds the names of each module in the newest of them, public ones and those that a type checker sees, submodules among
them, one line a module; ``untyped`` are private modules of which only the existence is known, and ``translated`` the functions that
call torch's own with their devices translated. ``tdev_core.mirror.versions`` reads it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

__all__ = ["names_text"]


def names_text(catalog: dict[str, Any]) -> str:
    """Return the table as JSON."""
    below: dict[str, set[str]] = defaultdict(set)
    for name in (*catalog["modules"], *catalog["private"], *catalog["untyped"]):
        package, _, leaf = name.rpartition(".")
        below[package].add(leaf)
    rows = []
    for name, row in sorted({**catalog["modules"], **catalog["private"]}.items()):
        gone = {item for item, text in row["partial"].items() if not text.endswith("newer")}
        names = {*row.get("typed", ()), *row["names"], *below[name]} - gone
        rows.append(f"{json.dumps(name)}: {json.dumps(' '.join(sorted(names)))}")
    translated = [name for name, row in catalog["members"].items() if row["mirror"] == "translated"]
    head = (
        f'"torch": {json.dumps(catalog["torch"])},\n"untyped": {json.dumps(catalog["untyped"])},'
        f'\n"translated": {json.dumps(sorted(translated))},'
    )
    return f'{{{head}\n"names": {{\n' + ",\n".join(rows) + "\n}}\n"
