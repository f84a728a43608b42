"""Events on a host without CUDA: real times, torch's errors, handles for other processes."""

from __future__ import annotations

import inspect
import time
from multiprocessing import get_context
from unittest import mock

import pytest
import torch

from tdev_core.accelerators import events, streams
from tdev_core.backend import Backend, current
from tests.forkserver import python


def _timed() -> events.Event:
    event = events.Event(enable_timing=True)
    event.record()
    return event


def test_an_event_is_an_instance_of_torchs_classes():
    event = events.Event()
    assert isinstance(event, torch.cuda.Event) and isinstance(event, torch.Event)


def test_elapsed_time_is_the_clocks_in_milliseconds():
    before = time.perf_counter()
    start = _timed()
    outer_start = time.perf_counter()
    x = torch.randn(400, 400)
    for _ in range(5):
        x = x @ x / 400
    inner_end = time.perf_counter()
    end = _timed()
    after = time.perf_counter()
    elapsed = start.elapsed_time(end)
    assert (inner_end - outer_start) * 1e3 <= elapsed <= (after - before) * 1e3


def test_elapsed_time_is_never_zero(monkeypatch):
    readings = iter([1000, 1000, 1000, 1100, 1100, 1200])
    monkeypatch.setattr(events, "_last_tick", 0)
    monkeypatch.setattr(events.time, "perf_counter_ns", lambda: next(readings))
    start, end = _timed(), _timed()
    assert start.elapsed_time(end) == pytest.approx(1e-4)  # 100 ns, the clock's own step


def test_elapsed_time_backwards_is_negative():
    start, end = _timed(), _timed()
    assert end.elapsed_time(start) == -start.elapsed_time(end) < 0


def test_recording_again_forgets_the_first_time():
    start, end = _timed(), _timed()
    first = start.elapsed_time(end)
    end.record()
    assert start.elapsed_time(end) > first


def test_elapsed_time_without_timing_or_recording_raises_torchs_errors():
    with pytest.raises(ValueError, match="created with argument 'enable_timing=True'"):
        events.Event().elapsed_time(_timed())
    plain = events.Event()
    plain.record()
    with pytest.raises(ValueError, match="created with argument 'enable_timing=True'"):
        _timed().elapsed_time(plain)
    with pytest.raises(ValueError, match="must be recorded before"):
        events.Event(enable_timing=True).elapsed_time(_timed())
    with pytest.raises(ValueError, match="must be recorded before"):
        _timed().elapsed_time(events.Event(enable_timing=True))
    with pytest.raises(TypeError, match="end_event must be an Event, got int"):
        _timed().elapsed_time(3)


def test_query_wait_and_synchronize():
    event = events.Event()
    assert event.query() is True  # as CUDA answers before the first record
    event.synchronize()
    event.record(streams.Stream())
    event.wait()
    event.wait(streams.Stream())
    event.synchronize()
    assert event.query() is True


def test_a_recorded_event_drains_the_device(monkeypatch):
    drained = []
    monkeypatch.setattr(events, "drain", drained.append)
    event = events.Event()
    event.query(), event.synchronize()
    assert drained == []
    event.record()
    assert drained == []  # nothing to wait for on the CPU
    event.synchronize()
    event.query()
    assert drained == [0, 0]


@pytest.mark.parametrize("backend", [Backend.SIM, Backend.MLX])
def test_a_timing_event_drains_the_queue_before_it_reads_the_clock(monkeypatch, backend):
    order = []
    monkeypatch.setattr(events, "current", lambda: backend)
    monkeypatch.setattr(events, "drain", lambda index: order.append("drain"))
    monkeypatch.setattr(events, "_tick", lambda: order.append("clock") or 1)
    events.Event(enable_timing=True).record()
    assert order == ["drain", "clock"]
    order.clear()
    events.Event().record()
    assert order == ["clock"]


def test_on_mps_the_driver_takes_the_times(monkeypatch):
    monkeypatch.setattr(events, "current", lambda: Backend.MPS)
    monkeypatch.setattr(events, "device_index", lambda spec: 0)
    with mock.patch.object(torch.mps, "Event", autospec=True) as metal:
        event = events.Event(enable_timing=True)
        metal.assert_called_once_with(True)
        inner = metal.return_value
        inner.query.return_value = False
        inner.elapsed_time.return_value = 2.5
        event.wait()
        inner.wait.assert_not_called()
        event.record()
        inner.record.assert_called_once_with()
        assert event.query() is False
        event.wait()
        event.synchronize()
        inner.wait.assert_called_once_with()
        inner.synchronize.assert_called_once_with()
        assert event.elapsed_time(event) == 2.5
        inner.elapsed_time.assert_called_once_with(inner)


def test_attributes():
    event = events.Event()
    assert event.cuda_event == 0 and event.device is None
    assert repr(event) == "<torch.cuda.Event uninitialized>"
    event.record()
    assert event.cuda_event == event.event_id == event._as_parameter_.value != 0
    assert event.device == torch.device("cpu")
    assert repr(event) == f"<torch.cuda.Event {event.cuda_event:#x}>"


def test_interprocess_excludes_timing():
    with pytest.raises(RuntimeError, match="interprocess and timed"):
        events.Event(enable_timing=True, interprocess=True)


def test_ipc_handle_round_trips():
    event = events.Event(interprocess=True)
    handle = event.ipc_handle()
    assert isinstance(handle, bytes) and len(handle) == 64
    other = events.Event.from_ipc_handle("cuda:0", handle)
    assert other.cuda_event == event.cuda_event
    # As torch.xpu names it:
    assert events.Event.from_ipc_handle(0, ipc_handle=handle).cuda_event == event.cuda_event
    assert other.ipc_handle() == handle  # it can be handed on
    assert (
        events.Event(interprocess=True).ipc_handle() != handle
    )  # also of one that is not recorded
    other.wait()
    other.synchronize()
    assert other.query() is True


def test_ipc_handle_errors():
    with pytest.raises(RuntimeError, match="interprocess=True"):
        events.Event().ipc_handle()
    for wrong in (b"", b"x" * 64, "text"):
        with pytest.raises(RuntimeError, match="not the IPC handle"):
            events.Event.from_ipc_handle(0, wrong)
    handle = events.Event(interprocess=True).ipc_handle()
    with pytest.raises(TypeError, match="one handle"):
        events.Event.from_ipc_handle(0)
    with pytest.raises(TypeError, match="one handle"):
        events.Event.from_ipc_handle(0, handle, ipc_handle=handle)


def test_a_handle_has_the_mark_and_the_backend():
    """Either alone is another's: of a library that hands out bytes of this size, of another backend."""
    handle = events.Event(interprocess=True).ipc_handle()
    mark, backend, rest = handle[:8], handle[8:16], handle[16:]
    assert mark == b"tdev-evt" and backend.rstrip(b"\0").decode() == current().value
    for wrong in (b"x" * 8 + backend + rest, mark + b"another\0" + rest, handle[:-1]):
        with pytest.raises(RuntimeError, match="not the IPC handle"):
            events.Event.from_ipc_handle(0, wrong)


def _wait_for(handle: bytes) -> bool:
    event = events.Event.from_ipc_handle(0, handle)
    event.synchronize()
    return event.query()


@pytest.mark.slow
def test_a_handle_works_in_a_spawned_process():
    event = events.Event(interprocess=True)
    event.record()
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(_wait_for, (event.ipc_handle(),)) is True


def test_importing_events_starts_no_thread_and_no_device():
    code = (
        "import threading, torch\n"
        "from tdev_core.accelerators import events, streams\n"
        "events.Event(); streams.Stream()\n"
        "assert threading.active_count() == 1 and not torch.cuda.is_initialized()\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_what_is_not_said_is_what_torchs_events_take() -> None:
    asked = inspect.signature(torch.cuda.Event.__new__).parameters
    defaults = {name: one.default for name, one in asked.items() if one.default is not one.empty}
    for ours in (events.Event.__new__, events.Event.__init__):
        told = inspect.signature(ours).parameters
        assert {name: told[name].default for name in defaults} == defaults
