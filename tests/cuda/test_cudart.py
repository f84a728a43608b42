"""The CUDA runtime's functions, errors and settings on a host without CUDA."""

from __future__ import annotations

import ctypes
from unittest import mock

import pytest
import torch

from tdev_core.accelerators import streams
from tdev_core.backend import Backend
from tdev_core.cuda import cudart
from tdev_core.cuda.memory import usage


def test_cudart_answers():
    runtime = cudart.cudart()
    assert runtime is cudart.cudart()
    free, total = runtime.cudaMemGetInfo(0)
    assert 0 < free <= total == usage.info()[1]
    assert runtime.cudaProfilerStart() == runtime.cudaProfilerStop() == 0
    assert runtime.cudaGetErrorString(runtime.cudaError.success) == "no error"
    assert runtime.cudaGetErrorString(runtime.cudaError(2)) == "out of memory"
    assert runtime.cudaGetErrorString(31337) == "unrecognized error code"
    assert runtime.cudaHostRegister(0, 4096, 0) == runtime.cudaHostUnregister(0) == 0
    assert runtime.cudaError(700).value == 700 and runtime.cudaOutputMode.CSV == 1


def test_streams_of_the_runtime():
    """A program makes one by its address, gives the number to ``ExternalStream``, and takes it back once."""
    runtime = cudart.cudart()
    made = [ctypes.c_uint64(), ctypes.c_uint64()]
    for number in made:
        assert runtime.cudaStreamCreate(ctypes.addressof(number)) == 0
    first, second = (number.value for number in made)
    assert first and second and first != second
    external = streams.ExternalStream(first)
    assert external.cuda_stream == first and external.query()
    assert runtime.cudaStreamDestroy(first) == runtime.cudaStreamDestroy(second) == 0
    assert runtime.cudaStreamDestroy(first) == 400
    assert runtime.cudaGetErrorString(400) == "invalid resource handle"


def test_check_error():
    cudart.check_error(0)
    cudart.check_error(cudart.cudart().cudaError.success)
    cudart.check_error(torch.cuda.cudaStatus.SUCCESS)
    with pytest.raises(torch.cuda.CudaError, match=r"out of memory \(2\)") as caught:
        cudart.check_error(2)
    assert isinstance(caught.value, cudart.CudaError) and isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize(
    ("given", "kept"), [("warn", 1), ("error", 2), ("default", 0), (1, 1), (0, 0)]
)
def test_sync_debug_mode_is_kept(given, kept):
    cudart.set_sync_debug_mode(given)
    assert cudart.get_sync_debug_mode() == kept
    cudart.set_sync_debug_mode(0)


@pytest.mark.parametrize("wrong", ["loud", 3, -1, None])
def test_sync_debug_mode_is_checked(wrong):
    with pytest.raises(RuntimeError, match="invalid debug_mode"):
        cudart.set_sync_debug_mode(wrong)
    assert cudart.get_sync_debug_mode() == 0


def test_lazy_calls_happen_at_once():
    called = []
    cudart.lazy_call(lambda: called.append(1), seed=True)
    assert called == [1] and cudart.lazy_init() is None


def test_a_forked_child_may_use_the_cpu_but_not_metal():
    assert cudart.is_in_bad_fork() is False
    with (
        mock.patch("tdev_core.cuda.cudart.current", return_value=Backend.MPS),
        mock.patch.object(torch.mps, "_is_in_bad_fork", return_value=True),
    ):
        assert cudart.is_in_bad_fork() is True
