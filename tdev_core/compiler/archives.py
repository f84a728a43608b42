"""Loads what ``torch.save`` wrote, or TorchScript: torch's own function takes both.

Source: ``torch.serialization.load``.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from tdev_core.compiler import jit
from tdev_core.shims import serialization

__all__ = ["load"]


def load(f: Any, map_location: Any, pickle_module: Any, **options: Any) -> Any:
    """``torch.load`` on the translated device; an archive of TorchScript as ``tdev.jit.load`` has it.

    torch hands such a file on to ``torch.jit.load``, which takes no callable and says so by a ``ValueError`` before
    anything is loaded.

    Raises:
        ValueError: ``map_location`` is a dictionary or a callable, and the file an archive of TorchScript.
    """
    again = getattr(_entered, "yes", False)
    # `mock.patch("torch.load", wraps=tdev.load)`: who stands in torch's place asks for what it has replaced.
    own = torch.serialization.load if again else torch.load
    _entered.yes = True
    try:
        return own(f, serialization.map_location(map_location), pickle_module, **options)
    except ValueError as error:
        if map_location is not None or not str(error).startswith(_OF_A_SCRIPT):
            raise
    finally:
        _entered.yes = again
    return jit.load(f)


_entered = threading.local()
_OF_A_SCRIPT = "map_location should be either None"
