"""Streams and events of ``torch.sim``: ordered and timed."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import pytest
import tdev
import torch

from tdev_core.accelerators import capturing, events, streams

sim: Any = torch.sim  # type: ignore[attr-defined]


def test_streams() -> None:
    stream, other = sim.Stream(), sim.Stream(device="sim:1")
    assert isinstance(stream, torch.Stream) and isinstance(stream, sim.Stream)
    assert stream != sim.Stream() and stream == stream and hash(stream) != hash(sim.Stream())
    assert stream.device == torch.device("sim", 0) and other.device_index == 1
    assert sim.current_stream() == sim.default_stream()
    with sim.stream(stream):
        assert sim.current_stream() == stream
        with sim.stream(other):
            assert sim.current_device() == 1 and sim.current_stream() == other
            assert sim.current_stream(0) == stream
        assert sim.current_device() == 0
    assert sim.current_stream() == sim.default_stream()
    with stream:
        assert sim.current_stream() == stream
    with sim.stream(None):
        assert sim.current_stream() == sim.default_stream()
    sim.set_stream(stream)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(sim.current_stream()))
    thread.start()
    thread.join()
    assert seen == [sim.default_stream()]  # each thread has its own
    sim.set_stream(sim.default_stream())
    assert stream.query() and stream.synchronize() is None
    stream.wait_stream(other)
    x = torch.ones(2, device="sim")
    x.record_stream(stream)


def test_events() -> None:
    start, end = (sim.Event(enable_timing=True) for _ in range(2))
    start.record()
    time.sleep(0.02)
    end.record(sim.Stream())
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 20 and end.elapsed_time(start) < 0
    sim.Stream().wait_event(end)
    end.wait()
    assert isinstance(start, torch.Event)
    assert start.elapsed_time(sim.Stream().record_event(sim.Event(enable_timing=True))) >= 20


def test_there_is_one_table_of_current_streams() -> None:
    """Whichever name a program reaches it by: torch's module of the device, or tdev's mirror."""
    assert sim.Stream is tdev.cuda.Stream is tdev.xpu.Stream and sim.Event is tdev.cuda.Event
    mine, theirs = tdev.cuda.Stream(), sim.Stream(device="sim:1")
    assert mine.stream_id != theirs.stream_id  # one counter
    with tdev.cuda.stream(mine):
        assert sim.current_stream() is mine is tdev.accelerator.current_stream()
        with sim.stream(theirs):
            assert tdev.cuda.current_stream() is theirs is tdev.accelerator.current_stream()
            assert tdev.cuda.current_device() == 1 == sim.current_device()
            assert tdev.cuda.current_stream(0) is mine is sim.current_stream("sim:0")
        assert sim.current_stream() is mine and sim.current_device() == 0
    assert sim.current_stream() is tdev.cuda.default_stream() is sim.default_stream()
    sim.set_stream(theirs)
    assert tdev.cuda.current_stream() is theirs and tdev.cuda.current_device() == 1
    tdev.cuda.set_stream(tdev.cuda.default_stream(1))
    assert sim.current_stream() == sim.default_stream(1) == sim.default_stream()


def test_each_device_has_a_default_stream_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody has asked for it before, from another device."""
    monkeypatch.setattr(streams, "_defaults", {})
    assert sim.current_device() == 0
    for index in range(sim.device_count()):
        stream = tdev.cuda.default_stream(index)
        assert (stream.stream_id, stream.device_index) == (0, index)
        assert stream.device == torch.device("sim", index)


@pytest.mark.parametrize("fails", [False, True], ids=["ends", "raises"])
@pytest.mark.parametrize("way", ["tdev.cuda.stream", "torch.sim.stream", "the stream itself"])
def test_a_context_puts_back_the_streams_of_both_devices(way: str, fails: bool) -> None:
    """Entered on one device for a stream of another: torch restores the other's stream, and the device."""
    here, there, inner = sim.Stream(), sim.Stream(device=1), sim.Stream(device=1)
    sim.set_stream(there)
    sim.set_stream(here)
    enter = {"tdev.cuda.stream": tdev.cuda.stream, "torch.sim.stream": sim.stream}
    with contextlib.suppress(KeyError), enter.get(way, lambda stream: stream)(inner):
        assert (sim.current_device(), sim.current_stream(1)) == (1, inner)
        assert sim.current_stream(0) == here
        if fails:
            raise KeyError
    assert (sim.current_device(), sim.current_stream()) == (0, here)
    assert sim.current_stream(1) == there
    sim.set_stream(sim.default_stream(1))
    sim.set_stream(sim.default_stream(0))


def test_devices_of_a_stream_and_an_event() -> None:
    assert isinstance(sim.Stream(), torch.cuda.Stream)
    event = sim.Event()
    event.record(sim.Stream(device=1))
    assert event.device == torch.device("sim:1")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        sim.current_stream(5)
    with pytest.raises(ValueError, match="Expected a sim device"):
        sim.default_stream("cpu")
    with sim.device(1):
        assert sim.Stream().device == torch.device("sim:1") == sim.Stream(-1).device


def test_what_names_no_device_is_of_the_current_one_and_what_names_one_of_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_defaults", {})  # made anew, on device 0
    assert [sim.default_stream(n).device for n in (1, 0)] == [
        torch.device("sim", n) for n in (1, 0)
    ]
    drained: list[int] = []
    monkeypatch.setattr(events, "drain", drained.append)
    for number in (1, 0):
        event = sim.Event()
        event.record(sim.Stream(device=number))
        event.synchronize()
        event.query()
    assert drained == [1, 1, 0, 0]


def test_event_errors() -> None:
    timed, plain = sim.Event(enable_timing=True), sim.Event()
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(sim.Event(enable_timing=True))
    plain.record()
    timed.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(plain)
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(sim.Stream().record_event())  # as torch's, which is not timed
    with pytest.raises(RuntimeError, match="interprocess and timed"):
        sim.Event(interprocess=True, enable_timing=True)


def test_device_context() -> None:
    with sim.device(1):
        assert sim.current_device() == 1 and torch.empty(1, device="sim").device.index == 1
        with sim.device("sim:0"):
            assert sim.current_device() == 0
    with sim.device_of(torch.ones(1, device="sim:1")):
        assert sim.current_device() == 1
    with sim.device_of(torch.ones(1)):
        assert sim.current_device() == 0
    sim.set_device(-1)
    assert sim.current_device() == 0
    sim.synchronize()
    for bad, error in (("cpu", ValueError), (5, RuntimeError), (True, TypeError)):
        with pytest.raises(error):
            sim.synchronize(bad)


def test_module() -> None:
    assert sim.is_available() and sim.is_initialized() and sim.is_bf16_supported()
    assert not sim._is_in_bad_fork()
    assert sim.get_amp_supported_dtype() == [torch.float16, torch.bfloat16]
    assert sim.get_device_name(1) == "sim:1"
    import importlib

    assert importlib.import_module("torch.sim") is sim
    assert sim.random.get_rng_state().dtype == torch.uint8


def test_torchs_benchmark_timer_waits_for_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils.benchmark import Timer

    from tdev_core.shims import benchmarks

    waited: list[int] = []
    monkeypatch.setattr(benchmarks, "drain", waited.append)
    monkeypatch.setattr(Timer, "__init__", benchmarks.timer_waiting(Timer.__init__))
    x = torch.ones(2, device="sim")
    assert Timer("x * 2", globals={"x": x}).timeit(2).median > 0
    assert waited and set(waited) == {0}
    mine = Timer(
        "x * 2", "", "", lambda: float(len(waited)), {"x": x}
    )  # a clock of the program's own
    assert mine._timer.timer() == len(waited)


def test_a_negative_index_alone_means_the_current_device() -> None:
    sim.set_device(1)
    try:
        found = [tdev.cuda.Stream(index).device_index for index in (-1, 0, 1, None)]
    finally:
        sim.set_device(0)
    assert found == [1, 0, 1, 1]


def test_a_generic_stream_keeps_its_device() -> None:
    generic = torch.Stream(stream_id=5, device_index=1, device_type=20)
    with tdev.cuda.stream(generic):  # type: ignore[arg-type]
        found = tdev.cuda.current_stream()
        assert (found.device_index, found.stream_id) == (1, 5)


def test_the_current_stream_of_its_device_is_captured() -> None:
    here, there = tdev.cuda.current_stream(0), tdev.cuda.current_stream(1)
    capturing.begin("graph")
    try:
        assert here.is_capturing() and there.is_capturing()
        assert not tdev.cuda.Stream(1).is_capturing()
    finally:
        capturing.end()
    assert not here.is_capturing()


def test_a_stream_is_the_same_one_in_torchs_generic_class() -> None:
    ours = tdev.cuda.Stream(1)
    generic: Any = torch.Stream(
        stream_id=ours.stream_id, device_index=1, device_type=ours.device_type
    )
    assert ours == generic and generic == ours and hash(ours) == hash(generic)
    assert tdev.cuda.Stream(1) != generic and generic != tdev.cuda.Stream(1)
