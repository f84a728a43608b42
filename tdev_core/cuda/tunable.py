"""``torch.cuda.tunable`` where there are no GEMM kernels to choose between.

TunableOp times the matrix products of rocBLAS, hipBLASLt or cuBLAS against each other. Other backends have one
product per dtype. Settings are kept and read back; turning the tuner on warns once and leaves it off,
which :func:`is_enabled` says; tuning itself is unsupported.

Source: ``torch.cuda.tunable`` for names and defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tdev_core.errors import DeviceWarning, warn_once

__all__ = [
    "dynamic_dims_mask",
    "enable",
    "get_cublaslt_requested_algo_count",
    "get_filename",
    "get_max_tuning_duration",
    "get_max_tuning_iterations",
    "get_results",
    "get_rotating_buffer_size",
    "get_validators",
    "is_enabled",
    "read_file",
    "record_untuned_enable",
    "set_cublaslt_requested_algo_count",
    "set_filename",
    "set_max_tuning_duration",
    "set_max_tuning_iterations",
    "set_numerical_check_tolerances",
    "set_rotating_buffer_size",
    "tuning_enable",
    "wildcard_fallback_enable",
]


@dataclass
class _Settings:
    filename: str = "tunableop_results.csv"
    duration_ms: int = 30
    iterations: int = 100
    rotating_buffer_mib: int = 0
    check: bool = False
    atol: float = 1e-5
    rtol: float = 1e-5
    algorithms: int = 1


_settings = _Settings()


def _nothing_to_tune(function: str, wished: bool) -> None:
    if wished:
        warn_once(
            f"torch.cuda.tunable.{function}(True) has no effect: this backend has no matrix products "
            "to choose between",
            DeviceWarning,
            code="TDEV307",
            key=("tunable", function),
            stacklevel=4,
        )


def enable(val: bool = True) -> None:
    """Asking for the tuner warns once; it stays off."""
    _nothing_to_tune("enable", val)


def is_enabled() -> bool:
    """False: there is no tuner."""
    return False


def tuning_enable(val: bool = True) -> None:
    """Asking for tuning warns once; it stays off."""
    _nothing_to_tune("tuning_enable", val)


def record_untuned_enable(val: bool = True) -> None:
    """Asking for a record of untuned products warns once; none is kept."""
    _nothing_to_tune("record_untuned_enable", val)


def wildcard_fallback_enable(val: bool = True) -> None:
    """Asking for a match of products of other sizes warns once; there are no results to match."""
    _nothing_to_tune("wildcard_fallback_enable", val)


@contextmanager
def dynamic_dims_mask() -> Iterator[None]:
    """Leave no size out of what is tuned inside the block: nothing is."""
    yield


def set_cublaslt_requested_algo_count(count: int) -> None:
    """Keep how many algorithms cuBLASLt is asked for."""
    _settings.algorithms = int(count)


def get_cublaslt_requested_algo_count() -> int:
    """Return what :func:`set_cublaslt_requested_algo_count` set."""
    return _settings.algorithms


def set_max_tuning_duration(duration: int) -> None:
    """Keep the longest time for one solution, in ms."""
    _settings.duration_ms = int(duration)


def get_max_tuning_duration() -> int:
    """Return what :func:`set_max_tuning_duration` set, in ms."""
    return _settings.duration_ms


def set_max_tuning_iterations(iterations: int) -> None:
    """Keep the most iterations for one solution."""
    _settings.iterations = int(iterations)


def get_max_tuning_iterations() -> int:
    """Return what :func:`set_max_tuning_iterations` set."""
    return _settings.iterations


def set_rotating_buffer_size(buffer_size: int) -> None:
    """Keep the size of the rotating buffer, in MiB."""
    _settings.rotating_buffer_mib = int(buffer_size)


def get_rotating_buffer_size() -> int:
    """Return what :func:`set_rotating_buffer_size` set, in bytes, as torch returns it."""
    return _settings.rotating_buffer_mib * 1024 * 1024


def set_numerical_check_tolerances(enable: bool, atol: float = 1e-5, rtol: float = 1e-5) -> None:
    """Keep the tolerances of the check of tuned solutions."""
    _settings.check, _settings.atol, _settings.rtol = bool(enable), float(atol), float(rtol)


def set_filename(filename: str, insert_device_ordinal: bool = False) -> None:
    """Keep the name of the results file; the device's number is put before its suffix on request."""
    name = str(filename)
    if insert_device_ordinal:
        stem, dot, suffix = name.rpartition(".")
        name = f"{stem}0.{suffix}" if dot else f"{name}0"
    _settings.filename = name


def get_filename() -> str:
    """Return what :func:`set_filename` set."""
    return _settings.filename


def get_results() -> tuple[Any, ...]:
    """Empty: nothing was tuned."""
    return ()


def get_validators() -> tuple[Any, ...]:
    """Empty: there are no libraries whose versions a result depends on."""
    return ()


def read_file(filename: str | None = None) -> bool:
    """False: results of another device's tuner are not taken over."""
    return False
