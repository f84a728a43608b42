"""Time that would go into taking care of objects that are kept to the end."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["leave", "uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Facts and syntax trees are millions of objects that are kept to the end: collecting while they grow
    reads them again and again, and doubles the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def leave(status: int) -> NoReturn:
    """End this process: what is registered for its end runs, and nothing is taken apart.

    Python would visit millions of objects and every module of torch, to free memory that the system takes
    back at once; that takes seconds.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
