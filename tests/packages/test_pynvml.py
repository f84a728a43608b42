"""The stand-in for pynvml says what tdev's own functions say, and refuses what they do not know."""

from __future__ import annotations

import pytest

from tdev_core.errors import UnsupportedError
from tdev_core.packages import pynvml


@pytest.fixture(autouse=True)
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdev_core.cuda.device_selection.device_count", lambda: 2)
    monkeypatch.setattr("tdev_core.cuda.memory.usage.info", lambda device: (70 + device, 100))
    monkeypatch.setattr("tdev_core.cuda.properties.name", lambda device: f"device {device}")
    monkeypatch.setattr("tdev_core.cuda.sensors.utilization", lambda device: 40 + device)
    monkeypatch.setattr("tdev_core.cuda.sensors.temperature", lambda device: 50 + device)
    monkeypatch.setattr("tdev_core.cuda.sensors.power_draw", lambda device: 60 + device)


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


def test_each_error_has_its_number() -> None:
    kinds = [
        x
        for x in vars(pynvml).values()
        if isinstance(x, type) and issubclass(x, pynvml.NVMLError) and x.__name__ in pynvml.__all__
    ]
    assert len(kinds) == 11
    for kind in kinds:
        assert kind().value == kind.number
    assert str(pynvml.NVMLError(7)) == "NVML Error with code 7"


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
