"""``python -m benchmarks [NAME …]``: measures, prints one table, and writes RESULTS.md after a full run."""

from __future__ import annotations

import argparse
import datetime
import importlib
import os
import platform
import sys
import time
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.rows import Row

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "RESULTS.md"
_HEADINGS = ("what", "measured", "budget", "", "how")


def main() -> int:
    names = _names()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures what tdev costs, against torch in the same run.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"only these of: {', '.join(names)}"
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(names))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(names)}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    rows = list[Row]()
    for name in arguments.names or names:
        started = time.monotonic()
        with console.status(f"measuring {name} …"):
            rows += importlib.import_module(f"benchmarks.bench_{name}").measure()
        console.print(f"{name}: {time.monotonic() - started:.0f} s", style="dim")
    _print(rows, console)
    if not arguments.names:
        RESULTS.write_text(_markdown(rows), encoding="utf-8")
        console.print(f"written to {RESULTS.relative_to(HERE.parent)}")
    return 0


def _names() -> list[str]:
    """Return the benchmarks of the common table; a module without ``measure`` is a program of its own."""
    files = [
        p for p in HERE.glob("bench_*.py") if "\ndef measure(" in p.read_text(encoding="utf-8")
    ]
    return sorted(p.stem.removeprefix("bench_") for p in files)


def _print(rows: list[Row], console: Console) -> None:
    table = Table(title=f"tdev benchmarks, {machine()}")
    for heading in _HEADINGS:
        table.add_column(heading, justify="right" if heading in ("measured", "budget") else "left")
    for row in rows:
        style = "bold red" if row.within is False else None
        table.add_row(*row.cells(), style=style)
    console.print(table)


def machine() -> str:
    """Return the processor, its logical cores, the system, and the versions that were measured."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = models[0] if models else model
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()},"
        f" Python {platform.python_version()}, torch {metadata.version('torch')}"
    )


def _markdown(rows: list[Row]) -> str:
    today = datetime.date.today().isoformat()
    lines = [
        "# Benchmark results",
        "",
        f"Written by `python -m benchmarks` on {today}. {machine()}.",
        "Ratios and differences of medians, both sides measured by turns in the same run.",
        "",
        "| " + " | ".join(_HEADINGS) + " |",
        "| --- | ---: | ---: | --- | --- |",
        *("| " + " | ".join(row.cells()) + " |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
