"""Faults that a test asks of the device: out of memory at a size or an allocation, a device that is lost.

``TDEV_SIM_FAULTS="oom@120MiB, oom@call:500, xid@call:2000"``. Each out-of-memory error comes once, as a fragmented or
shared GPU gives them, so that code which recovers can be seen to. A lost device stays lost: every operator raises from
then on, as after an XID that stops CUDA's context.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

import torch

from tdev_core.accelerators.sim.sizes import parse_size
from tdev_core.errors import ConfigError

__all__ = ["Fault", "allocates", "asked", "configure", "lost", "read", "runs"]

_LOST = (
    "CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported at some other API call, "
    "so the stacktrace below might be incorrect. (Asked for by TDEV_SIM_FAULTS; a process cannot use the device again.)"
)


@dataclass(frozen=True)
class Fault:
    """One fault: ``oom`` or ``xid``, at the ``call``-th allocation or operator, or (``oom``) beyond ``size`` bytes."""

    kind: str
    call: int = 0
    size: int = 0


asked = False
"""Whether any fault is asked for: without one, nothing is counted."""
lost = False
"""Whether the device is lost."""
_faults: list[Fault] = []
_counting = threading.Lock()
_allocations = 0
_operators = 0


def read() -> tuple[Fault, ...]:
    """Read ``TDEV_SIM_FAULTS``.

    Raises:
        ConfigError: an entry means nothing.
    """
    text = os.environ.get("TDEV_SIM_FAULTS", "").strip()
    return tuple(_one(entry.strip()) for entry in text.split(",")) if text else ()


def _one(entry: str) -> Fault:
    kind, _, where = entry.partition("@")
    call = where.removeprefix("call:")
    if kind in ("oom", "xid") and call != where and call.isascii() and call.isdigit() and int(call):
        return Fault(kind, call=int(call))
    if kind == "oom" and call == where:
        try:
            return Fault(kind, size=parse_size(where))
        except ValueError:
            pass
    raise ConfigError(
        f"TDEV_SIM_FAULTS: {entry!r} is no fault. Write oom@SIZE (once, where more than that would be held: oom@120MiB), "
        "oom@call:N (the N-th allocation), xid@call:N (from the N-th operator on), with commas between them."
    )


def configure(faults: tuple[Fault, ...]) -> None:
    """Ask for faults, instead of those before; counting starts again."""
    global asked, lost, _allocations, _operators
    with _counting:
        _faults[:] = faults
        asked, lost = bool(faults), False
        _allocations = _operators = 0


def allocates(held: int) -> bool:
    """Count an allocation after which ``held`` bytes would be held; tell whether it is to fail."""
    global _allocations
    with _counting:
        _allocations += 1
        for fault in _faults:
            if fault.kind == "oom" and (fault.call == _allocations or 0 < fault.size < held):
                _faults.remove(fault)
                return True
    return False


def runs() -> None:
    """Count an operator.

    Raises:
        torch.AcceleratorError: the device is lost.
    """
    global lost, _operators
    with _counting:
        _operators += 1
        lost = any(f.kind == "xid" and f.call <= _operators for f in _faults)
    if lost:
        raise torch.AcceleratorError(_LOST)
