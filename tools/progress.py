"""Shows that long commands are alive: one status line on a terminal, a line now and then in a log."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

_HEARTBEAT_S = 10.0


class StepFailed(Exception):
    """A command ended with another status than 0; ``output`` holds its last lines."""

    def __init__(self, command: Sequence[str], status: int, output: str) -> None:
        super().__init__(f"{' '.join(command)} ended with exit status {status}")
        self.status = status
        self.output = output


class StatusLine:
    """A line that is rewritten in place on a terminal, and printed every ten seconds elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._printed = time.monotonic()
        self._shown = False

    def show(self, text: str) -> None:
        if self._terminal:
            width = max(20, os.get_terminal_size().columns - 1)
            print("\r\x1b[K" + text[:width], end="", flush=True)
            self._shown = True
        elif time.monotonic() - self._printed >= _HEARTBEAT_S:
            print("  " + text[:160], flush=True)
            self._printed = time.monotonic()

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", flush=True)
            self._shown = False


def heading(text: str) -> None:
    print(f"\n== {text}", flush=True)


def run_quietly(
    title: str, command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None
) -> str:
    """Runs a command while a status line tells how long it has run and what it said last.

    Returns its output (standard output and error together). Raises StepFailed, with the last 60 lines.
    """
    started = time.monotonic()
    lines: deque[str] = deque(maxlen=20_000)
    status = StatusLine()
    process = subprocess.Popen(
        list(command),
        cwd=cwd,
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )

    def append() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())

    reader = threading.Thread(target=append, daemon=True)
    reader.start()
    try:
        while process.poll() is None:
            last = lines[-1] if lines else ""
            status.show(f"{title} ({time.monotonic() - started:.0f} s)  {last}")
            time.sleep(0.2)
    except KeyboardInterrupt:
        process.terminate()
        raise
    finally:
        status.clear()
    reader.join(timeout=5)
    if process.returncode != 0:
        raise StepFailed(command, process.returncode, "\n".join(list(lines)[-60:]))
    print(f"{title}: {time.monotonic() - started:.0f} s", flush=True)
    return "\n".join(lines)
