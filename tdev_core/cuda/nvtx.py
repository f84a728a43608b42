"""``torch.cuda.nvtx`` without NVIDIA's tools: ranges appear in ``torch.profiler`` traces.

A range becomes a ``torch.profiler.record_function`` of the same name, so that it is seen by whatever
profiler there is. Ranges nest for each thread, as in NVTX. Without a running profiler a range costs
little and leaves no trace, as NVTX does without a collecting tool.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any

from torch.autograd.profiler import record_function

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_local = threading.local()
_handles = itertools.count(1)
_open: dict[int, record_function] = {}


def _stack() -> list[record_function]:
    stack: list[record_function] | None = getattr(_local, "stack", None)
    if stack is None:
        stack = _local.stack = []
    return stack


def _begin(msg: str) -> record_function:
    started = record_function(str(msg))
    started.__enter__()
    return started


def range_push(msg: str) -> int:
    """Open a range in this thread; returns its depth, from 0."""
    stack = _stack()
    stack.append(_begin(msg))
    return len(stack) - 1


def range_pop() -> int:
    """Close the innermost range of this thread; returns its depth, or -1 if none was open.

    Source: NVTX, ``nvtxRangePop``: "a negative value" without an open range.
    """
    stack = _stack()
    if not stack:
        return -1
    stack.pop().__exit__(None, None, None)
    return len(stack)


def range_start(msg: str) -> int:
    """Open a range that any thread may close; returns its handle."""
    handle = next(_handles)
    _open[handle] = _begin(msg)
    return handle


def range_end(range_id: int) -> None:
    """Close the range with this handle; an unknown handle is ignored, as NVTX does."""
    started = _open.pop(range_id, None)
    if started is not None:
        started.__exit__(None, None, None)


def mark(msg: str) -> None:
    """Mark a range of no length."""
    with record_function(str(msg)):
        pass


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Context manager and decorator around :func:`range_push` and :func:`range_pop`.

    Further arguments go to ``msg.format``.
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


def device_range_start(msg: str, stream: int = 0) -> int:
    """``_device_range_start``: a range that opens when ``stream`` gets there, which is now."""
    return range_start(msg)


def device_range_end(range_handle: Any, stream: int = 0) -> None:
    """``_device_range_end``: close a range of :func:`device_range_start`, whose ``stream`` has got there."""
    range_end(range_handle)
