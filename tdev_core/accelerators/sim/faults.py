"""Faults that a test asks of the device: out of memory at a size or an allocation, a device that is lost.

``TDEV_SIM_FAULTS="oom@120MiB, oom@call:500, xid@call:2000, xid@step:40, nccl-timeout@rank:1"``. Each out-of-memory error
comes once, as a fragmented or shared GPU gives them, so that code which recovers can be seen to. A lost device stays lost:
every operator raises from then on, as after an XID that stops CUDA's context. A rank whose collective times out is told so
at its next one, and each after it.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload
from torch.optim.optimizer import register_optimizer_step_pre_hook

from tdev_core.accelerators.sim import listening
from tdev_core.accelerators.sim.sizes import parse_size
from tdev_core.errors import ConfigError

__all__ = ["Fault", "allocates", "asked", "configure", "lost", "read", "runs"]

_LOST = (
    "CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported at some other API call, "
    "so the stacktrace below might be incorrect. (Asked for by TDEV_SIM_FAULTS; a process cannot use the device again.)"
)


@dataclass(frozen=True)
class Fault:
    """One fault: ``oom``, ``xid`` or ``nccl-timeout``.

    It comes at the ``call``-th allocation or operator, at an optimizer's ``step``-th step (all optimizers' counted),
    beyond ``size`` bytes, or in the process of this ``rank``.
    """

    kind: str
    call: int = 0
    size: int = 0
    step: int = 0
    rank: int = -1


_COUNTED = {("oom", "call"), ("xid", "call"), ("xid", "step"), ("nccl-timeout", "rank")}
_TIMED_OUT = (
    "[Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(OpType={1}, Timeout(ms)={2}) ran for {2} milliseconds "
    "before timing out. (Asked for by TDEV_SIM_FAULTS.)"
)

asked = False
"""Whether any fault is asked for: without one, nothing is counted."""
lost = False
"""Whether the device is lost."""
_faults: list[Fault] = []
_counting = threading.Lock()
_allocations = 0
_operators = 0
_steps = 0
_hook: Any = None


def read() -> tuple[Fault, ...]:
    """Read ``TDEV_SIM_FAULTS``.

    Raises:
        ConfigError: an entry means nothing.
    """
    text = os.environ.get("TDEV_SIM_FAULTS", "").strip()
    return tuple(_one(entry.strip()) for entry in text.split(",")) if text else ()


def _one(entry: str) -> Fault:
    kind, _, where = entry.partition("@")
    what, _, number = where.partition(":")
    if (kind, what) in _COUNTED:
        if number.isascii() and number.isdigit() and (int(number) or what == "rank"):
            return Fault(kind, **{what: int(number)})
    elif kind == "oom":
        try:
            return Fault(kind, size=parse_size(where))
        except ValueError:
            pass
    raise ConfigError(
        f"TDEV_SIM_FAULTS: {entry!r} is no fault. Write oom@SIZE (once, where more than that would be held: oom@120MiB), "
        "oom@call:N (the N-th allocation), xid@call:N (from the N-th operator on), xid@step:N (from an optimizer's N-th step "
        "on), nccl-timeout@rank:R (the collectives of rank R), with commas between them."
    )


def configure(faults: tuple[Fault, ...]) -> None:
    """Ask for faults, instead of those before; counting starts again."""
    global asked, lost, _allocations, _operators, _steps, _hook
    with _counting:
        _faults[:] = faults
        asked, lost = bool(faults), False
        listening.listen("faults", asked)
        _allocations = _operators = _steps = 0
        if _hook is not None:
            _hook.remove()
            _hook = None
        if any(fault.step for fault in faults):
            _hook = register_optimizer_step_pre_hook(_step)


def _step(optimizer: Any, args: Any, kwargs: Any) -> None:
    """Count an optimizer's step, before it begins."""
    global lost, _steps
    with _counting:
        _steps += 1
        lost = lost or any(0 < f.step <= _steps for f in _faults)


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


def runs(op: OpOverload) -> None:
    """Count an operator.

    Raises:
        torch.AcceleratorError: the device is lost.
        torch.distributed.DistBackendError: it is a collective of a rank whose collectives time out.
    """
    global lost, _operators
    with _counting:
        _operators += 1
        lost = any(f.kind == "xid" and (lost or 0 < f.call <= _operators) for f in _faults)
    if lost:
        raise torch.AcceleratorError(_LOST)
    if op.namespace == "c10d":
        rank = torch.distributed.get_rank()
        if any(f.rank == rank for f in _faults):
            name = op.name().partition("::")[2].partition(".")[0].strip("_").upper()
            timeout = torch.distributed.constants.default_pg_timeout.total_seconds() * 1000
            raise torch.distributed.DistBackendError(_TIMED_OUT.format(rank, name, int(timeout)))
