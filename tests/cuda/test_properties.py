"""Device facts on the CPU, and sensors that tell the truth or nothing."""

from __future__ import annotations

import platform
import subprocess
import sys
import uuid
from collections import namedtuple
from pathlib import Path
from unittest import mock

import pytest
import torch

from tdev_core.accelerators import host, queues
from tdev_core.backend import Backend
from tdev_core.cuda import device_selection, properties, sensors
from tdev_core.errors import DeviceWarning, UnsupportedError
from tests.forkserver import environment, python


def _run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return python("-c", code, env=environment(**settings))


_ASK = (
    "from tdev_core.cuda import device_selection as p\n"
    "print(p.is_available(), p.device_count(), p.current_accelerator(), p.current_device())"
)


@pytest.mark.parametrize(
    ("wish", "answer"),
    [("auto", "False 0 None 0"), ("true", "True 1 cpu 0"), ("false", "False 0 None 0")],
)
def test_availability_and_count_go_together(wish, answer):
    done = _run(_ASK, TDEV_BACKEND="cpu", TDEV_CUDA_AVAILABLE=wish)
    assert done.stdout.strip() == answer, done.stderr


def test_torch_itself_goes_on_telling_the_truth():
    code = (
        "import torch\nfrom tdev_core.cuda import device_selection as p\n"
        "assert p.is_available()\nprint(torch.cuda.is_available(), torch.accelerator.is_available())"
    )
    done = _run(code, TDEV_BACKEND="cpu", TDEV_CUDA_AVAILABLE="true")
    assert done.stdout.split()[0] == str(torch.cuda.is_available())


def test_properties_have_what_programs_read():
    facts = properties.get(0)
    assert facts.name == properties.name() == host.name() != ""
    assert (facts.major, facts.minor) == properties.capability() == (0, 0)
    assert facts.total_memory == host.memory_total() > 1 << 28
    assert facts.multi_processor_count == host.cores() >= 1
    assert facts.L2_cache_size == host.cache_bytes() >= 0
    assert facts.is_integrated == 1 and facts.is_multi_gpu_board == 0
    assert isinstance(facts.uuid, uuid.UUID) and facts.uuid == properties.get("cuda:0").uuid
    assert facts.warp_size == facts.max_threads_per_multi_processor == 1
    assert facts.gcnArchName == "" and facts.shared_memory_per_block == 0
    assert facts.max_compute_units == facts.gpu_eu_count == facts.multi_processor_count
    assert facts.last_level_cache_size == facts.L2_cache_size and facts.is_integrated_gpu is True
    assert properties.as_dict(facts)["name"] == facts.name


def test_properties_of_torch_become_a_dictionary_too():
    real = namedtuple("_CudaDeviceProperties", "name major")("H200", 9)
    told = properties.as_dict(real)
    assert told["name"] == "H200" and told["major"] == 9


@pytest.mark.parametrize(
    "threshold",
    [(5, 0), (7, 0), (7, 5), (8, 0), (8, 9), (9, 0)],
    ids=["maxwell", "triton", "turing", "ampere", "ada", "hopper"],
)
def test_capability_selects_no_cuda_kernel(threshold):
    assert not properties.capability() >= threshold
    assert not properties.capability()[0] >= threshold[0]


def test_the_host_is_described_by_itself():
    if Path("/proc/cpuinfo").exists() and "model name" in Path("/proc/cpuinfo").read_text():
        assert host.name() in Path("/proc/cpuinfo").read_text()
    if Path("/proc/meminfo").exists():
        total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
        assert host.memory_total() <= total
    assert str(host.identifier()) not in (host._text("/etc/machine-id"), platform.node())


def test_a_host_without_proc_still_answers(monkeypatch):
    monkeypatch.setattr(host, "_text", lambda path: "")
    host.name.cache_clear(), host.cache_bytes.cache_clear()
    try:
        assert host.name() and host.cache_bytes() >= 0
        assert host.memory_total() > 0 and host.memory_available() > 0
    finally:
        host.name.cache_clear(), host.cache_bytes.cache_clear()


def test_device_contexts_and_set_device():
    with (
        device_selection.device(0) as nothing,
        device_selection.device("cuda"),
        device_selection.device(None),
    ):
        assert nothing is None and device_selection.current_device() == 0
    assert isinstance(device_selection.device(-1), torch.cuda.device)
    assert device_selection.device(-1).idx == -1 and device_selection.device("cuda:0").idx == 0
    assert device_selection.device(None).idx == 0  # the current one
    device_selection.set_device(0)
    device_selection.set_device(-1)
    with pytest.warns(DeviceWarning, match="index 3"):
        device_selection.set_device(3)
    assert device_selection.current_device() == 0
    with pytest.raises(TypeError):
        device_selection.set_device(1.5)


def test_device_contexts_switch_and_restore_where_there_are_two(monkeypatch):
    chosen = [0]
    fake = mock.MagicMock()
    fake.current_device.side_effect = lambda: chosen[0]
    fake.set_device.side_effect = lambda index: chosen.__setitem__(0, index)
    for module in (device_selection, queues):
        monkeypatch.setattr(module, "accelerator", lambda: fake)
    monkeypatch.setattr(device_selection, "device_index", lambda spec: spec)
    context = device_selection.device(1)
    with context:
        assert chosen == [1]
        with context, device_selection.device(0):
            assert chosen == [0]
        assert chosen == [1]
        with device_selection.device(-1):
            assert chosen == [1]
    assert chosen == [0]


def test_device_of():
    with device_selection.device_of(torch.ones(1)) as nothing:
        assert nothing is None
    assert isinstance(device_selection.device_of(torch.ones(1)), torch.cuda.device_of)
    assert device_selection.device_of(torch.ones(1)).idx == 0
    assert device_selection.device_of(torch.ones(1).untyped_storage()).idx == 0
    assert device_selection.device_of(torch.ones(1, device="meta")).idx == -1


def test_bf16_is_tried_and_the_processor_asked(monkeypatch):
    assert properties.is_bf16_supported() is True
    for told in ({"avx512_bf16": True}, {"amx_bf16": True}):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda told=told: told)
        assert properties.is_bf16_supported(including_emulation=False) is True
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_f": True})
    assert properties.is_bf16_supported(including_emulation=False) is False


def test_supported_dtypes_are_those_that_work():
    found = properties.supported_dtypes()["supported_dtypes"]
    assert {torch.float32, torch.float64, torch.bfloat16, torch.int8, torch.bool} <= found


def test_peers():
    assert device_selection.can_access_peer(0, 0) is False
    with pytest.warns(DeviceWarning):
        assert device_selection.can_access_peer(0, 9) is False


def test_facts_on_mps_come_from_torch(monkeypatch):
    for module in (properties, queues):
        monkeypatch.setattr(module, "current", lambda: Backend.MPS)
    monkeypatch.setattr(properties, "device_index", lambda spec: 0)
    import torch.backends.mps as mps

    with (
        mock.patch.object(mps, "get_name", autospec=True, return_value="Apple M3 Max"),
        mock.patch.object(mps, "get_core_count", autospec=True, return_value=40),
        mock.patch.object(
            torch.mps, "recommended_max_memory", autospec=True, return_value=48 << 30
        ),
    ):
        facts = properties.get()
        assert (facts.name, facts.multi_processor_count) == ("Apple M3 Max", 40)
        assert facts.total_memory == 48 << 30 and facts.type == "mps"
        assert facts.warp_size == facts.L2_cache_size == facts.clock_rate == 0
        assert facts.has_fp64 is False and (facts.major, facts.minor) == (0, 0)


def test_utilization_is_the_hosts():
    assert 0 <= sensors.utilization() <= 100
    assert isinstance(sensors.utilization("cuda:0"), int)


_Sensor = namedtuple("_Sensor", "label current")


def test_temperature_is_a_sensors_or_an_error(monkeypatch):
    import psutil

    monkeypatch.setattr(
        psutil,
        "sensors_temperatures",
        lambda: {"nvme": [_Sensor("", 30.0)], "coretemp": [_Sensor("", 0.0), _Sensor("", 61.6)]},
        raising=False,
    )
    assert sensors.temperature() == 62
    monkeypatch.setattr(
        psutil, "sensors_temperatures", lambda: {"nvme": [_Sensor("", 30.0)]}, raising=False
    )
    with pytest.raises(UnsupportedError, match="no temperature sensor"):
        sensors.temperature()
    monkeypatch.delattr(psutil, "sensors_temperatures", raising=False)
    with pytest.raises(UnsupportedError, match="torch.cuda.temperature is not supported"):
        sensors.temperature()


def test_power_comes_from_energy_counters(monkeypatch, tmp_path):
    readings = iter([5_000_000, 5_900_000])
    clock = iter([100.0, 100.1])
    for name in ("intel-rapl:0", "intel-rapl:0:0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "energy_uj").write_text("1")
    monkeypatch.setattr(sensors, "POWERCAP", tmp_path)
    assert sensors._energy() == 1  # the package, not its core
    monkeypatch.setattr(sensors, "_energy", lambda: next(readings))
    monkeypatch.setattr(sensors.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(sensors.time, "sleep", lambda seconds: None)
    assert sensors.power_draw() == pytest.approx(9000, abs=1)  # 0.9 J in 0.1 s, in mW


def test_power_without_counters_or_without_the_right_to_read_them(monkeypatch, tmp_path):
    monkeypatch.setattr(sensors, "POWERCAP", tmp_path)
    with pytest.raises(UnsupportedError, match="no readable energy counter"):
        sensors.power_draw()
    (tmp_path / "intel-rapl:0").mkdir()
    (tmp_path / "intel-rapl:0" / "energy_uj").write_text("not a number")
    with pytest.raises(UnsupportedError):
        sensors.power_draw()


def test_clock_rate(monkeypatch):
    monkeypatch.setattr(host, "clock_mhz", lambda: 2596.4)
    assert sensors.clock_rate() == 2596
    assert properties.get().clock_rate == 2_596_400
    monkeypatch.setattr(host, "clock_mhz", lambda: None)
    with pytest.raises(UnsupportedError, match="does not tell"):
        sensors.clock_rate()
    assert properties.get().clock_rate == 0


def test_no_psutil_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    for read in (sensors.utilization, sensors.temperature, sensors.clock_rate):
        with pytest.raises(UnsupportedError, match="pip install psutil"):
            read()


def test_a_macs_gpu_shows_no_sensors(monkeypatch):
    monkeypatch.setattr(sensors, "current", lambda: Backend.MPS)
    monkeypatch.setattr(sensors, "device_index", lambda spec: 0)
    for read in (sensors.utilization, sensors.temperature, sensors.power_draw, sensors.clock_rate):
        with pytest.raises(UnsupportedError, match="powermetrics"):
            read()
