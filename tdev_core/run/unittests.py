"""Has ``unittest`` say at the end of a run what pytest's summary says: which tests were skipped because of CUDA, in vain or not."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any

from tdev_core.import_hooks import when_imported
from tdev_core.run import telling

__all__ = ["watch"]

_WHAT_INCLUDES = "python -m tdev run --root DIR includes a module"
_YELLOW, _RED = "\x1b[33m", "\x1b[31;1m"


def watch() -> None:
    """Have every ``unittest.TextTestRunner`` tell, and those made of it; ``unittest`` itself is not imported."""
    when_imported(["unittest.runner"], _tell)


def _tell(module: ModuleType) -> None:
    runner: Any = module.__dict__["TextTestRunner"]
    original = runner.run
    if getattr(original, "tdev_original", None) is not None:
        return

    @functools.wraps(original)
    def run(self: Any, test: Any) -> Any:
        result = original(self, test)
        # A result of the program's own need not keep what was skipped.
        reasons = [str(reason) for _, reason in getattr(result, "skipped", ())]
        _write(self.stream, telling.of_skipped(reasons), _YELLOW)
        _write(self.stream, telling.of_skipped_in_vain(reasons, _WHAT_INCLUDES), _RED)
        return result

    run.tdev_original = original  # type: ignore[attr-defined]  # a mark on a function, which has no such attribute
    runner.run = run


def _write(stream: Any, said: str | None, colour: str) -> None:
    """Write a line, in colour on a terminal; ``NO_COLOR`` is heeded (https://no-color.org)."""
    if said is None:
        return
    line = f"tdev: {said}"
    on_terminal = getattr(stream, "isatty", None)
    if on_terminal is not None and on_terminal() and not os.environ.get("NO_COLOR"):
        line = f"{colour}{line}\x1b[0m"
    stream.write(f"{line}\n")
    stream.flush()
