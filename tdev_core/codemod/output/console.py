"""Sends a run's words where they go: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def out(text: str) -> None:
    """Print a line of result."""
    _print(text, sys.stdout)


def err(text: str) -> None:
    """Print a line about the run."""
    _print(text, sys.stderr)


def out_bytes(raw: bytes) -> None:
    """Print a result that is bytes (a diff keeps the encoding of its file)."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(raw.decode("utf-8", "replace"))
        return
    sys.stdout.flush()
    buffer.write(raw)
    buffer.flush()


def _print(text: str, stream: object) -> None:
    # A file name need not be text, and a console need not know every character.
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)  # type: ignore[call-overload]


@contextmanager
def progress(total: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """Give a function to call once per file; it draws a bar where standard error is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda: None
        return
    # Only a terminal gets a bar, and rich takes longer to import than most runs take.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    # Transient: what stays on the screen is what a run without a terminal prints. Not redirected:
    # standard output carries bytes.
    bar = Progress(
        *columns,
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bar:
        task = bar.add_task("files", total=total)
        yield lambda: bar.advance(task)
