"""Profiling code written for CUDA runs, and sees the operators that ran."""

from __future__ import annotations

import warnings
from unittest import mock

import pytest
import torch
from torch.profiler import ProfilerActivity

from tdev_core.backend import Backend
from tdev_core.cuda import profiler
from tdev_core.release import torch_release


def test_start_and_stop_do_nothing_and_profile_is_a_context():
    assert profiler.start() is None and profiler.stop() is None
    with profiler.profile() as nothing:
        assert nothing is None


def test_profile_stops_after_an_error(monkeypatch):
    calls = []
    monkeypatch.setattr(profiler, "start", lambda: calls.append("start"))
    monkeypatch.setattr(profiler, "stop", lambda: calls.append("stop"))
    with pytest.raises(KeyError), profiler.profile():
        raise KeyError
    assert calls == ["start", "stop"]


def test_on_mps_signposts_are_switched(monkeypatch):
    monkeypatch.setattr(profiler, "current", lambda: Backend.MPS)
    with (
        mock.patch.object(torch.mps.profiler, "start", autospec=True) as start,
        mock.patch.object(torch.mps.profiler, "stop", autospec=True) as stop,
    ):
        with profiler.profile():
            start.assert_called_once_with()
            stop.assert_not_called()
        stop.assert_called_once_with()


def test_emit_nvtx_runs_its_block():
    context = profiler.emit_nvtx(record_shapes=True)
    assert isinstance(context, torch.autograd.profiler.emit_nvtx)
    with torch.autograd.profiler.profile() as result, context as entered:
        assert entered is context
        with pytest.raises(RuntimeError, match="not reentrant"):
            context.__enter__()
        torch.ones(2).sum()
    assert "aten::sum" in {event.name for event in result.function_events}
    with context:
        pass  # it can be entered again once it was left
    with profiler.emit_nvtx(enabled=False), pytest.raises(KeyError), profiler.emit_nvtx():
        raise KeyError


def test_profiler_activity_cuda_profiles_the_cpu():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.profiler.profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True
        ) as result:
            torch.ones(8, 8) @ torch.ones(8, 8)
    for key in ("cuda_time_total", "self_cuda_time_total", "cpu_time_total"):
        assert "aten::mm" in result.key_averages().table(sort_by=key, row_limit=50)


@pytest.mark.skipif(torch_release >= (2, 14), reason="torch 2.14 dropped use_cuda")
def test_use_cuda_profiles_the_cpu():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.profiler.profile(use_cuda=True) as result:
            torch.ones(8, 8) @ torch.ones(8, 8)
    assert "aten::mm" in {event.name for event in result.function_events}
