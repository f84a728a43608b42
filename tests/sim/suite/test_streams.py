"""Streams and events of ``torch.sim``: ordered and timed."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
import torch

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
    assert start.elapsed_time(sim.Stream().record_event()) >= 20


def test_event_errors() -> None:
    timed, plain = sim.Event(enable_timing=True), sim.Event()
    with pytest.raises(ValueError, match="must be recorded"):
        timed.elapsed_time(sim.Event(enable_timing=True))
    plain.record()
    timed.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        timed.elapsed_time(plain)
    with pytest.raises(RuntimeError, match="another process"):
        sim.Event(interprocess=True)


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
