"""Counts where a program waits for its device, as ``torch.cuda.set_sync_debug_mode`` tells of it on CUDA.

What waits there: taking a number to the host (``item()``, ``bool(tensor)``), results whose shape depends on data
(``nonzero``, indexing by a mask), and copies between host and device without ``non_blocking``. Seen is what torch's
dispatcher hands to the device, the level of operators: what CUDA's libraries wait for inside of one is not.

Source: ``warn_or_error_on_sync`` and its callers in torch's ``c10/cuda`` and ``aten/src/ATen/native/cuda``.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from typing import NamedTuple

from tdev_core.errors import is_of_torch, warn

__all__ = ["OPERATORS", "Wait", "seen", "set_mode", "total", "waited"]

OPERATORS = frozenset(
    f"aten::{name}"
    for name in (
        "_local_scalar_dense nonzero masked_select equal allclose bincount unique_dim unique_consecutive "
        "unique_dim_consecutive _unique _unique2 repeat_interleave.Tensor _linalg_check_errors"
    ).split()
)
"""Operators whose call waits, whatever its arguments are."""


class Wait(NamedTuple):
    """A line of a program that waits, and by which operator."""

    file: str
    line: int
    operator: str


seen: Counter[Wait] = Counter()
"""How often the program waited, by line and operator."""
_noting = threading.Lock()
_mode = 0


def set_mode(mode: int) -> None:
    """Choose what else happens when a program waits: 0 nothing, 1 a warning, 2 an error."""
    global _mode
    _mode = mode


def mode() -> int:
    """Return what :func:`set_mode` has set."""
    return _mode


def total() -> int:
    """Return how often this process has waited."""
    return sum(seen.values())


def waited(operator: str) -> None:
    """Count one wait, at the line of the program that led to it.

    Args:
        operator: torch's name of it: ``aten::nonzero``.

    Raises:
        RuntimeError: the mode is 2, in torch's words.
    """
    frame = sys._getframe(1)
    while is_of_torch(frame) and frame.f_back is not None:
        frame = frame.f_back
    with _noting:
        seen[Wait(frame.f_code.co_filename, frame.f_lineno, operator)] += 1
    if _mode:
        said = f"called a synchronizing CUDA operation: {operator}"
        if _mode == 2:
            raise RuntimeError(said)
        warn(said, UserWarning)
