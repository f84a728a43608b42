"""Limits that a test sets itself by a marker: waits for the device, memory on it, operators that leave it.

Each is judged where it can be seen: waits on ``sim``, memory on every accelerator, operators that leave the device on
``mlx`` and ``mps``. Elsewhere the marker says so with one warning for the run instead of passing for nothing.
"""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

__all__ = ["MARKERS", "Budgets"]

MARKERS = (
    "tdev_max_syncs(n): fail a test in which the program waits for the device more than n times (sim)",
    'tdev_max_memory(size): fail a test that holds more on one device at a time, such as "512MiB"',
    "tdev_no_fallback: fail a test in which an operator leaves the accelerator for the CPU",
)
_SHOWN = 10


class _Limit(NamedTuple):
    """One marker, begun: what says at the end how it was broken, or nothing."""

    broken: Callable[[], str]


class Budgets:
    """The limits of one test, from its markers.

    Raises:
        pytest.UsageError: a marker whose argument means nothing.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._limits: list[_Limit] = []
        for marker in item.iter_markers():
            begin = _BEGIN.get(marker.name)
            if begin is not None:
                limit = begin(marker)
                if limit is not None:
                    self._limits.append(limit)

    def broken(self) -> str:
        """Say which limits the test has broken; nothing where it kept them."""
        return "\n".join(filter(None, (limit.broken() for limit in self._limits)))


def _argument(marker: pytest.Mark, what: str) -> Any:
    if len(marker.args) != 1 or marker.kwargs:
        raise pytest.UsageError(f"{marker.name} takes one argument: {what}")
    return marker.args[0]


def _not_judged(marker: pytest.Mark, why: str) -> None:
    warnings.warn(f"{marker.name} is not judged here: {why}", pytest.PytestWarning, stacklevel=2)


def _syncs(marker: pytest.Mark) -> _Limit | None:
    most = _argument(marker, "how often the program may wait")
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        raise pytest.UsageError(f"{marker.name}({most!r}): a number of waits, 0 or more")
    from tdev_core.accelerators.privateuse import waits  # torch is loaded by the tests, if at all
    from tdev_core.backend import Backend, current

    if current() is not Backend.SIM:
        _not_judged(marker, f"waits are seen on sim, and the backend is {current().value}")
        return None
    before = Counter(waits.seen)

    def broken() -> str:
        new = Counter(waits.seen) - before
        if new.total() <= most:
            return ""
        lines = [
            f"  {wait.file}:{wait.line}: {wait.operator}" + (f" ({n} times)" if n > 1 else "")
            for wait, n in new.most_common(_SHOWN)
        ]
        rest = len(new) - len(lines)
        lines += [f"  and {rest} lines more"] if rest else []
        return (
            f"the program waited for the device {new.total()} times, at most {most} are allowed:\n"
            + "\n".join(lines)
        )

    return _Limit(broken)


def _memory(marker: pytest.Mark) -> _Limit | None:
    text = _argument(marker, 'a size, such as "512MiB"')
    from tdev_core.accelerators.sim.sizes import parse_size
    from tdev_core.backend import is_accelerator

    try:
        most = text if isinstance(text, int) and not isinstance(text, bool) else parse_size(text)
    except (ValueError, AttributeError):  # no size, no text
        raise pytest.UsageError(
            f'{marker.name}({text!r}): bytes, or a size with its unit, such as "512MiB"'
        ) from None
    if not is_accelerator():
        _not_judged(marker, "the CPU's memory is every program's")
        return None
    cuda = importlib.import_module("tdev").cuda
    devices = range(cuda.device_count())
    for device in devices:
        cuda.reset_peak_memory_stats(device)

    def broken() -> str:
        peaks = {device: cuda.max_memory_allocated(device) for device in devices}
        return "\n".join(
            f"device {device} held {peak:,} bytes at a time, {most:,} are allowed"
            for device, peak in peaks.items()
            if peak > most
        )

    return _Limit(broken)


def _no_fallback(marker: pytest.Mark) -> _Limit | None:
    from tdev_core.backend import is_accelerator
    from tdev_core.metrics import counters

    if not is_accelerator():
        _not_judged(marker, "there is no accelerator to leave")
        return None
    before = Counter(counters.fallbacks)

    def broken() -> str:
        new = Counter(counters.fallbacks) - before
        names = ", ".join(f"{name} ({n})" for name, n in new.most_common(_SHOWN))
        return f"left the accelerator for the CPU: {names}" if new else ""

    return _Limit(broken)


_BEGIN: dict[str, Callable[[pytest.Mark], _Limit | None]] = {
    "tdev_max_syncs": _syncs,
    "tdev_max_memory": _memory,
    "tdev_no_fallback": _no_fallback,
}
