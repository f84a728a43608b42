"""``torch.cuda`` streams for backends whose device works through one queue in issue order.

On ``cpu`` an operator has finished when its call returns; on ``mps``, ``mlx`` and ``sim`` one queue per
device takes all work in the order of issue. Two streams of one device are therefore never
concurrent, and what a program orders with ``wait_stream`` or events is ordered already. A stream keeps
its identity, its device and its place as a thread's current stream, and ``synchronize()`` drains the
device's queue.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

import torch

from tdev_core.devices import device_index
from tdev_core.queues import drain, select_device
from tdev_core.stream_objects import ExternalStream, Stream

__all__ = [
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "make_current",
    "record_stream",
    "restore",
    "set_stream",
    "stream",
    "synchronize",
]

_local = threading.local()
_defaults: dict[int, Stream] = {}
_defaults_lock = threading.Lock()


def _chosen() -> dict[int, Stream]:
    table: dict[int, Stream] | None = getattr(_local, "streams", None)
    if table is None:
        table = _local.streams = {}
    return table


def default_stream(device: Any = None) -> Stream:
    """The default stream of ``device``: the one that is current in a new thread."""
    index = device_index(device)
    with _defaults_lock:
        found = _defaults.get(index)
        if found is None:
            found = _defaults[index] = Stream(stream_id=0, device_index=index)
    return found


def current_stream(device: Any = None) -> Stream:
    """The calling thread's current stream on ``device``."""
    index = device_index(device)
    return _chosen().get(index) or default_stream(index)


def set_stream(stream: Any) -> None:
    """Make ``stream`` the calling thread's current stream, and its device the current device.

    None changes nothing.

    Raises:
        TypeError: ``stream`` is not a stream.
    """
    if stream is None:
        return
    make_current(_own(stream))


def _own(stream: Any) -> Stream:
    """``stream`` as one of ours: code may hand over a generic ``torch.Stream`` of the device."""
    if hasattr(stream, "_facts"):
        own: Stream = stream
        return own
    if isinstance(stream, torch.Stream):
        return Stream(stream_id=stream.stream_id, device_index=max(stream.device_index, 0))
    raise TypeError(f"expected a stream or None, got {type(stream).__name__}")


def make_current(stream: Stream) -> tuple[Stream, Stream]:
    """Select ``stream`` and its device.

    Returns what :func:`restore` needs: the stream that was current on ``stream``'s device, and the
    one of the device that was current.
    """
    before = current_stream(stream.device_index), current_stream()
    _select(stream)
    return before


def restore(before: tuple[Stream, Stream]) -> None:
    for stream in before:
        _select(stream)


def _select(stream: Stream) -> None:
    _chosen()[stream.device_index] = stream
    select_device(stream.device_index)


class StreamContext(torch.cuda.StreamContext):
    """Context manager that makes a stream current and restores what was current before.

    Args:
        stream: the stream; with None the context changes nothing.

    Source: ``torch.cuda.StreamContext``.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.idx = -1 if stream is None else device_index(None)
        self._before: list[tuple[Stream, Stream]] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before.append(make_current(_own(self.stream)))

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.stream is not None:
            restore(self._before.pop())


def stream(stream: Any) -> StreamContext:
    """The context manager that makes ``stream`` current; with None one that changes nothing."""
    return StreamContext(stream)


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """A stream object for the pointer ``data_ptr`` that another library made."""
    return ExternalStream(data_ptr, device)


def synchronize(device: Any = None) -> None:
    """Return when all work issued to ``device`` is done."""
    drain(device_index(device))


def record_stream(tensor: torch.Tensor, stream: Any) -> None:
    """``Tensor.record_stream`` where one queue runs everything in order.

    On CUDA this keeps the allocator from handing the tensor's memory to other streams too early.
    Here memory that is freed cannot be written again before the work issued earlier has read it, so
    there is nothing to record; the argument is checked.
    """
    _own(stream)
