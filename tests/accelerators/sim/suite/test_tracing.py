"""torch's trace of the GPU and its sanitizer, told of ``sim``."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tdev
import torch
from torch.cuda import _gpu_trace

cuda: Any = tdev.cuda
Told = list[tuple[Any, ...]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What the callbacks are called with, the kind of it first."""
    heard: Told = []
    for name, registry in vars(_gpu_trace).items():
        if name.endswith("Callbacks"):
            kind = name.removesuffix("Callbacks")
            listener = [lambda *values, kind=kind: heard.append((kind, *values))]
            monkeypatch.setattr(registry, "callback_list", listener)
    return heard


def test_the_life_of_an_event(told: Told) -> None:
    gc.collect()  # what other tests have left is told of before
    event, stream = cuda.Event(), cuda.Stream()
    number = stream.cuda_stream
    assert told.pop() == ("StreamCreation", number)
    event.record(stream)
    event.wait()
    stream.wait_event(event)
    event.synchronize()
    event.record()
    known = event.cuda_event
    assert [each for each in told if not each[0].startswith("Memory")] == [
        ("EventCreation", known),
        ("EventRecord", known, number),
        ("EventWait", known, 0),
        ("EventWait", known, number),
        ("EventSynchronization", known),
        ("EventRecord", known, 0),
    ]
    del event
    assert told[-1] == ("EventDeletion", known)


def test_memory_and_waits(told: Told) -> None:
    x = torch.ones(3, device="sim")
    address = x.data_ptr()
    view = x[1:]
    del x
    assert told == [("MemoryAllocation", address)]
    del view
    assert told.pop() == ("MemoryDeallocation", address)
    torch.empty(0, device="sim")
    assert len(told) == 1
    stream = cuda.Stream()
    told.clear()
    stream.synchronize()
    cuda.synchronize()
    assert told == [("StreamSynchronization", stream.cuda_stream), ("DeviceSynchronization",)]
    x = torch.ones((), device="sim")
    told.clear()
    with cuda.stream(stream):
        x.item()
    assert told == [("StreamSynchronization", stream.cuda_stream)]


@pytest.fixture
def sanitizer() -> Iterator[Any]:
    callbacks = {k: v for k, v in vars(_gpu_trace).items() if k.endswith("Callbacks")}
    before = {name: [*registry.callback_list] for name, registry in callbacks.items()}
    from torch.cuda import _sanitizer  # listens from then on

    mode = _sanitizer.CUDASanitizer()
    mode.enable()
    yield _sanitizer
    mode.disable()
    for name, registry in callbacks.items():
        registry.callback_list[:] = before[name]


RACES: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "written": lambda x, y: x.mul_(5),
    "read by two, written by one": lambda x, y: torch.add(x, y, out=x),
    "a view": lambda x, y: x.view(-1).zero_(),
    "read": lambda x, y: x + y,
}


@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
@pytest.mark.parametrize("order", ["none", "wait_stream", "wait_event", "synchronize"])
def test_a_race_between_streams_is_found(
    race: Callable[[torch.Tensor, torch.Tensor], object],
    order: str,
    sanitizer: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    x, y = torch.rand(4, 2, device="sim"), torch.rand(4, 2, device="sim")
    side = cuda.Stream()
    match order:
        case "wait_stream":
            side.wait_stream(cuda.current_stream())
        case "wait_event":
            side.wait_event(cuda.current_stream().record_event())
        case "synchronize":
            cuda.synchronize()
        case _:
            pass
    with cuda.stream(side):
        if order == "none":
            with pytest.raises(sanitizer.CUDASanitizerErrors, match=r"detected \d errors"):
                race(x, y)
            assert "CSAN detected a possible data race" in capsys.readouterr().err
        else:
            race(x, y)
