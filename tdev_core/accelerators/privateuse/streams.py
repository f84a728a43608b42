"""``Stream`` and ``Event`` of a device that finishes each operator before the call returns.

On such a device everything submitted to any stream is done when the submitting call returns, so the
orders that ``wait_stream`` and ``wait_event`` ask for hold already, ``query`` is true, and an event's
time is the moment of its ``record``. Both are subclasses of torch's classes, so ``isinstance(s,
torch.Stream)`` holds; torch's C++ device guard for Python devices cannot tell streams apart
(``torch/csrc/acc/Module.cpp``), which is why the current stream is kept here, for each thread.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any, cast

import torch

from tdev_core.accelerator import Accelerator
from tdev_core.accelerators.privateuse import torch_api

__all__ = ["Event", "Stream", "StreamContext", "bind", "current_stream", "default_stream"]

_ids = itertools.count(1)
_current = threading.local()
_owner: dict[str, Accelerator] = {}


def bind(accelerator: Accelerator) -> None:
    """Name the device whose streams these are; PrivateUse1 has one owner in a process."""
    _owner["accelerator"] = accelerator


def device_index(device: Any) -> int:
    """The index that ``device`` (None, int, str or ``torch.device``) names.

    Raises:
        ValueError: a device of another type.
        RuntimeError: an index that does not exist.
    """
    accelerator = _owner["accelerator"]
    if device is None:
        return accelerator.current_device()
    if isinstance(device, bool):
        raise TypeError("a device must be None, an int, a str or a torch.device, not a bool")
    if isinstance(device, int):
        index = accelerator.current_device() if device < 0 else device
    else:
        wanted = torch.device(device)
        if wanted.type != accelerator.type:
            raise ValueError(f"Expected a {accelerator.type} device, but got: {wanted}")
        index = accelerator.current_device() if wanted.index is None else wanted.index
    if index >= accelerator.device_count():
        raise RuntimeError(
            f"{accelerator.type} error: invalid device ordinal ({accelerator.type}:{index} was asked "
            f"for and there are {accelerator.device_count()})"
        )
    return index


class Stream(torch.Stream):
    """A stream of the registered Python device. ``priority`` is accepted and means nothing here."""

    def __new__(
        cls, device: Any = None, priority: int = 0, *, stream_id: int | None = None, **ignored: Any
    ) -> Stream:
        new: Any = super().__new__
        return cast(
            "Stream",
            new(
                cls,
                stream_id=next(_ids) if stream_id is None else stream_id,
                device_index=device_index(device),
                device_type=torch_api.device_type_code(),
            ),
        )

    def query(self) -> bool:
        """Always true: work is done when the call that submitted it returns."""
        return True

    def synchronize(self) -> None:
        """Wait for the device."""
        _owner["accelerator"].synchronize(self.device_index)

    def wait_event(self, event: torch.Event) -> None:
        """Nothing to wait for: what the event marks is done."""

    def wait_stream(self, stream: torch.Stream) -> None:
        """Nothing to wait for: what the stream was given is done."""

    def record_event(self, event: Any = None) -> Any:
        """Record ``event`` (a new one by default) on this stream and return it."""
        event = Event(enable_timing=True) if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        context = StreamContext(self)
        context.__enter__()
        _contexts().append(context)
        return self

    def __exit__(self, *exc_info: object) -> None:
        _contexts().pop().__exit__(*exc_info)


def _contexts() -> list[StreamContext]:
    if not hasattr(_current, "contexts"):
        _current.contexts = []
    return cast("list[StreamContext]", _current.contexts)


class Event(torch.Event):
    """A moment on the device. Times are of the host's monotonic clock, as the work is."""

    _recorded: float | None
    _timed: bool

    def __new__(
        cls,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Event:
        if interprocess:
            raise RuntimeError(
                "an event of this device cannot be shared with another process; use a "
                "multiprocessing.Event"
            )
        new: Any = super().__new__
        event = cast(
            "Event",
            new(
                cls,
                torch.device(_owner["accelerator"].type, device_index(device)),
                enable_timing=enable_timing,
            ),
        )
        event._recorded = None
        event._timed = enable_timing
        return event

    def record(self, stream: Any = None) -> None:
        """Mark this moment on ``stream`` (the current one by default)."""
        stream = current_stream() if stream is None else stream
        _owner["accelerator"].synchronize(stream.device_index)
        self._recorded = time.perf_counter()

    def query(self) -> bool:
        """True, as CUDA says of an event that was never recorded and of one that is done."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for: a recorded event is done."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for: a recorded event is done."""

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this event to ``end_event``.

        Raises:
            ValueError: an event that was not recorded, or was made without ``enable_timing=True``.
        """
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float(end_event._recorded - self._recorded) * 1e3


def default_stream(device: Any = None) -> Stream:
    """The stream with id 0 of ``device``."""
    return Stream(device, stream_id=0)


def current_stream(device: Any = None) -> Stream:
    """The calling thread's current stream of ``device``."""
    index = device_index(device)
    stream: Stream | None = getattr(_current, "streams", {}).get(index)
    return default_stream(index) if stream is None else stream


def set_stream(stream: Stream | None) -> None:
    """Make ``stream`` the calling thread's current one on its device; None changes nothing."""
    if stream is None:
        return
    if not hasattr(_current, "streams"):
        _current.streams = {}
    _current.streams[stream.device_index] = stream


def record_stream(tensor: torch.Tensor, stream: torch.Stream) -> None:
    """``aten::record_stream``: no memory to hold back, since no work is pending when a call returns."""


class StreamContext:
    """Makes ``stream`` and its device current for the block; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: tuple[int, Stream] | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        accelerator = _owner["accelerator"]
        index = self.stream.device_index
        self._before = (accelerator.current_device(), current_stream(index))
        accelerator.set_device(index)
        set_stream(self.stream)

    def __exit__(self, *exc_info: object) -> None:
        if self._before is not None:
            device, stream = self._before
            set_stream(stream)
            _owner["accelerator"].set_device(device)
