"""Device specifications in every spelling, and every kind of function that makes a tensor on one."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import tdev as torch
import torch as stock

from tdev_core.backend import Backend, current

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU, reason="expects the CPU as the target"
)
CPU = stock.device("cpu")


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.device("cuda"),
        lambda: torch.device("cuda:0"),
        lambda: torch.device("cuda", 0),
        lambda: torch.device(type="cuda", index=0),
        lambda: torch.device(stock.device("cuda")),
        lambda: torch.device(device="cuda"),
        lambda: torch.device(0),
        lambda: torch.device("mps"),
        lambda: torch.device("xpu:0"),
    ],
)
def test_devices_are_real_ones_on_the_active_backend(make: Callable[[], stock.device]) -> None:
    device = make()
    assert type(device) is stock.device and isinstance(device, torch.device)
    assert device == CPU and {device: 1}[CPU] == 1
    assert f"{device}" == "cpu" and device.type == "cpu"
    match device:
        case stock.device(type="cpu"):
            pass
        case _:
            raise AssertionError(device)


def test_a_device_is_told_by_its_type() -> None:
    # Which is torch's own, so that `is` says no; what the codemod writes instead says yes.
    kind = type(torch.device("cpu"))
    assert kind == torch.device and not kind != torch.device and torch.device == kind
    assert kind in (str, torch.device) and {torch.device: 1}[kind] == 1 and kind in {torch.device}
    told = functools.singledispatch(lambda value: "else")
    told.register(torch.device, lambda value: "device")
    assert told(torch.device("cpu")) == told(stock.device("meta")) == "device"
    match torch.device("cpu"):
        case torch.device(type="cpu"):
            pass
        case other:
            raise AssertionError(other)


def test_cpu_and_meta_mean_themselves() -> None:
    assert torch.device("cpu") == CPU and torch.device("cpu", 0) == stock.device("cpu", 0)
    assert torch.zeros(1, device="meta").device.type == "meta"
    assert torch.ones(1).to("meta").device.type == "meta"


@pytest.mark.parametrize(
    "bad", [True, 1.5, [], "gpu", "cuda:x", "/data/cuda_runs/m.pt", object], ids=repr
)
def test_what_is_no_device_gets_torchs_error(bad: Any) -> None:
    with pytest.raises((TypeError, RuntimeError)) as theirs:
        stock.device(bad)
    with pytest.raises(theirs.type) as ours:
        torch.device(bad)
    assert str(ours.value) == str(theirs.value)


def test_the_callers_containers_stay_as_they_are() -> None:
    locations = {"cuda:0": "cuda:0"}
    devices = ["cuda", "cuda:0"]
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.random.fork_rng(devices=devices, device_type="cuda"):
        pass
    with torch.profiler.profile(activities=activities):
        pass
    assert (
        locations == {"cuda:0": "cuda:0"} and devices == ["cuda", "cuda:0"] and len(activities) == 1
    )


def test_device_modules_and_defaults() -> None:
    assert torch.get_device_module("cuda") is not None
    assert torch.get_default_device() == CPU


FACTORIES: dict[str, Callable[..., stock.Tensor]] = {
    "zeros": lambda d: torch.zeros(2, device=d),
    "full": lambda d: torch.full((2,), 1.0, device=d),
    "arange": lambda d: torch.arange(2, device=d),
    "randperm": lambda d: torch.randperm(2, device=d),
    "normal": lambda d: torch.normal(0.0, 1.0, (2,), device=d),
    "eye": lambda d: torch.eye(2, device=d),
    "tensor": lambda d: torch.tensor([1.0], device=d),
    "as_tensor": lambda d: torch.as_tensor([1.0], device=d),
    "asarray": lambda d: torch.asarray([1.0], device=d),
    "ones_like": lambda d: torch.ones_like(stock.ones(2), device=d),
    "randn_like": lambda d: torch.randn_like(stock.ones(2), device=d),
    "fftfreq": lambda d: torch.fft.fftfreq(4, device=d),
    "rfftfreq": lambda d: torch.fft.rfftfreq(4, device=d),
    "hann_window": lambda d: torch.hann_window(4, device=d),
    "kaiser_window": lambda d: torch.kaiser_window(4, device=d),
    "signal.windows": lambda d: torch.signal.windows.hamming(4, device=d),
    "sparse_coo": lambda d: torch.sparse_coo_tensor([[0]], [1.0], (2,), device=d),
    "sparse_csr": lambda d: torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 2), device=d),
    "nested": lambda d: torch.nested.nested_tensor([[1.0], [2.0, 3.0]], device=d),
    "make_tensor": lambda d: torch.testing.make_tensor(2, dtype=stock.float32, device=d),
    "tril_indices": lambda d: torch.tril_indices(2, 2, device=d),
    "cartesian": lambda d: torch.linspace(0, 1, 3, device=d),
    "legacy": lambda d: torch.cuda.FloatTensor(2, 3),
    "legacy_list": lambda d: torch.cuda.LongTensor([1, 2]),
}


@pytest.mark.parametrize("device", ["cuda", "cuda:0", 0, stock.device("cuda", 0)], ids=str)
@pytest.mark.parametrize("name", FACTORIES)
def test_factories_make_tensors_on_the_active_device(name: str, device: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert FACTORIES[name](device).device == CPU


def test_complex_gets_no_device() -> None:
    assert torch.complex(stock.ones(1), stock.ones(1)).dtype is stock.complex64


def test_tensors_tell_where_they_are() -> None:
    x = torch.ones(2, device="cuda")
    assert x.is_cuda is False and x.get_device() == -1 and x.device == CPU
    assert not hasattr(x, "__cuda_array_interface__")
    assert x.data_ptr() and not x.is_pinned() and x.pin_memory() is not None


def test_files_with_cuda_in_their_name(tmp_path: Any) -> None:
    path = tmp_path / "cuda_runs" / "m.pt"
    path.parent.mkdir()
    torch.save({"device": "cuda", "path": str(path)}, path)
    assert torch.load(path) == {"device": "cuda", "path": str(path)}
    storage = torch.from_file(str(tmp_path / "cuda:0.bin"), shared=True, size=2, device="cuda")
    assert storage.device == CPU and (tmp_path / "cuda:0.bin").exists()


def test_lazy_modules_allow_the_moves() -> None:
    lazy = torch.nn.LazyConv2d(2, 3).cuda().to("cuda")
    assert lazy(stock.ones(1, 1, 5, 5)).device == CPU


def test_bases_of_layers_take_devices() -> None:
    class Mine(torch.nn.modules.batchnorm._BatchNorm):
        pass

    assert Mine(2, device="cuda").weight.device == CPU
