"""Calls a function of a module: what a process runs that :func:`.diffing.diff` starts."""

from __future__ import annotations

import importlib
import sys
from functools import reduce

__all__ = ["main"]


def main(argv: list[str]) -> None:
    """Import a module, from a directory unless that is empty, and call what has a name in it."""
    folder, module, name = argv
    if folder:
        sys.path.insert(0, folder)
    reduce(getattr, name.split("."), importlib.import_module(module))()  # type: ignore[operator]  # a function, as its caller has seen


if __name__ == "__main__":
    main(sys.argv[1:])
