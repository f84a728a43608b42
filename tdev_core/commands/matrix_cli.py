"""The command line of the compatibility table: filters and formats."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections import Counter
from typing import Any

from tdev_core.commands.saying import readable
from tdev_core.errors import TdevError
from tdev_core.mirror.matrix import COLUMNS, Row, Table, load, select

__all__ = ["main", "markdown"]

_ROUTES = ("same", "native", "mapped", "emulated", "noop", "fallback", "unsupported")
_EVIDENCE = ("executed", "executed-on-gpu", "inherited", "checked")
_HEADINGS = ("Status", "Arguments", "Return Type", "Notes")
_MARKS = {"executed": "*", "executed-on-gpu": "+", "inherited": "=", "checked": ""}
_LEGEND = (
    "* a test executes it on that backend and asserts its value, effect or error, + executed on CUDA "
    "hardware, = torch's own object, no mark: checked against the real API; done: answered on every "
    "backend, partial: unsupported on at least one"
)


def main(argv: list[str]) -> int:
    """Print the table; returns the exit status (0, or 2 for an error)."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        table = load()
        rows = select(
            table.rows,
            pattern=options.pattern,
            category=options.category,
            backend=options.backend,
            route=options.route,
            evidence=options.evidence,
            status=options.status,
            planned=options.plan,
        )
    except TdevError as error:
        print(f"tdev: {error}", file=sys.stderr)
        return 2
    columns = (options.backend,) if options.backend else COLUMNS
    if not rows:
        known = sorted({row.category for row in table.rows})
        print(f"tdev: no function fits. Categories: {', '.join(known)}", file=sys.stderr)
    with readable():
        _FORMATS[options.format](table, rows, columns)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tdev matrix",
        description="Which function of torch is answered how on which backend.",
    )
    parser.add_argument(
        "pattern", nargs="?", default="", help="part of a name, or one with * and ?"
    )
    parser.add_argument(
        "--plan", "--seed", action="store_true", help="only the migration plan's functions"
    )
    parser.add_argument("--category", default="", help="a category, or a part of its name")
    parser.add_argument("--backend", default="", choices=COLUMNS, help="only this column")
    parser.add_argument("--route", default="", choices=_ROUTES, help="answered by this route")
    parser.add_argument("--evidence", default="", choices=_EVIDENCE)
    parser.add_argument("--status", default="", choices=("done", "partial", "gone"))
    parser.add_argument("--format", default="text", choices=tuple(_FORMATS))
    return parser


def _totals(rows: list[Row]) -> dict[str, int]:
    counts = Counter(row.status for row in rows)
    return {
        "total": len(rows),
        "done": counts["done"],
        "not done": counts["partial"] + counts["gone"],
        "partial": counts["partial"],
        "gone": counts["gone"],
    }


def _totals_text(table: Table, rows: list[Row]) -> str:
    totals = _totals(rows)
    return (
        f"torch {table.torch}: total {totals['total']}, done {totals['done']}, "
        f"not done {totals['not done']} ({totals['partial']} unsupported on at least one backend, "
        f"{totals['gone']} that this torch no longer has)"
    )


def _by_category(rows: list[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.category, row.name)):
        groups.setdefault(row.category, []).append(row)
    return groups


def _cells(row: Row, columns: tuple[str, ...]) -> list[str]:
    return [
        row.cells[backend].route + _MARKS.get(row.cells[backend].evidence, "")
        for backend in columns
    ]


def _line(row: Row, columns: tuple[str, ...]) -> list[str]:
    rest = [row.status, row.arguments, row.returns, row.remarks]
    return [row.name, *_cells(row, columns), *rest]


def _text(table: Table, rows: list[Row], columns: tuple[str, ...]) -> None:
    headings = [*(backend.upper() for backend in columns), *_HEADINGS]
    try:
        from rich.console import Console
        from rich.table import Table as Grid
    except ImportError:
        _plain_text(rows, columns, headings)
    else:
        console = Console(width=None if sys.stdout.isatty() else 200)
        for category, group in _by_category(rows).items():
            grid = Grid(category, *headings, expand=True)
            grid.columns[0].overflow = "fold"
            for number in range(1, len(columns) + 2):
                grid.columns[number].no_wrap = True
            for row in group:
                grid.add_row(*(value.replace("[", "\\[") for value in _line(row, columns)))
            console.print(grid)
    print(_totals_text(table, rows))
    print(_LEGEND)


def _plain_text(rows: list[Row], columns: tuple[str, ...], headings: list[str]) -> None:
    for category, group in _by_category(rows).items():
        lines = [[category, *headings], *(_line(row, columns) for row in group)]
        widths = [max(len(line[number]) for line in lines) for number in range(len(columns) + 2)]
        for line in lines:
            start = "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False))
            print("  ".join([start, *line[len(widths) :]]).rstrip())
        print()


def markdown(table: Table, rows: list[Row], columns: tuple[str, ...] = COLUMNS) -> str:
    """Return the rows as Markdown tables, one for each category, and the totals with the legend below."""
    headings = [*(backend.upper() for backend in columns), *_HEADINGS]
    lines: list[str] = []
    for category, group in _by_category(rows).items():
        lines.append(f"| {' | '.join([category, *headings])} |")
        lines.append(f"|:---|{':---:|' * (len(columns) + 1)}---|---|---|")
        for row in group:
            name, *cells = (value.replace("|", "\\|") for value in _line(row, columns))
            arguments = f"`{cells[-3]}`" if cells[-3] else ""
            returns = f"`{cells[-2]}`" if cells[-2] else ""
            shown = [f"`{name}`", *cells[:-3], arguments, returns, cells[-1]]
            lines.append(f"| {' | '.join(shown)} |")
        lines.append("")
    legend = _LEGEND.replace("* a", "\\* a")
    return "\n".join([*lines, f"{_totals_text(table, rows)}.", "", f"{legend}."])


def _markdown(table: Table, rows: list[Row], columns: tuple[str, ...]) -> None:
    print(markdown(table, rows, columns))


def _as_dict(row: Row, columns: tuple[str, ...]) -> dict[str, Any]:
    return {
        "category": row.category,
        "name": row.name,
        "kind": row.kind,
        "mirror": row.mirror,
        "planned": row.planned,
        **{backend: vars(row.cells[backend]) for backend in columns},
        "status": row.status,
        "arguments": row.arguments,
        "returns": row.returns,
        "note": row.remarks,
    }


def _json(table: Table, rows: list[Row], columns: tuple[str, ...]) -> None:
    body = [_as_dict(row, columns) for row in rows]
    print(json.dumps({"torch": table.torch, "totals": _totals(rows), "rows": body}, indent=1))


def _csv(table: Table, rows: list[Row], columns: tuple[str, ...]) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    parts = [
        f"{backend}{part}"
        for backend in columns
        for part in ("", " evidence", " asserted", " note")
    ]
    writer.writerow(["category", "name", *parts, "status", "arguments", "returns", "note"])
    for row in rows:
        cells = [
            value
            for backend in columns
            for value in (
                row.cells[backend].route,
                row.cells[backend].evidence,
                row.cells[backend].asserted,
                row.cells[backend].note,
            )
        ]
        rest = [row.status, row.arguments, row.returns, row.note]
        writer.writerow([row.category, row.name, *cells, *rest])
    sys.stdout.write(buffer.getvalue())


_FORMATS = {"text": _text, "markdown": _markdown, "json": _json, "csv": _csv}
