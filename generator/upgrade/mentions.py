"""Find where the project names the torches that its catalog is of, besides the catalog: pages, the nightly run, the site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from generator import paths
from generator.errors import GenerationError
from generator.union import short

__all__ = ["mention"]

_RANGE = re.compile(r"(?<=[Tt]orch )\d+\.\d+ to \d+\.\d+")
_MATRIX = re.compile(r"(?<=torch: )\[\"[\d.]+\"(?:, \"[\d.]+\")*\]")
_DATES = re.compile(r"(?<=^RECORDED = \{\n)(?:    \"[\d.]+\": \"[\d-]+\",\n)*", re.MULTILINE)


def mention(torches: Sequence[str], root: Path = paths.ROOT) -> list[str]:
    """Write the releases ``torches``, oldest first, wherever they are named; return the files that this changed.

    Raises:
        GenerationError: a file does not name them as it used to.
    """
    span = f"{short(torches[0])} to {short(torches[-1])}"
    matrix = "[" + ", ".join(f'"{version}"' for version in torches) + "]"
    site = root / "tdev_core" / "site" / "versions.py"
    known = dict(
        re.findall(r'^    "([\d.]+)": "([\d-]+)",$', site.read_text("utf-8"), re.MULTILINE)
    )
    today = date.today().isoformat()  # a version that is there already keeps its date
    dates = "".join(f'    "{version}": "{known.get(version, today)}",\n' for version in torches)
    changed = []
    for path, named, text in (
        (root / "README.md", _RANGE, span),
        (root / "CHANGELOG.md", _RANGE, span),
        (root / ".github" / "workflows" / "ci.yml", _MATRIX, matrix),
        (site, _DATES, dates),
    ):
        before = path.read_text(encoding="utf-8")
        after, found = named.subn(text, before, count=1)
        if not found:
            raise GenerationError(
                f"{path.name} does not name the torches any more; write there {text}"
            )
        if after != before:
            path.write_text(after, encoding="utf-8", newline="\n")
            changed.append(str(path.relative_to(root)))
    return changed
