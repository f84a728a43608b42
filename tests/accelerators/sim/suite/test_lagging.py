"""Streams that ``torch.cuda._sleep`` keeps busy, by a clock that only waiting moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tdev
import torch

from tdev_core.accelerators import lagging

cuda: Any = tdev.cuda
HOUR = 10**13
"""Cycles: more than an hour of any clock."""


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """What was waited for, in seconds; the clock goes on by it."""
    pauses: list[float] = []
    begun = time.perf_counter_ns()
    monkeypatch.setattr(lagging, "_until", {})
    monkeypatch.setattr(lagging, "asked", False)
    monkeypatch.setattr(lagging, "_pause", pauses.append)
    monkeypatch.setattr(lagging, "now", lambda: begun + int(sum(pauses) * 1e9) + len(pauses))
    monkeypatch.setattr("tdev_core.accelerators.events._last_tick", 0)
    monkeypatch.setattr("tdev_core.accelerators.events._tick", lambda: lagging.now())
    yield pauses
    cuda.set_stream(cuda.default_stream(0))


def test_a_stream_is_busy_until_it_is_waited_for(waited: list[float]) -> None:
    slow, other = cuda.Stream(), cuda.Stream()
    with cuda.stream(slow):
        cuda._sleep(HOUR)
        event = slow.record_event()
    assert waited == [] and not slow.query() and not event.query()
    assert other.query() and cuda.default_stream().query() and cuda.Event().query()
    other.synchronize()
    assert waited == [] and not event.query()
    event.synchronize()
    assert len(waited) == 1 and waited[0] > 1000
    assert event.query() and slow.query()
    slow.synchronize()
    assert len(waited) == 1


WAITS: dict[str, Callable[[Any, torch.Tensor], object]] = {
    "the stream": lambda stream, x: stream.synchronize(),
    "an event": lambda stream, x: stream.record_event().synchronize(),
    "the device": lambda stream, x: cuda.synchronize(),
    "the device by name": lambda stream, x: cuda.synchronize("cuda:0"),
    "torch's module": lambda stream, x: torch.sim.synchronize(),  # type: ignore[attr-defined]
    "item": lambda stream, x: x.item(),
    "a copy to the host": lambda stream, x: x.cpu(),
    "nonzero": lambda stream, x: x.nonzero(),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_what_waits_for_it(
    wait: Callable[[Any, torch.Tensor], object], waited: list[float]
) -> None:
    x, stream = torch.ones((), device="sim"), cuda.Stream()
    with cuda.stream(stream):
        cuda._sleep(HOUR)
        (x + x).to("cpu", non_blocking=True)
        assert waited == [] and not stream.query()
        wait(stream, x)
    assert len(waited) == 1 and stream.query()


def test_what_waits_for_another(waited: list[float]) -> None:
    cuda._sleep(HOUR)
    with cuda.stream(cuda.Stream()):
        torch.ones((), device="sim").item()
    cuda.default_stream(1).synchronize()
    cuda.synchronize(1)
    assert waited == [] and not cuda.default_stream(0).query()


@pytest.mark.parametrize("way", ["wait_stream", "wait_event", "wait", "wait, of the current one"])
def test_an_order_makes_the_other_late(way: str, waited: list[float]) -> None:
    slow, other = cuda.Stream(), cuda.Stream(device=1)
    with cuda.stream(slow):
        cuda._sleep(HOUR)
    event = slow.record_event()
    match way:
        case "wait_stream":
            other.wait_stream(slow)
        case "wait_event":
            other.wait_event(event)
        case "wait":
            event.wait(other)
        case _:
            with cuda.stream(other):
                event.wait()
    assert not other.query() and cuda.default_stream(1).query()
    slow.synchronize()
    assert other.query() and len(waited) == 1


def test_a_second_sleep_is_behind_the_first(waited: list[float]) -> None:
    begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    cuda._sleep(HOUR)
    cuda._sleep(HOUR)
    end.record()
    with pytest.raises(torch.AcceleratorError, match="CUDA error: device not ready"):
        begin.elapsed_time(end)
    end.synchronize()
    assert begin.elapsed_time(end) == pytest.approx(sum(waited) * 1000)
    assert waited[0] > 2000
