"""The stream objects that stand in for ``torch.cuda.Stream``; see :mod:`tdev_core.streams`."""

from __future__ import annotations

import ctypes
import itertools
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch

from tdev_core import queues
from tdev_core.backend import Backend, current
from tdev_core.builds import has_cuda_classes
from tdev_core.devices import device_index

if TYPE_CHECKING:
    from typing_extensions import Self

    from tdev_core.events import Event

__all__ = ["ExternalStream", "Stream"]

_numbers = itertools.count(1)


class _Detached(torch.Stream):
    """Base of :class:`Stream` in a build of torch with real CUDA streams.

    There, ``torch.cuda.Stream.__new__`` starts the CUDA driver, and no other ``__new__`` may create
    its instances. ``isinstance`` also accepts what an object's ``__class__`` says.
    """

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return torch.cuda.Stream


if TYPE_CHECKING:
    _Base = torch.cuda.Stream
elif has_cuda_classes():
    _Base = _Detached
else:
    # Without CUDA the bases are Python classes that only refuse to be created. In both builds
    # torch.Stream brings the C layout that operators with a Stream argument expect.
    _Base = type("_StreamBase", (torch.cuda.Stream, torch.Stream), {"__doc__": None})


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
        elif isinstance(device, int) and not isinstance(device, bool) and device < 0:
            index = device_index(None)
        else:
            index = device_index(device)
        number = kwargs.get("stream_id")
        if number is None:
            number = kwargs.get("stream_ptr")
        if number is None:
            number = next(_numbers)
        kind = queues.device_type_number()
        self = torch.Stream.__new__(
            cls, stream_id=int(number), device_index=index, device_type=kind
        )
        self._facts = (int(number), index, kind)
        return self

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        # Everything is done in __new__, as in torch; this keeps object.__init__ from refusing arguments.
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
        return queues.device_of_index(self._facts[1])

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
        """Lowest and highest priority: ``(0, 0)``, CUDA's answer for devices without priorities."""
        return (0, 0)

    def wait_event(self, event: Any) -> None:
        """Let later work on this stream start after what ``event`` marks."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Let later work on this stream start after what ``stream`` holds now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Any = None) -> Event:
        """Record ``event``, or a new one, at this point of the stream and return it."""
        if event is None:
            from tdev_core.events import Event

            event = Event()
        event.record(self)
        recorded: Event = event
        return recorded

    def query(self) -> bool:
        """Whether all work issued to the stream is done.

        Only MPS can be asked without waiting. ``cpu`` has nothing outstanding, and the queues of
        ``mlx`` and ``sim`` are drained first, so that the answer is true when it is given.
        """
        if current() is Backend.MPS:
            event = torch.mps.Event()
            event.record()
            return bool(event.query())
        queues.drain(self._facts[1])
        return True

    def synchronize(self) -> None:
        """Return when all work issued to the stream is done."""
        queues.drain(self._facts[1])

    def is_capturing(self) -> bool:
        """Whether a graph capture is recording this stream."""
        from tdev_core import graphs, streams

        capturing = graphs.is_current_stream_capturing()
        return capturing and streams.current_stream(self._facts[1]) == self

    def __enter__(self) -> Self:
        from tdev_core import streams

        self._outer.append(streams.make_current(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        from tdev_core import streams

        streams.restore(self._outer.pop())

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self._facts[0])

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._facts[0])

    def __eq__(self, other: object) -> bool:
        facts = getattr(other, "_facts", None)
        return facts is not None and bool(facts == self._facts)

    def __hash__(self) -> int:
        return hash(self._facts)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library made, known by its pointer.

    Args:
        stream_ptr: the pointer as an integer; it becomes the stream's number.
        device: the device it belongs to; None for the current one.

    Source: ``torch.cuda.ExternalStream``.
    """

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> Self:
        if not isinstance(stream_ptr, int):
            raise TypeError(f"stream_ptr must be an int, got {type(stream_ptr).__name__}")
        return super().__new__(cls, device=device, stream_ptr=stream_ptr, **kwargs)

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        super().__init__()
