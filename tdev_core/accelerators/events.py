"""Events of every device that works through one queue in issue order: all but CUDA's own.

Times are real. On ``cpu`` the clock is read when the event is recorded, because everything issued
before it has finished by then. On ``mlx`` and ``sim`` a timing event drains the queue first, for the
same reason. On ``mps`` the event is a ``torch.mps.Event``, whose times the driver takes.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import torch

from tdev_core.accelerators import instances, lagging, tracing
from tdev_core.accelerators.queues import device_of_index, drain
from tdev_core.backend import Backend, current
from tdev_core.devices import device_index

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Event"]

_numbers = itertools.count(1)
_clock_lock = threading.Lock()
_last_tick = 0

# An IPC handle has the size of CUDA's: magic, backend, event number, padding.
_HANDLE = struct.Struct("<8s8sQ40x")
_MAGIC = b"tdev-evt"


def _tick() -> int:
    """Read a monotonic clock, in nanoseconds, later than every earlier tick of this process.

    The clock's resolution is 100 ns on some systems; a program divides by elapsed times.
    """
    global _last_tick
    with _clock_lock:
        now = time.perf_counter_ns()
        while now <= _last_tick:
            now = time.perf_counter_ns()
        _last_tick = now
    return now


def _place(stream: Any) -> lagging.Place:
    """Return where ``stream`` is; None is the current one."""
    if stream is None:
        return lagging.current()
    return max(int(stream.device_index), 0), int(stream.stream_id)


if TYPE_CHECKING:
    _Base = torch.cuda.Event
else:
    _Base = instances.base(torch.cuda.Event, torch.Event)


class Event(_Base):
    """A mark in a stream; also an instance of ``torch.cuda.Event``.

    Args:
        enable_timing: whether :meth:`elapsed_time` may be asked.
        blocking: accepted; waiting never spins here.
        interprocess: whether :meth:`ipc_handle` may be asked. Excludes timing, as in CUDA.
        external: accepted; it concerns the nodes of a CUDA graph.

    Raises:
        RuntimeError: ``interprocess`` together with ``enable_timing``.

    Source: ``torch.cuda.Event``; ``cudaEventCreateWithFlags`` for the excluded combination.
    """

    _timed: bool
    _shared: bool
    _recorded: int | None  # the clock's nanoseconds; on MPS only whether it was recorded
    _index: int | None
    _number: int
    _metal: Any

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> Self:
        if interprocess and enable_timing:
            raise RuntimeError(
                "an event cannot be both interprocess and timed (CUDA refuses this combination); "
                "drop enable_timing=True or interprocess=True"
            )
        self = torch.Event.__new__(cls, "cpu")
        self._timed = bool(enable_timing)
        self._shared = bool(interprocess)
        self._recorded = None
        self._index = None
        self._number = 0
        self._metal = torch.mps.Event(self._timed) if current() is Backend.MPS else None
        return self

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        pass  # all is done in __new__, as in torch

    # torch.Event's stub has the one name only.
    @classmethod
    def from_ipc_handle(  # type: ignore[override]
        cls, device: Any, handle: bytes | None = None, *, ipc_handle: bytes | None = None
    ) -> Self:
        """Make the event that another process gave the handle of; all but ``torch.cuda`` name it ``ipc_handle``.

        Work on these backends is done, or queued in order, when a record returns to its process, so
        that the event counts as complete here.

        Raises:
            RuntimeError: ``handle`` was not made by :meth:`ipc_handle` on the same backend.
            TypeError: no handle is given, or two.
        """
        given = handle if ipc_handle is None else ipc_handle
        if given is None or (handle is not None and ipc_handle is not None):
            raise TypeError("from_ipc_handle() takes one handle: handle, or ipc_handle")
        backend = current().value.encode().ljust(8, b"\0")
        try:
            magic, origin, number = _HANDLE.unpack(bytes(given))
        except (struct.error, TypeError):
            magic, origin, number = b"", b"", 0
        if magic != _MAGIC or origin != backend:
            raise RuntimeError(
                "this is not the IPC handle of an event on the "
                f"'{current().value}' backend; pass what Event.ipc_handle() returned"
            )
        event = cls(interprocess=True)
        event._index = device_index(device)
        event._number = number
        return event

    def record(self, stream: Any = None) -> None:
        """Mark this point of ``stream``, or of the current stream; an earlier mark is forgotten."""
        index = device_index(None) if stream is None else max(int(stream.device_index), 0)
        if self._metal is not None:
            self._metal.record()
            self._recorded = 1
        else:
            if self._timed and not lagging.asked and current() is not Backend.CPU:
                drain(index)
            self._recorded = max(_tick(), lagging.until(_place(stream)) if lagging.asked else 0)
        self._index = index
        fresh = not self._number
        self._number = self._number or next(_numbers)
        if tracing.told:
            self._trace_record(fresh, stream)

    def _trace_record(self, fresh: bool, stream: Any) -> None:
        if fresh:
            tracing.tell("EventCreation", self._number)
            gone = weakref.finalize(self, tracing.tell, "EventDeletion", self._number)
            gone.atexit = False
        tracing.tell("EventRecord", self._number, _place(stream)[1])

    def wait(self, stream: Any = None) -> None:
        """Let later work on ``stream`` start after this mark; returns at once.

        Other than on MPS there is one queue in issue order, in which later work waits anyway; a sleep alone lags.
        """
        if tracing.told and self._recorded is not None:
            tracing.tell("EventWait", self._number, _place(stream)[1])
        if self._metal is not None and self._recorded is not None:
            self._metal.wait()
        elif lagging.asked and self._recorded is not None:
            lagging.order(_place(stream), self._recorded)

    def query(self) -> bool:
        """Tell whether all work before the mark is done; true for an event that was never recorded."""
        if self._recorded is None:
            return True
        if self._metal is not None:
            return bool(self._metal.query())
        if lagging.asked:
            return not lagging.busy(self._recorded)
        drain(self._index or 0)
        return True

    def synchronize(self) -> None:
        """Return when all work before the mark is done."""
        if self._recorded is None:
            return
        if tracing.told:
            tracing.tell("EventSynchronization", self._number)
        if self._metal is not None:
            self._metal.synchronize()
        elif lagging.asked:
            lagging.wait(self._recorded)
        else:
            drain(self._index or 0)

    def elapsed_time(self, end_event: Any) -> float:
        """Return the milliseconds from this mark to ``end_event``'s.

        Raises:
            ValueError: one of the events has not ``enable_timing=True`` or was not recorded.
            torch.AcceleratorError: they were recorded on two devices, whose clocks have nothing in common; or one is not
                done yet.
        """
        if not hasattr(end_event, "_timed"):
            raise TypeError(f"end_event must be an Event, got {type(end_event).__name__}")
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if self._index != end_event._index:
            raise torch.AcceleratorError(
                "CUDA error: invalid resource handle (elapsed_time: one event was recorded on device "
                f"{self._index}, the other on device {end_event._index}; record both on one)"
            )
        if lagging.asked and lagging.busy(max(self._recorded, end_event._recorded)):
            raise torch.AcceleratorError(
                "CUDA error: device not ready (elapsed_time: an event is not done; synchronize it before)"
            )
        if self._metal is not None:
            return float(self._metal.elapsed_time(end_event._metal))
        return float(end_event._recorded - self._recorded) / 1e6

    def ipc_handle(self) -> bytes:
        """Pack this event into 64 bytes, from which :meth:`from_ipc_handle` makes it in another process.

        Raises:
            RuntimeError: the event was not made with ``interprocess=True``.
        """
        if not self._shared:
            raise RuntimeError(
                "this event cannot be shared between processes; create it with interprocess=True"
            )
        if self._index is None:
            self._index = device_index(None)
        self._number = self._number or next(_numbers)
        return _HANDLE.pack(_MAGIC, current().value.encode().ljust(8, b"\0"), self._number)

    @property
    def device(self) -> torch.device | None:  # type: ignore[override]
        """The device it was recorded on, None before that."""
        return None if self._index is None else device_of_index(self._index)

    @property
    def cuda_event(self) -> int:  # type: ignore[override]
        """A number in the place of a ``cudaEvent_t``, 0 before the first record."""
        return self._number

    @property
    def sycl_event(self) -> int:
        """Same as :attr:`cuda_event`, by the name that ``torch.xpu.Event`` has for it."""
        return self._number

    @property
    def event_id(self) -> int:  # type: ignore[override]
        """Same as :attr:`cuda_event`."""
        return self._number

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._number)

    def __repr__(self) -> str:
        return (
            f"<torch.cuda.Event {self._number:#x}>"
            if self._number
            else ("<torch.cuda.Event uninitialized>")
        )
