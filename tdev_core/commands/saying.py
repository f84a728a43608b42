"""Writes a command's answer to standard output, whose reader may have seen enough before its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["readable", "say"]


@contextmanager
def readable() -> Iterator[None]:
    """Let what is printed inside end early where its reader (``head``, ``less``) does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter must not flush to it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Print ``text``, as far as somebody reads it."""
    with readable():
        print(text)
