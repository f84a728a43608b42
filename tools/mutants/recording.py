"""Record the lines of the sources that a process executes; a copy of this file is ``sitecustomize`` in a tree whose tests are recorded.

In the process that runs the tests a recorder is started and asked after each of them. A program that a test starts
imports ``sitecustomize`` before its first line, as every interpreter does, and leaves at its end what it has executed in the
folder that :data:`FOLDER` names. coverage.py knows no contexts for processes that are forked from a warm server.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import tempfile
import threading
from types import FrameType
from typing import Any

__all__ = ["FOLDER", "Lines", "Recorder", "left_behind"]

FOLDER = "MUTANTS_LINES"
"""The variable of the environment that names the folder for what programs have executed."""

Lines = dict[str, int]
"""By path below the root, the lines as bits."""


class Recorder:
    """Sees each line of ``tdev_core`` and ``generated`` below a root that this process executes."""

    def __init__(self, root: str) -> None:
        """See nothing yet."""
        self._seen: dict[str, set[int]] = {}
        self._tracers = _Tracers(root, self._seen)

    def start(self) -> None:
        """Look at every thread from now on."""
        threading.settrace(self._called)
        sys.settrace(self._called)

    def stop(self) -> None:
        """Look at this thread and at new ones no more."""
        threading.settrace(None)
        sys.settrace(None)

    def taken(self) -> Lines:
        """Return what was executed since this was asked last."""
        found: Lines = {}
        for path, lines in self._seen.items():
            if lines:
                found[path] = sum(1 << line for line in set(lines))
                lines.clear()
        return found

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._tracers[frame.f_code.co_filename]


class _Tracers(dict[str, Any]):
    """By file what is called for each of its lines; None for a file of others."""

    def __init__(self, root: str, seen: dict[str, set[int]]) -> None:
        super().__init__()
        self._root, self._seen = root.rstrip(os.sep) + os.sep, seen
        self._ours = tuple(self._root + name + os.sep for name in ("tdev_core", "generated"))

    def __missing__(self, file: str) -> Any:
        tracer = None
        if file.startswith(self._ours):
            add = self._seen.setdefault(file[len(self._root) :], set()).add

            def tracer(frame: FrameType, event: str, argument: object) -> Any:
                add(frame.f_lineno)
                return tracer

        self[file] = tracer
        return tracer


def left_behind(folder: str) -> list[Lines]:
    """Return what programs that have ended have left in ``folder``, and take it away."""
    found = []
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        if entry.name.endswith(".json"):
            with open(entry.path, encoding="utf-8") as file:
                found.append({path: int(bits, 16) for path, bits in json.load(file).items()})
            os.unlink(entry.path)
    return found


def _leave(recorder: Recorder, folder: str) -> None:
    recorder.stop()
    body = {path: f"{bits:x}" for path, bits in recorder.taken().items()}
    number, name = tempfile.mkstemp(suffix=".new", dir=folder)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        json.dump(body, file)
    os.rename(name, name.removesuffix(".new") + ".json")


def _record_program() -> None:
    recorder = Recorder(os.path.dirname(os.path.abspath(__file__)))
    atexit.register(_leave, recorder, os.environ[FOLDER])
    recorder.start()


if __name__ == "sitecustomize" and FOLDER in os.environ:
    _record_program()
