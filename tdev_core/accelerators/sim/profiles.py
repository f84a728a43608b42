"""``TDEV_SIM_PROFILE``: ``sim`` tells of itself what a well-known accelerator would.

A profile changes answers (name, capability, memory, architectures, versions, what dtypes are supported) and, for ``mps``,
what is refused (:mod:`.metal`). It changes no number: kernels are the CPU's. ``profiles.toml`` holds the table, each value
with its public source; a file of one's own has one table ``[profile]`` with the same keys, and may name a ``base``.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdev_core.accelerators.sim.sizes import parse_size
from tdev_core.errors import ConfigError

__all__ = ["Profile", "active", "known", "read"]

_TABLE = Path(__file__).with_name("profiles.toml")
_PROPERTIES = {
    "name": str, "major": int, "minor": int, "multi_processor_count": int, "warp_size": int, "gcnArchName": str,
    "max_threads_per_multi_processor": int, "regs_per_multiprocessor": int, "shared_memory_per_block": int,
    "shared_memory_per_block_optin": int, "shared_memory_per_multiprocessor": int, "L2_cache_size": int, "clock_rate": int,
    "memory_clock_rate": int, "memory_bus_width": int,
}  # fmt: skip
"""What becomes a field of ``get_device_properties`` as it is, and of which type."""
_BUILDS = ("cuda", "hip", "mps", "privateuse1")
_OTHERS = {
    "build": str, "family": str, "version": str, "arch_list": list, "peers": bool, "bf16": bool, "tf32": bool, "fp8": bool,
}  # fmt: skip
_NO_VALUES = ("memory", "source", "base")


@dataclass(frozen=True)
class Profile:
    """One accelerator's answers.

    ``build`` is the kind of torch it comes with (``cuda``, ``hip``, ``mps``; ``privateuse1`` for a backend of somebody's
    own), ``version`` that of its CUDA or ROCm;
    ``memory`` is bytes, or None for ``sim``'s own; ``properties`` are fields of ``get_device_properties``.
    """

    key: str
    build: str
    version: str
    arch_list: tuple[str, ...]
    memory: int | None
    peers: bool
    bf16: bool
    tf32: bool
    fp8: bool
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def capability(self) -> tuple[int, int]:
        """Return CUDA's compute capability; ``(0, 0)`` for what has none."""
        return self.properties["major"], self.properties["minor"]


@functools.cache
def active() -> Profile | None:
    """Return the profile that ``TDEV_SIM_PROFILE`` asks for, read once; None without one.

    Raises:
        ConfigError: as :func:`read`.
    """
    text = os.environ.get("TDEV_SIM_PROFILE", "").strip()
    return read(text) if text else None


def known() -> list[str]:
    """List the profiles of the table."""
    return sorted(_loaded(_TABLE)["profile"])


def read(wanted: str) -> Profile:
    """Return the profile of that name, or the one in the file ``wanted``, which ends in ``.toml``.

    Raises:
        ConfigError: there is none of that name; the file cannot be read, or says what means nothing.
    """
    table = _loaded(_TABLE)
    if not wanted.endswith(".toml"):
        key = wanted.lower()
        if key not in table["profile"]:
            raise _error(
                f"TDEV_SIM_PROFILE={wanted!r} is no known device", f"Known are {_listed(table)}"
            )
        return _profile(key, table["profile"][key], table)
    own = _loaded(Path(wanted))
    if set(own) != {"profile"} or not isinstance(own["profile"], dict):
        raise _error(
            f"{wanted} holds {', '.join(own) or 'nothing'}",
            "A profile of one's own is one table, [profile]",
        )
    values = own["profile"]
    base = values.get("base")
    if base is not None:
        if base not in table["profile"]:
            raise _error(
                f"{wanted}: base = {base!r} is no known device", f"Known are {_listed(table)}"
            )
        values = {**table["profile"][base], **values}
    return _profile(Path(wanted).stem, values, table, wanted)


def _profile(
    key: str, values: dict[str, Any], table: dict[str, Any], place: str = "profiles.toml"
) -> Profile:
    for name in values.keys() - _PROPERTIES.keys() - _OTHERS.keys() - {*_NO_VALUES}:
        raise _error(
            f"{place}: nothing is called {name!r}",
            f"A profile has {', '.join([*_NO_VALUES, *_OTHERS, *_PROPERTIES])}",
        )
    build = values.get("build", "cuda")
    if build not in _BUILDS:
        raise _error(f"{place}: build = {build!r}", f"It is one of {', '.join(_BUILDS)}")
    family = values.get("family", f"{values.get('major', 0)}.{values.get('minor', 0)}")
    shared = {**table["build"][build], **table["family"].get(family, {})}
    told = {**shared, **values}
    for name, kind in {**_PROPERTIES, **_OTHERS}.items():
        if name in told and type(told[name]) is not kind:
            raise _error(f"{place}: {name} = {told[name]!r}", f"It is of type {kind.__name__}")
    told.setdefault("name", key)
    told.setdefault("major", 0)
    told.setdefault("minor", 0)
    return Profile(
        key=key,
        build=build,
        version=told.get("version", ""),
        arch_list=tuple(told.get("arch_list", ())),
        memory=_memory(told.get("memory"), place),
        peers=told.get("peers", True),
        bf16=told.get("bf16", True),
        tf32=told.get("tf32", False),
        fp8=told.get("fp8", False),
        properties={name: told[name] for name in _PROPERTIES if name in told},
    )


def _memory(told: object, place: str) -> int | None:
    if told is None or (type(told) is int and told > 0):
        return told
    try:
        return parse_size(str(told))
    except ValueError:
        raise _error(
            f"{place}: memory = {told!r} is not a size", 'It is bytes, or a text such as "80GiB"'
        ) from None


def _listed(table: dict[str, Any]) -> str:
    return f"{', '.join(sorted(table['profile']))}, and a file that ends in .toml"


def _error(what: str, instead: str) -> ConfigError:
    return ConfigError(f"{what}. {instead}.")


def _loaded(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise _error(
            f"TDEV_SIM_PROFILE: {path} cannot be read ({error.strerror})",
            "Name a file, or one of the known devices",
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _error(f"TDEV_SIM_PROFILE: {path} is not TOML ({error})", "Mend the file") from None
