"""``CUDA_VISIBLE_DEVICES``, for ``sim``: launchers and programs choose by it which of the devices there are.

What is left has indices from 0 on, and the devices are all alike, so that only their number matters. A list that names none is
no limit here: ``TDEV_BACKEND`` and ``TDEV_CUDA_AVAILABLE`` are how a program is told that there is no accelerator.

Source: the CUDA programming guide, on environment variables; ``device_count`` in ``torch/cuda/__init__.py``.
"""

from __future__ import annotations

import os

from tdev_core.accelerators.sim import profiles

__all__ = ["limit", "more"]


def limit(devices: int) -> int:
    """Return how many of so many devices the program is to see."""
    name = _name()
    listed = os.environ.get(name, "") if name else ""
    return _listed(listed, devices) or devices


def more(devices: int) -> str:
    """Word what has a program see more than it does now, of ``devices`` that are configured."""
    name = _name()
    return f"unset {name}" if name and limit(devices) < devices else "set TDEV_SIM_DEVICES"


def _name() -> str | None:
    """Return the variable's name, which is ROCm's own for its devices; a Mac has none."""
    profile = profiles.active()
    build = "cuda" if profile is None else profile.build
    return {"cuda": "CUDA_VISIBLE_DEVICES", "hip": "HIP_VISIBLE_DEVICES"}.get(build)


def _listed(text: str, devices: int) -> int:
    """Count the devices that a list names: up to the first that is not there; none where one is named twice.

    A name that is no number (``GPU-8932f937…``) is one of some device.
    """
    seen: set[str] = set()
    for entry in (part.strip() for part in text.split(",")):
        number = int(entry) if entry.removeprefix("-").isdecimal() else None
        if not entry or (number is not None and not 0 <= number < devices):
            break
        key = entry if number is None else str(number)
        if key in seen:
            return 0
        seen.add(key)
    return min(len(seen), devices)
