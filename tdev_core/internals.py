"""Rely on what is private to torch, or to CPython, without breaking where it has become something else.

A private part may go, or change its shape, in any release. Whoever relies on one does so inside :func:`relying_on`,
which knows what is lost without it: a program then goes on without that, and is told once, in one line.
``tests/ground/test_internals.py`` lists every private part that tdev uses, with the reason, and takes them away.

Imports nothing of torch: the codemod runs where there is none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tdev_core.errors import InternalsWarning, warn_once

__all__ = ["lose", "relying_on"]


@contextmanager
def relying_on(part: str, without: str) -> Iterator[None]:
    """Run a block that relies on ``part``; where that fails, warn of what is lost ``without`` it and go on after the block.

    Args:
        part: the dotted name of what is private, ``torch.jit._state``.
        without: what does not work then, as a sentence about the user's program, without a full stop.
    """
    try:
        yield
    except Exception as error:  # whatever shape the part has now
        lose(part, without, f"{type(error).__name__}: {error}")


def lose(part: str, without: str, why: str) -> None:
    """Warn, once for each ``part``, that it is not what tdev knows it to be, and of what is lost."""
    version = getattr(sys.modules.get("torch"), "__version__", "")
    owner = f"torch {version}" if part.startswith("torch") else f"Python {sys.version.split()[0]}"
    warn_once(
        f"{owner.strip()} has no {part} as this version of tdev knows it ({why}). {without}; "
        "everything else works. Upgrade tdev, or install the version of it that this tdev was made for.",
        InternalsWarning,
        code="TDEV401",
        key=part,
        stacklevel=2,
    )
