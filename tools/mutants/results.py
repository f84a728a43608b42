"""Results of mutants: kept line by line, so that a run can go on where it stopped, and told as a table."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from tools.mutants.trees import Mutant, in_file

__all__ = ["Record", "Results", "difference", "known_equivalent", "report", "shared_record"]

EQUIVALENT = Path(__file__).with_name("equivalent.toml")
ASKED = 0.92
"""The share of mutants, of those that change something, which the tests of their room have to find."""


@dataclass(frozen=True)
class Record:
    """The outcome of one mutant: ``caught``, ``survived``, ``invalid`` (no program at all) or ``unknown``.

    Unknown is what did not end in time beside other work.
    """

    key: str
    room: str
    path: str
    line: int
    function: str
    kind: str
    outcome: str
    by: str
    seconds: float
    tests: int
    diff: str


class Results:
    """The file of the records, one JSON object on each line."""

    def __init__(self, path: Path) -> None:
        """Use ``path``, which need not be there yet."""
        self.path = path

    def read(self) -> dict[str, Record]:
        """Return the records by the mutants' keys; a line that was cut off is left out."""
        found: dict[str, Record] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    record = Record(**json.loads(line))
                except (ValueError, TypeError):
                    continue
                found[record.key] = record
        return found

    def add(self, record: Record) -> None:
        """Append a record, in one write."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            file.write((json.dumps(vars(record)) + "\n").encode())


def difference(mutant: Mutant, source: bytes) -> str:
    """Return the change as a unified diff without context."""
    before = source.decode().splitlines()
    after = mutant.edit.applied(source).decode().splitlines()
    lines = list(difflib.unified_diff(before, after, mutant.path, mutant.path, "", "", 0, ""))
    return "\n".join(lines[2:])


def shared_record(root: Path) -> Path:
    """Return the one file of records that all worktrees of the repository continue; git keeps it, and commits nothing."""
    command = ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()) / "mutants" / "results.jsonl"


def known_equivalent(root: Path) -> dict[str, str]:
    """Return why a mutant of the sources below ``root`` changes nothing that can be seen, by the mutants' keys.

    Raises:
        ValueError: an entry lacks its reason, stands twice, or is no mutant of its file, or several.
    """
    data: dict[str, Any] = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for entry in data.get("mutant", ()):
        place = (
            f"{EQUIVALENT.name}: the entry for {entry['function'] or 'the top'} of {entry['path']}"
        )
        if not entry.get("why", "").strip():
            raise ValueError(f"{place} says no why")
        keys = _places(root, **{name: text for name, text in entry.items() if name != "why"})
        if len(keys) != 1:
            lines = ", ".join(map(str, keys)) or "none"
            raise ValueError(
                f"{place} is to be one mutant; lines at which there is one that reads so: {lines}\n"
                f"{entry['diff'].strip()}"
            )
        (same,) = keys.values()
        if found.keys() & same:
            raise ValueError(f"{place} stands twice\n{entry['diff'].strip()}")
        found.update(dict.fromkeys(same, entry["why"]))
    return found


def _places(
    root: Path, path: str, function: str, diff: str, beside: str = ""
) -> dict[int, list[str]]:
    """Return by line the keys of the mutants of ``function`` that read so; ``beside`` is the line before or after."""
    source = (root / path).read_bytes() if (root / path).is_file() else b""
    lines = ["", *(line.strip() for line in source.decode().splitlines()), ""]
    found: dict[int, list[str]] = {}
    for mutant in in_file("", path, root) if source else ():
        edit = mutant.edit
        last = edit.line + edit.before.count("\n") + 1
        if edit.function == function and (
            not beside or beside in (lines[edit.line - 1], lines[last])
        ):
            if _changed(difference(mutant, source)) == _changed(diff):
                found.setdefault(edit.line, []).append(mutant.key)
    return found


def _changed(diff: str) -> str:
    """The lines of a diff that are added or removed, without where they stand and how they are indented."""
    lines = [line for line in diff.strip().splitlines() if line[:1] in "+-"]
    return "\n".join(line[0] + line[1:].strip() for line in lines)


def report(records: list[Record], root: Path) -> tuple[str, bool]:
    """Return the table with the survivors, in Markdown, and whether enough was caught and all survivors explained.

    What is unknown counts as not caught.
    """
    equivalent = known_equivalent(root)
    why = {r.key: equivalent.get(r.key, "") for r in records}
    counts: dict[str, Counter[str]] = {}
    for record in records:
        outcome = (
            "equivalent" if record.outcome == "survived" and why[record.key] else record.outcome
        )
        counts.setdefault(record.room, Counter())[outcome] += 1
    whole: Counter[str] = sum(counts.values(), Counter())
    lines = [
        "| room | mutants | caught | equivalent | survived | unknown | share of those that change something |",
        "|:---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, one in [*counts.items(), ("all", whole)]:
        columns = [one[name] for name in ("caught", "equivalent", "survived", "unknown")]
        told = [sum(columns), *columns, f"{_share(one):.1%}"]
        lines.append(f"| {name} | {' | '.join(map(str, told))} |")
    left = [r for r in records if r.outcome == "survived" and not why[r.key]]
    for title, chosen in (
        ("Survivors", left),
        ("Unknown", [r for r in records if r.outcome == "unknown"]),
        ("Equivalent", [r for r in records if r.outcome == "survived" and why[r.key]]),
    ):
        lines += ["", f"## {title}", ""] if chosen else []
        for r in chosen:
            lines += [
                f"`{r.path}:{r.line}` {r.function}: {r.kind}",
                *([f"{why[r.key]}."] if why[r.key] else []),
            ]
            lines += ["", "```diff", r.diff, "```", ""]
    return "\n".join(lines) + "\n", _share(whole) >= ASKED and not left


def _share(counts: Counter[str]) -> float:
    tried = counts["caught"] + counts["survived"] + counts["unknown"]
    return counts["caught"] / tried if tried else 1.0
