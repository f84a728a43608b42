"""The stand-in for pynvml says what tdev's own functions say, and refuses what they do not know."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

from tdev_core.errors import UnsupportedError
from tdev_core.packages import pynvml
from tests.forkserver import environment, python


@pytest.fixture(autouse=True)
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdev_core.cuda.device_selection.device_count", lambda: 2)
    monkeypatch.setattr("tdev_core.cuda.memory.usage.info", lambda device: (70 + device, 100))
    monkeypatch.setattr("tdev_core.cuda.properties.name", lambda device: f"device {device}")
    monkeypatch.setattr("tdev_core.cuda.sensors.utilization", lambda device: 40 + device)
    monkeypatch.setattr("tdev_core.cuda.sensors.temperature", lambda device: 50 + device)
    monkeypatch.setattr("tdev_core.cuda.sensors.power_draw", lambda device: 60 + device)
    monkeypatch.setattr("tdev_core.cuda.properties.capability", lambda device: (9, 0))
    monkeypatch.setattr(
        "tdev_core.cuda.properties.get", lambda device: SimpleNamespace(uuid=UUID(int=device))
    )


def test_a_device_is_what_tdev_says_of_it() -> None:
    pynvml.nvmlInit()
    pynvml.nvmlInitWithFlags(0)
    assert pynvml.nvmlDeviceGetCount() == 2
    for index in range(2):
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
        assert (memory.total, memory.free, memory.used) == (100, 70 + index, 30 - index)
        assert pynvml.nvmlDeviceGetIndex(handle) == index
        assert pynvml.nvmlDeviceGetName(handle) == f"device {index}"
        assert pynvml.nvmlDeviceGetUtilizationRates(handle).gpu == 40 + index
        assert pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU) == 50 + index
        assert pynvml.nvmlDeviceGetPowerUsage(handle) == 60 + index
    pynvml.nvmlShutdown()


def test_what_is_not_known_is_refused() -> None:
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(UnsupportedError, match="does not know how busy the memory is"):
        _ = pynvml.nvmlDeviceGetUtilizationRates(handle).memory
    with pytest.raises(UnsupportedError, match="what a driver reserves"):
        pynvml.nvmlDeviceGetMemoryInfo(handle, version=2)
    with pytest.raises(
        UnsupportedError, match="pynvml.nvmlDeviceGetClockInfo is known of no"
    ) as told:
        pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
    assert isinstance(told.value, pynvml.NVMLError_NotSupported)
    assert told.value.value == pynvml.NVML_ERROR_NOT_SUPPORTED
    with pytest.raises(AttributeError, match="pynvml.nvmlEventSetCreate is not in"):
        _ = pynvml.nvmlEventSetCreate


def test_each_error_has_its_number_and_its_class() -> None:
    numbers = {
        name.removeprefix("NVML_ERROR_"): getattr(pynvml, name)
        for name in pynvml.__all__
        if name.startswith("NVML_ERROR_")
    }
    assert sorted(numbers.values()) == [*range(1, 31), 999]
    for name, number in numbers.items():
        kind = getattr(pynvml, "NVMLError_" + name.title().replace("_", ""))
        assert pynvml.nvmlExceptionClass(number) is kind and kind().value == kind.number == number
        made = pynvml.NVMLError(number)
        assert type(made) is kind and str(made) and "code" not in str(made)
    with pytest.raises(ValueError, match="nvmlErrorCode 77 is not valid"):
        pynvml.nvmlExceptionClass(77)
    assert str(pynvml.NVMLError(77)) == "NVML Error with code 77"


def test_devices_that_there_are_not_are_nvmls_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    for index in (-1, 2):
        with pytest.raises(pynvml.NVMLError, match="Invalid Argument") as told:
            pynvml.nvmlDeviceGetHandleByIndex(index)
        assert told.value.value == pynvml.NVML_ERROR_INVALID_ARGUMENT
    for call in (pynvml.nvmlDeviceGetName, pynvml.nvmlDeviceGetIndex):
        with pytest.raises(pynvml.NVMLError_InvalidArgument):
            call(0)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetTemperature(pynvml.nvmlDeviceGetHandleByIndex(0), 1)
    monkeypatch.setattr("tdev_core.cuda.device_selection.device_count", lambda: 0)
    with pytest.raises(pynvml.NVMLError, match="NVML Shared Library Not Found") as told:
        pynvml.nvmlInit()
    assert told.value.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND


def test_an_error_made_of_a_number_is_of_its_class() -> None:
    """As nvitop and programs that keep numbers make them."""
    made = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    assert type(made) is pynvml.NVMLError_NotSupported and made.value == 3
    assert type(pynvml.NVMLError(77)) is pynvml.NVMLError
    assert str(pynvml.NVMLError(77)) == "NVML Error with code 77"
    assert type(pynvml.NVMLError()) is pynvml.NVMLError


def test_a_device_has_an_id_and_a_capability() -> None:
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(2)]
    ids = [pynvml.nvmlDeviceGetUUID(handle) for handle in handles]
    assert len({*ids}) == 2 and all(one.startswith("GPU-") for one in ids)
    for handle, one in zip(handles, ids, strict=True):
        assert pynvml.nvmlDeviceGetHandleByUUID(one) == handle
        assert pynvml.nvmlDeviceGetHandleByUUID(one.encode()) == handle
        assert pynvml.nvmlDeviceGetCudaComputeCapability(handle) == [9, 0]
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByUUID("GPU-0")


def test_a_sensor_that_the_host_lacks_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Monitors go on after it, as they do at a GPU without a fan."""

    def lacks(device: int) -> int:
        raise UnsupportedError("no thermometer is known", "TDEV103")

    monkeypatch.setattr("tdev_core.cuda.sensors.temperature", lacks)
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(pynvml.NVMLError_NotSupported, match="no thermometer is known") as told:
        pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)
    assert isinstance(told.value, UnsupportedError) and told.value.value == 3


def test_all_names_come_by_a_star(tmp_path: Path) -> None:
    """As gpustat and monitors write it; the import is the program's own, and asks as each other."""
    (tmp_path / "watch.py").write_text(
        "from pynvml import *\n\ntry:\n    nvmlInit()\n    print(nvmlDeviceGetCount())\nexcept NVMLError_LibraryNotFound:\n"
        "    print('none')\n"
    )
    done = python(
        "-m", "tdev", "run", str(tmp_path / "watch.py"), env=environment(TDEV_BACKEND="sim")
    )
    assert done.stdout == "1\n", done.stderr
