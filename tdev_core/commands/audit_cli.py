"""The command line of the audit: which names of torch a code base uses, and how each is answered; and the badge."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tdev_core.codemod.errors import UsageError
from tdev_core.codemod.output.about import version
from tdev_core.commands.saying import readable
from tdev_core.commands.site_cli import NEEDED, require
from tdev_core.errors import ConfigError, TdevError
from tdev_core.site.words import DEVICES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tdev_core.audit.collecting import Audit, Used

__all__ = ["badge", "main"]

_READS = {"libcst": "libcst", "pathspec": "pathspec"}


def main(argv: list[str]) -> int:
    """Run ``tdev audit``; return the exit status: 2 where something could not be read or written."""
    parser = argparse.ArgumentParser(
        prog="python -m tdev audit",
        description="Which names of torch a code base uses, and how each is answered on each backend.",
        epilog="Nothing of the code is imported or run.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders")
    parser.add_argument(
        "--format",
        default="table",
        choices=("table", "markdown", "json", "html"),
        help="table by default",
    )
    parser.add_argument("--all", action="store_true", help="also what is the same on every backend")
    _add_output(parser)
    options = parser.parse_args(argv)
    return _run(options, _report)


def badge(argv: list[str]) -> int:
    """Run ``tdev badge``; return the exit status: 2 where something could not be read or written."""
    parser = argparse.ArgumentParser(
        prog="python -m tdev badge",
        description="How many of the names of torch that a code base uses run on a backend.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders")
    parser.add_argument("--backend", default="mps", choices=tuple(DEVICES), help="mps by default")
    parser.add_argument(
        "--format",
        default="svg",
        choices=("svg", "json"),
        help="json: the endpoint of a badge service",
    )
    _add_output(parser)
    return _run(parser.parse_args(argv), _badge)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FILE", help="write it there")


def _run(options: argparse.Namespace, say: Callable[[argparse.Namespace, Audit], str]) -> int:
    try:
        require("an audit", {**NEEDED, **_READS})
        from tdev_core.audit.collecting import collect
        from tdev_core.site.reading import read
        from tdev_core.site.sources import find

        audit = collect(options.paths, read(find().root / "catalog.json"))
        if not audit.files and not audit.failed:
            raise ConfigError(
                f"there is no Python file and no notebook in {', '.join(options.paths)}."
            )
        _put(say(options, audit), options.output)
    except (TdevError, UsageError) as error:
        print(f"tdev: {error}", file=sys.stderr)
        return 2
    for path, why in audit.failed:
        print(f"{path}: {why}", file=sys.stderr)
    return 2 if audit.failed else 0


def _put(text: str, output: str | None) -> None:
    if output is None:
        with readable():
            sys.stdout.write(text)
        return
    try:
        Path(output).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"{output} cannot be written: {error.strerror or error}.") from None


def _report(options: argparse.Namespace, audit: Audit) -> str:
    from tdev_core.audit.reporting import as_html, as_json, as_markdown

    rows = audit.used if options.all else audit.differing()
    match options.format:
        case "markdown":
            return as_markdown(audit, rows)
        case "json":
            return as_json(audit, rows)
        case "html":
            return as_html(audit, rows, version())
        case _:
            return _table(audit, rows)


def _table(audit: Audit, rows: tuple[Used, ...]) -> str:
    from tdev_core.audit.reporting import advice, summary, where

    lines = summary(audit)
    if find_spec("rich") is None:
        body = "\n".join(
            f"{one.spellings[0]}  {' '.join(one.member.cells[b].route for b in DEVICES)}  {where(one.places)}"
            for one in rows
        )
        return "\n".join(line for line in (body, *lines) if line) + "\n"
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table("name", *DEVICES, "uses", "where")
    grid.columns[0].overflow = "fold"
    for column in grid.columns[1:7]:
        column.no_wrap = True
    for one in rows:
        cells = [Text(r, _COLOURS.get(r, "")) for r in (one.member.cells[b].route for b in DEVICES)]
        said = "\n".join([where(one.places), *advice(one)])
        grid.add_row(Text(one.spellings[0]), *cells, str(len(one.places)), Text(said))
    console = Console(
        width=None if sys.stdout.isatty() else 160, no_color=bool(os.environ.get("NO_COLOR"))
    )
    with console.capture() as captured:
        if rows:
            console.print(grid)
        for line in lines:
            console.print(Text(line))
    return captured.get()


_COLOURS = {"unsupported": "red", "fallback": "yellow"}


def _badge(options: argparse.Namespace, audit: Audit) -> str:
    from tdev_core.audit.badges import as_endpoint, as_svg

    make = as_endpoint if options.format == "json" else as_svg
    return make(audit, options.backend)
