"""``python -m tdev report``: reads a report that a program has written with ``TDEV_REPORT=json``, and draws its steps."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tdev_core.commands.saying import say
from tdev_core.errors import ConfigError

USAGE = """\
usage: python -m tdev report [--plot FILE.svg] REPORT.json

Shows the steps of a report that TDEV_REPORT=json has a program write: their time and memory over time, the phases, and where the
host waited. --plot draws them, by matplotlib (pip install 'tdev[plot]').

Exit status: 0 shown, 2 it is no report, or cannot be drawn.
"""
_SHOWN = 8


def main(argv: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    rest, plot = list(argv), ""
    if not rest or rest[0] in ("-h", "--help"):
        say(USAGE.rstrip())
        return 0 if rest else 2
    try:
        while rest and rest[0].startswith("-"):
            name, is_set, value = rest.pop(0).partition("=")
            if name != "--plot" or not (is_set or rest):
                raise ConfigError(
                    f"{name}: no such option, or without its value\n\n{USAGE.rstrip()}"
                )
            plot = value if is_set else rest.pop(0)
        if len(rest) != 1:
            raise ConfigError("one report is needed")
        return _show(Path(rest[0]), plot)
    except ConfigError as error:
        print(f"tdev report: {error}", file=sys.stderr)
        return 2


def _show(path: Path, plot: str) -> int:
    from tdev_core.measure import plotting

    found = _read(path)
    watched = found["watched"]
    lines = [f"{path.name}: backend {found['backend']}, {watched['steps']:,} steps"]
    lines.append(plotting.steps(watched))
    for phase, seconds in watched["seconds"].items():
        lines.append(
            f"{phase:<9} {1e3 * seconds:>8.2f} ms {watched['memory'][phase] / 2**20:>8.1f} MiB"
        )
    waits = list(watched["waits"].items())[:_SHOWN]
    if waits:
        lines.append("waited for the device:")
        lines += [f"  {where}  {one['count']} ×, {one['seconds']:.3f} s" for where, one in waits]
    say("\n".join(lines))
    if plot:
        plotting.draw_steps(Path(plot), f"{watched['steps']} steps on {found['backend']}", watched)
    return 0


def _read(path: Path) -> dict[str, Any]:
    """Return a report; raises :class:`ConfigError` where it is none, or of another version."""
    from tdev_core.mirror.report import VERSION

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{path} is no JSON: TDEV_REPORT=json writes what is read here") from None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise ConfigError(f"{path} is no report of version {VERSION}")
    if not found.get("watched"):
        raise ConfigError(f"{path}: no training was watched")
    return found
