"""NVTX ranges become ranges that torch.profiler sees."""

from __future__ import annotations

import threading

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from tdev_core.cuda import nvtx


def _names(work) -> list[str]:
    with profile(activities=[ProfilerActivity.CPU]) as result:
        work()
    return [event.name for event in result.events()]


def test_push_and_pop_return_depths_from_zero():
    assert [nvtx.range_push("a"), nvtx.range_push("b")] == [0, 1]
    assert [nvtx.range_pop(), nvtx.range_pop()] == [1, 0]


def test_pop_without_push_is_negative():
    assert nvtx.range_pop() == -1


def test_ranges_are_in_the_profile_around_their_operators():
    def work():
        nvtx.range_push("outer")
        torch.ones(2).sum()
        nvtx.range_pop()
        with nvtx.range("step {} of {total}", 3, total=9):
            torch.ones(2).mul(2)
        nvtx.mark("moment")

    names = _names(work)
    assert {"outer", "step 3 of 9", "moment"} <= set(names)
    with profile(activities=[ProfilerActivity.CPU]) as result:
        work()
    outer = next(event for event in result.events() if event.name == "outer")
    assert "aten::sum" in {child.name for child in outer.cpu_children}


def test_range_is_a_decorator_and_closes_after_an_error():
    @nvtx.range("decorated")
    def work():
        raise KeyError

    with pytest.raises(KeyError):
        work()
    assert nvtx.range_pop() == -1
    assert "decorated" in _names(lambda: pytest.raises(KeyError, work))


def test_started_ranges_have_handles_and_end_in_any_thread():
    handles = [nvtx.range_start("x"), nvtx.range_start("y")]
    assert handles[0] != handles[1]
    assert set(handles) <= set(nvtx._open)
    thread = threading.Thread(target=nvtx.range_end, args=(handles[0],))
    thread.start()
    thread.join()
    nvtx.range_end(handles[1])
    nvtx.range_end(987654321)  # unknown handles are ignored
    assert not set(handles) & set(nvtx._open)
    handle = nvtx.device_range_start("z", stream=0)
    nvtx.device_range_end(handle)
    assert handle not in nvtx._open


def test_each_thread_has_its_own_stack():
    depths = []
    nvtx.range_push("main")
    thread = threading.Thread(
        target=lambda: depths.append((nvtx.range_push("t"), nvtx.range_pop()))
    )
    thread.start()
    thread.join()
    assert depths == [(0, 0)] and nvtx.range_pop() == 0
