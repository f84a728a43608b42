"""The report of what was routed how, how often, and what fell back: the counters by the catalog's table."""

from __future__ import annotations

import atexit
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tdev_core import settings
from tdev_core.accelerators.privateuse import waits
from tdev_core.backend import current
from tdev_core.errors import ConfigError
from tdev_core.metrics import counters

if TYPE_CHECKING:
    from tdev_core.measure.monitoring import Summary

__all__ = ["VERSION", "Report", "as_dict", "print_at_exit", "report"]

VERSION = 1
"""Of the report as JSON."""


def _routes_of(names: Iterable[str], backend: str) -> dict[str, str]:
    """By which route each function was answered on ``backend``; read when a report asks for it.

    Methods and constructors are no rows of the table: there a shim has translated the device.
    """
    from tdev_core.mirror import matrix  # a table of a megabyte, which most processes never read

    try:
        rows = matrix.load().by_name()
    except ConfigError:
        return {}  # a report without this column is still one
    return {name: rows[name].cells[backend].route if name in rows else "shim" for name in names}


@dataclass(frozen=True)
class Report:
    """Calls through the mirror so far, as :func:`report` found them.

    Attributes:
        backend: the active backend.
        counting: whether calls are counted (``TDEV_REPORT=1``).
        calls: number of calls by function, most frequent first.
        routes: the route by which each called function was answered; ``shim`` for methods.
        fallbacks: number of operations that ran on the CPU instead, by operator.
        waits: how often the program waited for the device, by line and operator (``sim``), most frequent first.
        standins: packages that are not installed and that tdev answered for, sorted.
        kernels: calls and seconds of each kernel of Triton's that was interpreted, by its name.
        watched: steps, phases, memory, waits, copies, fallbacks, compilers and errors; None: nothing watched.
    """

    backend: str
    counting: bool
    calls: dict[str, int]
    routes: dict[str, str]
    fallbacks: dict[str, int]
    waits: dict[str, int]
    standins: list[str] = field(default_factory=list)
    kernels: dict[str, tuple[int, float]] = field(default_factory=dict)
    watched: Summary | None = None

    def __str__(self) -> str:
        lines = [f"tdev report: backend '{self.backend}'"]
        if not self.counting:
            lines.append("  calls are not counted; set TDEV_REPORT=1 before the program starts")
        width = max((len(name) for name in (*self.calls, *self.fallbacks)), default=0)
        for name, count in self.calls.items():
            lines.append(f"  {name:<{width}}  {count:>9,}  {self.routes.get(name, '')}".rstrip())
        if self.counting and not self.calls:
            lines.append("  no routed function was called")
        if self.fallbacks:
            lines.append("  fell back to the CPU:")
            lines += [f"  {name:<{width}}  {count:>9,}" for name, count in self.fallbacks.items()]
        if self.waits:
            lines.append("  waited for the device:")
            width = max(map(len, self.waits))
            lines += [f"  {name:<{width}}  {count:>9,}" for name, count in self.waits.items()]
        if self.standins:
            lines.append(f"  stood in for packages: {', '.join(self.standins)}")
        if self.kernels:
            lines.append("  interpreted kernels of Triton:")
            width = max(map(len, self.kernels))
            for name, (count, seconds) in self.kernels.items():
                lines.append(f"  {name:<{width}}  {count:>9,}  {seconds:.2f} s")
        if self.watched is not None:
            lines.append(str(self.watched))
        return "\n".join(lines)


def _watched() -> Summary | None:
    from tdev_core.measure import monitoring  # which most processes never need

    monitor = monitoring.running()
    return None if monitor is None else monitor.summary()


def report() -> Report:
    """Return what was routed how and how often in this process, and what fell back.

    Returns:
        A :class:`Report`; ``print(tdev.report())`` shows it as a table.
    """
    # Which most processes never need.
    from tdev_core.packages import asking
    from tdev_core.packages.interpreter import launches

    calls = dict(counters.calls.most_common())
    backend = current().value
    return Report(
        backend=backend,
        counting=counters.enabled(),
        calls=calls,
        routes=_routes_of(calls, backend) if calls else {},
        fallbacks=dict(counters.fallbacks.most_common()),
        waits={f"{w.file}:{w.line} {w.operator}": n for w, n in waits.seen.most_common()},
        standins=asking.standing(),
        kernels=dict(launches.seen),
        watched=_watched(),
    )


def print_at_exit() -> None:
    """Watch this process, and arrange for the report to be printed on stderr when the interpreter ends.

    With ``TDEV_REPORT=html`` it is written as one page, with ``TDEV_REPORT=json`` or ``TDEV_REPORT_DIR`` as JSON, a file for
    each process: into that directory, else the one in which the program runs.
    """
    from tdev_core.measure import monitoring

    folder, word = os.environ.get("TDEV_REPORT_DIR", ""), settings.word("TDEV_REPORT")
    most = os.environ.get("TDEV_REPORT_STEPS", "") or "0"
    if not most.isdecimal():
        raise ConfigError(f"TDEV_REPORT_STEPS={most!r} is no number of steps.")
    monitoring.Monitor(int(most)).start()
    if folder or word:
        atexit.register(_write, folder or os.getcwd(), word or "json")
    else:
        atexit.register(lambda: print(report(), file=sys.stderr))


def as_dict(found: Report) -> dict[str, Any]:
    """Return a report made of JSON types: what ``TDEV_REPORT=json`` writes.

    Keys are added and keep their meaning within one ``version``.
    """
    return {
        "version": VERSION,
        "backend": found.backend,
        "calls": found.calls,
        "answered": sorted(counters.answered),
        "routes": found.routes,
        "fallbacks": found.fallbacks,
        "waits": found.waits,
        "standins": found.standins,
        "kernels": found.kernels,
        "watched": None if found.watched is None else found.watched.as_dict(),
    }


def _write(folder: str, form: str) -> None:
    found = report()
    if form == "html":
        from tdev_core.mirror.page import page

        text = page(found)
    else:
        text = json.dumps(as_dict(found), indent=1)
    try:
        handle, path = tempfile.mkstemp(
            prefix=f"tdev-report-{found.backend}-{os.getpid()}-", suffix=f".{form}", dir=folder
        )
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        print(f"tdev: the report could not be written to {folder}: {error}", file=sys.stderr)
        return
    if form == "html":
        print(f"tdev: the report is {path}", file=sys.stderr)
