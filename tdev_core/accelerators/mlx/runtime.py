"""The process's MLX stream, the work that is still unevaluated, and the guards around both.

MLX streams belong to threads and torch runs backward on threads of its own; therefore the process has one
thread-unsafe stream, which every thread adopts at its first operation.  MLX lets go of the GIL while it evaluates
and does not expect a second thread to evaluate meanwhile, least of all an array of the same graph: that crashes
the process.  Two rules keep it out of that state.  Whatever makes MLX evaluate holds `lock` (`evaluating`): kernels take numbers
off the device with `item` and `values`, never with an array's own methods.  And a thread hands in only the results
that it computed itself; others' are evaluated by their own thread, or by the one that reads them.

MLX's worker threads do not survive a fork: a child that touches the device gets an error.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from tdev_core.accelerators import allocation_policy, host
from tdev_core.accelerators.mlx import dtypes
from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.errors import UnsupportedError, no_memory

__all__ = [
    "PENDING_LIMIT",
    "evaluate",
    "item",
    "lock",
    "ready",
    "remember",
    "settle",
    "start",
    "synchronize",
    "total_memory",
    "values",
]

PENDING_LIMIT = 400
"""Unevaluated results are handed to MLX at this many, which bounds the graph and overlaps building and running."""

compiles = False
"""Whether the program has compiled something with ``torch.compile``; fused optimizers then compile their update too.

``mx.compile`` pays off for them always, but on Linux it runs a C++ compiler, which nobody expects of an eager program.
"""

on_cpu = False
"""Whether MLX computes on the CPU, as it does on Linux; set by `start`."""

lock = threading.RLock()
"""Held by whatever makes MLX evaluate, and while a storage's array is made from the one before it.

One lock for both, since the second may need the first, and a garbage collection under the first may need the second.
"""


class _Evaluating:
    """Holds `lock`, and gives MLX's refusal to allocate the name under which programs catch it."""

    def __enter__(self) -> None:
        lock.acquire()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        lock.release()
        if isinstance(error, RuntimeError) and "malloc" in str(error):
            raise torch.OutOfMemoryError(no_memory("mlx:0", f"{error}.")) from error


evaluating = _Evaluating()


class _Local(threading.local):
    def __init__(self) -> None:
        self.pending: list[weakref.ref[Any]] = []


_local = _Local()
_stream: Any = None
_process = 0


def start() -> None:
    """Make the stream; once for each process."""
    global _stream, _process, on_cpu
    if _stream is None:
        dtypes.load()
        on_cpu = mx.default_device().type == mx.DeviceType.cpu
        if on_cpu:
            allocation_policy.keep_what_is_freed()
        _stream = mx.new_thread_unsafe_stream(mx.default_device())
        _process = os.getpid()
        os.register_at_fork(after_in_child=_forked)
    ready()


def _forked() -> None:
    # The modules that keep `_local` keep the old one: emptied, so that the child is asked to adopt the stream.
    _local.__dict__.pop("adopted", None)
    _local.pending.clear()


def ready() -> None:
    """Adopt the process's stream on this thread; every operation calls this first.

    Raises:
        UnsupportedError: in a forked child of a process that has used the device.
    """
    try:
        _local.adopted  # noqa: B018 - an attribute test is the cheapest "first time on this thread"
    except AttributeError:
        _adopt()


def in_bad_fork() -> bool:
    """Tell whether this process is a fork of one that used the device."""
    return _process != 0 and os.getpid() != _process


def _adopt() -> None:
    if in_bad_fork():
        raise UnsupportedError(
            "an operation on device 'mlx' in a forked process is not supported: MLX's threads do not survive fork() "
            "and the call would hang. Instead: start workers with multiprocessing.set_start_method('spawn'), or keep "
            "the device out of them (DataLoader workers return CPU tensors).",
            "TDEV107",
        )
    mx.set_default_stream(_stream)
    from tdev_core.accelerators.privateuse import (
        torch_api,  # imports torch, without which the table is read
    )

    torch_api.run_backward_on_caller()  # MLX compiles once for each thread, and one stream wants one thread at a time
    _local.adopted = True


def total_memory() -> int:
    """Give the bytes MLX may use: Metal's recommended working set, or the host's memory."""
    info = mx.device_info(mx.default_device())
    for key in ("max_recommended_working_set_size", "memory_size", "total_memory"):
        if key in info and int(info[key]) > 0:
            return int(info[key])
    return host.memory_total()


def remember(a: Any) -> None:
    """Note an unevaluated result, so that lazy graphs stay bounded."""
    pending = _local.pending
    pending.append(weakref.ref(a))
    if len(pending) > PENDING_LIMIT:
        drain()


def drain() -> None:
    """Hand everything that this thread computed to MLX, without waiting."""
    pending = _local.pending
    arrays = [a for a in (ref() for ref in pending) if a is not None]
    pending.clear()
    if arrays:
        with evaluating:
            mx.async_eval(arrays)


def evaluate(*arrays: Any) -> None:
    """Compute `arrays` now."""
    with evaluating:
        mx.eval(*arrays)


def item(a: Any) -> Any:
    """Read the number in an array of one element."""
    with evaluating:
        return a.item()


def values(a: Any) -> Any:
    """Read the numbers in an array, as (nested) lists."""
    with evaluating:
        return a.tolist()


def settle() -> None:
    """Call `synchronize` on a thread that computes; do nothing on one that only watches.

    A thread that samples the memory in use must neither wait for the program's work nor hold it up.
    """
    if hasattr(_local, "adopted"):
        synchronize()


def synchronize() -> None:
    """Return when all work queued so far is done; results that other threads have not handed in stay lazy."""
    ready()
    drain()
    with evaluating:
        mx.synchronize(_stream)
