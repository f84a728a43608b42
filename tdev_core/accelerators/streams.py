"""Streams of every device that works through one queue in issue order: all but CUDA's own.

On ``cpu`` an operator has finished when its call returns; on ``mps``, ``mlx`` and ``sim`` one queue per
device takes all work in the order of issue. Two streams of one device are therefore never
concurrent, and what a program orders with ``wait_stream`` or events is ordered already. A stream keeps
its identity, its device and its place as a thread's current stream, and ``synchronize()`` drains the
device's queue.

There is one class and one table of current streams, whichever name a program reaches them by:
``tdev.cuda``, ``tdev.accelerator``, or the module ``torch.sim`` or ``torch.mlx`` that torch itself calls.
torch's C++ guard for a device that Python registers cannot tell streams apart
(``torch/csrc/acc/Module.cpp``), which is why the table is here. The native kernels of ``sim`` bring a guard that can:
it is told of each choice (``chosen_natively``), and torch's engine then runs backward on the stream of the forward.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch

from tdev_core.accelerators import capturing, instances, lagging, tracing
from tdev_core.accelerators.events import Event
from tdev_core.accelerators.queues import device_of_index, device_type_number, drain, select_device
from tdev_core.backend import Backend, current
from tdev_core.devices import device_index

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "exchange",
    "get_stream_from_external",
    "make_current",
    "record_stream",
    "restore",
    "set_stream",
    "stream",
    "synchronize",
]

_numbers = itertools.count(1)
_local = threading.local()
_defaults: dict[int, Stream] = {}
_defaults_lock = threading.Lock()

if TYPE_CHECKING:
    _Base = torch.cuda.Stream
else:
    _Base = instances.base(torch.cuda.Stream, torch.Stream)


class Stream(_Base):
    """A queue of work on one device; also an instance of ``torch.cuda.Stream``.

    Args:
        device: the device it belongs to; None or a negative integer for the current one.
        priority: accepted and mapped to 0: these backends have no priorities, which CUDA reports as
            the range ``(0, 0)``.
        kwargs: ``stream_id``, ``device_index``, ``device_type`` or ``stream_ptr``, with which torch
            wraps a stream that exists already.

    Raises:
        TypeError: an unknown keyword.

    Source: ``torch.cuda.Stream``.
    """

    _facts: tuple[int, int, int]  # stream id, device index, device type

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Self:
        unknown = set(kwargs) - {"stream_id", "device_index", "device_type", "stream_ptr"}
        if unknown:
            raise TypeError(f"Stream() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        if not isinstance(priority, int):
            raise TypeError(f"priority must be an int, got {type(priority).__name__}")
        if "device_index" in kwargs:
            index = int(kwargs["device_index"])
        elif isinstance(device, int) and device < 0:
            index = device_index(None)
        else:
            index = device_index(device)
        number = kwargs.get("stream_id")
        if number is None:
            number = kwargs.get("stream_ptr")
        if number is None:
            number = next(_numbers)
            if tracing.told:
                tracing.tell("StreamCreation", number)
        kind = device_type_number()
        self = torch.Stream.__new__(
            cls, stream_id=int(number), device_index=index, device_type=kind
        )
        self._facts = (int(number), index, kind)
        return self

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        # The rest is done in __new__, as in torch; this keeps object.__init__ from refusing arguments.
        self._outer: list[tuple[Stream, Stream]] = []

    @property
    def stream_id(self) -> int:  # type: ignore[override]
        """Number of the stream; 0 is the device's default stream."""
        return self._facts[0]

    @property
    def device_index(self) -> int:  # type: ignore[override]
        """Index of the device it belongs to."""
        return self._facts[1]

    @property
    def device_type(self) -> int:  # type: ignore[override]
        """``c10::DeviceType`` of the device, as a number."""
        return self._facts[2]

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The device it belongs to."""
        return device_of_index(self._facts[1])

    @property
    def _place(self) -> lagging.Place:
        return self._facts[1], self._facts[0]

    @property
    def cuda_stream(self) -> int:  # type: ignore[override]
        """The stream's number, in the place of a ``cudaStream_t``; no CUDA library can use it."""
        return self._facts[0]

    @property
    def native_handle(self) -> int:
        """Same as :attr:`cuda_stream`."""
        return self._facts[0]

    @property
    def sycl_queue(self) -> int:
        """Same as :attr:`cuda_stream`, by the name that ``torch.xpu.Stream`` has for it."""
        return self._facts[0]

    @property
    def priority(self) -> int:  # type: ignore[override]
        """Always 0."""
        return 0

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return lowest and highest priority: ``(0, 0)``, CUDA's answer for devices without priorities."""
        return (0, 0)

    def wait_event(self, event: Any) -> None:
        """Let later work on this stream start after what ``event`` marks."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Let later work on this stream start after what ``stream`` holds now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Any = None) -> Event:
        """Record ``event``, or a new one, at this point of the stream and return it."""
        recorded: Event = Event() if event is None else event
        recorded.record(self)
        return recorded

    def query(self) -> bool:
        """Tell whether all work issued to the stream is done.

        Only MPS can be asked without waiting, and ``sim`` about a sleep. ``cpu`` has nothing else outstanding, and
        the queue of ``mlx`` is drained first, so that the answer is true when it is given.
        """
        if current() is Backend.MPS:
            event = torch.mps.Event()
            event.record()
            return bool(event.query())
        if lagging.asked:
            return not lagging.busy(lagging.until(self._place))
        drain(self._facts[1])
        return True

    def synchronize(self) -> None:
        """Return when all work issued to the stream is done."""
        if tracing.told:
            tracing.tell("StreamSynchronization", self._facts[0])
        if lagging.asked:
            lagging.wait(lagging.until(self._place))
        else:
            drain(self._facts[1])

    def is_capturing(self) -> bool:
        """Tell whether a graph capture is recording this stream."""
        return capturing.is_capturing() and current_stream(self._facts[1]) == self

    def __enter__(self) -> Self:
        self._outer.append(make_current(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        restore(self._outer.pop())

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self._facts[0])

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._facts[0])

    def __eq__(self, other: object) -> bool:
        facts = getattr(other, "_facts", None)
        if facts is None and isinstance(other, torch.Stream):  # as torch.accelerator hands it out
            facts = (other.stream_id, other.device_index, other.device_type)
        return bool(facts == self._facts)

    def __ne__(self, other: object) -> bool:
        # torch 2.13's own answers False to ``stream != None``, and takes whatever else it is given for a stream.
        return not self == other

    def __hash__(self) -> int:
        return torch.Stream.__hash__(self)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made, known by its pointer.

    Args:
        stream_ptr: the pointer as an integer; it becomes the stream's number.
        device: the device it belongs to; None for the current one.
        kwargs: what :class:`Stream` takes; given to it once, when the object is made.

    Source: ``torch.cuda.ExternalStream``.
    """

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> Self:
        if not isinstance(stream_ptr, int):
            raise TypeError(f"stream_ptr must be an int, got {type(stream_ptr).__name__}")
        return super().__new__(cls, device=device, stream_ptr=stream_ptr, **kwargs)

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        super().__init__()


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """Make a stream object for the pointer ``data_ptr`` that another library made."""
    return ExternalStream(data_ptr, device)


def _chosen() -> dict[int, Stream]:
    """Return the streams that the calling thread has made current, by device index."""
    table: dict[int, Stream] | None = getattr(_local, "streams", None)
    if table is None:
        table = _local.streams = {}
    return table


def default_stream(device: Any = None) -> Stream:
    """Return the default stream of ``device``: the one that is current in a new thread."""
    index = device_index(device)
    with _defaults_lock:
        found = _defaults.get(index)
        if found is None:
            found = _defaults[index] = Stream(stream_id=0, device_index=index)
    return found


def current_stream(device: Any = None) -> Stream:
    """Return the calling thread's current stream on ``device``."""
    index = device_index(device)
    return _chosen().get(index) or default_stream(index)


lagging.current = lambda: current_stream()._place


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
    """Return ``stream`` as one of ours: code may hand over a generic ``torch.Stream`` of the device."""
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
    """Select again what was current before :func:`make_current`."""
    for stream in before:
        _select(stream)


def _select(stream: Stream) -> None:
    _choose(stream)
    select_device(stream.device_index)


chosen_natively: Callable[[int, int], object] | None = None
"""Tells a guard in C++ which stream, by device and number, the calling thread has made current; None: there is none."""


def _choose(stream: Stream) -> None:
    _chosen()[stream.device_index] = stream
    if chosen_natively is not None:
        chosen_natively(stream.device_index, stream.stream_id)


def exchange(index: int, number: int) -> None:
    """Make the stream ``number`` current on device ``index`` and leave the current device alone, for torch's guards."""
    default = default_stream(index)
    _choose(default if number == 0 else Stream(stream_id=number, device_index=index))


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
    """Make a context manager in which ``stream`` is current; with None one that changes nothing."""
    return StreamContext(stream)


def synchronize(device: Any = None) -> None:
    """Return when all work issued to ``device`` is done."""
    drain(device_index(device))
    if tracing.told:
        tracing.tell("DeviceSynchronization")


def record_stream(tensor: torch.Tensor, stream: Any) -> None:
    """Answer ``Tensor.record_stream``, where one queue runs everything in order: check the argument.

    On CUDA this keeps the allocator from handing the tensor's memory to other streams too early.
    Here memory that is freed cannot be written again before the work issued earlier has read it, so
    there is nothing to record.
    """
    _own(stream)
