"""``utilization``, ``temperature``, ``power_draw``, ``clock_rate``: what the host's sensors say.

``cpu`` and ``sim`` compute on the host's processors, and so does ``mlx`` on Linux; their sensors are the
host's. A sensor that is not there raises :class:`~tdev_core.errors.UnsupportedError`; no number is
ever made up. Reading loads and power takes a tenth of a second, for both are rates.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tdev_core.accelerators import host
from tdev_core.backend import Backend, current, unsupported
from tdev_core.devices import device_index

__all__ = ["clock_rate", "power_draw", "temperature", "utilization"]

WINDOW_S = 0.1
POWERCAP = Path("/sys/class/powercap")


def _on_host(function: str, device: Any) -> None:
    """Refuse where the device is a GPU whose sensors no Python library can read."""
    device_index(device)
    gpu = current() is Backend.MPS
    if current() is Backend.MLX:
        import mlx.core as mx

        gpu = mx.default_device().type != mx.cpu
    if gpu:
        unsupported(
            f"torch.cuda.{function}",
            "macOS gives the GPU's sensors to privileged tools only",
            "run `sudo powermetrics --samplers gpu_power`",
        )


def _psutil(function: str) -> Any:
    try:
        import psutil
    except ImportError:
        unsupported(
            f"torch.cuda.{function}",
            "the sensors are read through psutil, which is not installed",
            "pip install psutil",
        )
    return psutil


def utilization(device: Any = None) -> int:
    """Per cent of the processors' time that was spent working, all programs together, over 0.1 s."""
    _on_host("utilization", device)
    busy: float = _psutil("utilization").cpu_percent(interval=WINDOW_S)
    return round(busy)


def temperature(device: Any = None) -> int:
    """Temperature of the processor in degrees Celsius.

    Raises:
        UnsupportedError: the system shows no such sensor (virtual machines, macOS, Windows).
    """
    _on_host("temperature", device)
    read = getattr(_psutil("temperature"), "sensors_temperatures", None)
    groups = read() if read is not None else {}
    for chip in ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal"):
        for sensor in groups.get(chip, []):
            if sensor.current:
                return round(float(sensor.current))
    unsupported(
        "torch.cuda.temperature",
        "this machine shows no temperature sensor of its processor",
        "read it where the machine has one, or leave it out of the log",
    )


def _energy() -> int | None:
    """Sum of the packages' energy counters in µJ; None where there are none, or root alone may read."""
    counters = sorted(POWERCAP.glob("intel-rapl:[0-9]*/energy_uj"))
    packages = [path for path in counters if path.parent.name.count(":") == 1]
    try:
        return sum(int(path.read_text()) for path in packages) if packages else None
    except (OSError, ValueError):
        return None


def power_draw(device: Any = None) -> int:
    """Mean power of the processors in mW over 0.1 s, from their energy counters (RAPL).

    Raises:
        UnsupportedError: there are no counters, or only root may read them.
    """
    _on_host("power_draw", device)
    before, start = _energy(), time.perf_counter()
    if before is not None:
        time.sleep(WINDOW_S)
        after, end = _energy(), time.perf_counter()
        if after is not None and after >= before:  # the counter wraps around now and then
            return round((after - before) / (end - start) / 1000)
    unsupported(
        "torch.cuda.power_draw",
        f"no readable energy counter under {POWERCAP}",
        "run as root on a machine with RAPL counters, or leave it out of the log",
    )


def clock_rate(device: Any = None) -> int:
    """Current clock of the processors in MHz.

    Raises:
        UnsupportedError: the system does not tell it, or psutil is not installed.
    """
    _on_host("clock_rate", device)
    _psutil("clock_rate")
    clock = host.clock_mhz()
    if clock is None:
        unsupported(
            "torch.cuda.clock_rate",
            "this system does not tell the processor's clock",
            "leave it out of the log",
        )
    return round(clock)
