"""Name the torch that the facts are about, and say so when another one is installed."""

from __future__ import annotations

import importlib.metadata
import re

PINNED = "2.13.0"


class FactsError(Exception):
    """Facts cannot be had; the message is one paragraph that says why and what to do.

    Command-line tools print it and exit with status 2.
    """


def normalise(version: str) -> str:
    """Drop the local part of a version: ``2.13.0+cpu`` and ``2.13.0+cu130`` are one release."""
    return version.partition("+")[0]


def installed_version() -> str:
    """Release of the torch that ``import torch`` would give, without importing it.

    Raises ``FactsError`` where there is none.
    """
    try:
        return normalise(importlib.metadata.version("torch"))
    except importlib.metadata.PackageNotFoundError:
        raise FactsError(
            "torch is not installed in this Python, and the facts are read from it. "
            f'Install the pinned release with `python -m pip install "torch=={PINNED}"`.'
        ) from None


def check_pinned(allow_version: bool = False) -> str:
    """Return the installed release; raise ``FactsError`` unless it is the pinned one.

    With ``allow_version`` any release is accepted: that is how a torch upgrade begins.
    """
    version = installed_version()
    if version != PINNED and not allow_version:
        # The version comes from a file on disk; keep a damaged one from garbling the message.
        shown = re.sub(r"[^\w.+-]", "?", version)
        raise FactsError(
            f"torch {shown} is installed, but this project is generated from torch {PINNED}. "
            f'Install it with `python -m pip install "torch=={PINNED}"`, or pass '
            "--allow-version to look at what another release would change."
        )
    return version
