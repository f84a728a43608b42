"""The settings of the ``sim`` device, read from the environment once."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tdev_core.accelerators import host
from tdev_core.accelerators.sim import profiles
from tdev_core.accelerators.sim.sizes import parse_size
from tdev_core.errors import ConfigError

__all__ = ["SimConfig", "read"]

_MAX_DEVICES = 64  # torch keeps a device index in 8 signed bits; per-device state is made for each
_LEAST_MEMORY = 1 << 26  # where the system does not tell how much there is


@dataclass(frozen=True)
class SimConfig:
    """``devices``: how many; ``memory``: bytes of capacity that each tells; ``rng``: ``"linked"`` or ``"own"``.

    ``backing`` is how many of those bytes the host can give each.
    """

    devices: int
    memory: int
    rng: str
    backing: int


def read() -> SimConfig:
    """Read the configuration from ``TDEV_SIM_DEVICES``, ``_MEMORY``, ``_RNG`` and ``_PROFILE``.

    Raises:
        ConfigError: a variable has a value that means nothing.
    """
    profile = profiles.active()
    devices = _devices()
    if devices > 1 and profile is not None and profile.build == "mps":
        raise ConfigError(
            f"TDEV_SIM_DEVICES={devices} with TDEV_SIM_PROFILE={profile.key}: a Mac has one device. Unset one of the two."
        )
    asked = _memory()
    # Programs fill a device until it raises; before these do, the system must not run out itself.
    backing = asked or max(host.memory_total() // 2 // devices, _LEAST_MEMORY)
    told = profile.memory if profile is not None and not asked else None
    return SimConfig(devices, told or backing, _rng(), min(backing, told or backing))


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


def _memory() -> int:
    """Return the bytes asked for; 0 where none are."""
    text = os.environ.get("TDEV_SIM_MEMORY", "").strip()
    if not text:
        return 0
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
