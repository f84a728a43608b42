"""The settings of the ``sim`` device, read from the environment once."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from tdev_core.accelerators import host
from tdev_core.errors import ConfigError

__all__ = ["SimConfig", "parse_size", "read"]

_UNITS = {"": 1, "k": 1, "m": 2, "g": 3, "t": 4}
_MAX_DEVICES = 64  # torch keeps a device index in 8 signed bits; per-device state is made for each
_LEAST_MEMORY = 1 << 26  # where the system does not tell how much there is


@dataclass(frozen=True)
class SimConfig:
    """``devices``: how many; ``memory``: bytes of capacity for each; ``rng``: ``"linked"`` or ``"own"``."""

    devices: int
    memory: int
    rng: str


def read() -> SimConfig:
    """Read the configuration from ``TDEV_SIM_DEVICES``, ``TDEV_SIM_MEMORY`` and ``TDEV_SIM_RNG``.

    Raises:
        ConfigError: a variable has a value that means nothing.
    """
    devices = _devices()
    return SimConfig(devices, _memory(devices), _rng())


def parse_size(text: str) -> int:
    """Return the bytes for ``"512"``, ``"8GiB"``, ``"1.5 GB"``, ``"200M"``; one-letter units are powers of 1024.

    Raises:
        ValueError: the text is not a positive size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?\s*", text.lower())
    if match is None:
        raise ValueError(text)
    number, unit, suffix = match.groups()
    if suffix == "ib" and not unit:
        raise ValueError(text)
    base = 1000 if unit and suffix == "b" else 1024
    power = 0 if not unit else _UNITS[unit]
    size = int(float(number) * base**power)
    if size < 1:
        raise ValueError(text)
    return size


def _devices() -> int:
    text = os.environ.get("TDEV_SIM_DEVICES", "").strip()
    if not text:
        return 1
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MAX_DEVICES:
        raise ConfigError(
            f"TDEV_SIM_DEVICES={text!r} is not a number of devices. "
            f"Set it to a whole number from 1 to {_MAX_DEVICES}, or unset it to have one device."
        )
    return int(text)


def _memory(devices: int) -> int:
    text = os.environ.get("TDEV_SIM_MEMORY", "").strip()
    if not text:
        # Programs fill a device until it raises; before these do, the system must not run out itself.
        return max(host.memory_total() // 2 // devices, _LEAST_MEMORY)
    try:
        return parse_size(text)
    except ValueError:
        raise ConfigError(
            f"TDEV_SIM_MEMORY={text!r} is not a size. Write bytes or a unit, such as 8GiB, 512MiB or "
            "1.5GB, for each device; or unset it to have them share half of the host's memory."
        ) from None


def _rng() -> str:
    text = os.environ.get("TDEV_SIM_RNG", "").strip().lower() or "linked"
    if text not in ("linked", "own"):
        raise ConfigError(
            f"TDEV_SIM_RNG={text!r} is not a way to draw random numbers. Set it to 'linked' (sim:0 "
            "continues the CPU's sequence until it is seeded by itself) or 'own' (always apart)."
        )
    return text
