"""Keeps what was found for a program on a device in ``tdev-tune.toml``, and gives it to the same program on the same device.

A file has one table for each device, system, torch and program, since what helps on one hurts on another. It holds data alone: what
it names is looked up in :data:`.choices.CHOICES`, and anything else is refused.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tdev_core.accelerators import host
from tdev_core.backend import Backend, current
from tdev_core.errors import ConfigError
from tdev_core.measure.tuning import choices

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["FILE", "Key", "here", "kept", "store"]

FILE = "tdev-tune.toml"
VERSION = 1


@dataclass(frozen=True)
class Key:
    """The place that winners are for.

    Attributes:
        backend: tdev's.
        device: the processor or the accelerator, by its maker's name, and how many processors may be used.
        system: the operating system with its release (of Linux without that of the kernel), and the machine.
        torch: its version.
        program: the script's name, or the function's.
    """

    backend: str
    device: str
    system: str
    torch: str
    program: str

    def differs(self, other: Key) -> list[str]:
        """Say in what another key differs from this one."""
        pairs = [
            (one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self)
        ]
        return [
            f"{name} {theirs!r}, here {mine!r}" for name, mine, theirs in pairs if mine != theirs
        ]


def here(program: str, backend: Backend | None = None) -> Key:
    """Return the key of a program on the active backend, or another one, in this process."""
    import torch

    backend = backend or current()
    release = platform.mac_ver()[0] if sys.platform == "darwin" else ""
    if sys.platform == "win32":
        release = platform.version()
    system = " ".join(filter(None, (platform.system(), release, platform.machine())))
    return Key(backend.value, _device(backend), system, str(torch.__version__), program)


def _device(backend: Backend) -> str:
    import torch

    match backend:
        case Backend.CUDA:
            names = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
            return ", ".join(names)
        case Backend.CPU | Backend.SIM | Backend.MPS | Backend.MLX:
            return f"{host.name()}, {choices.quota()} processors"


def store(
    path: Path,
    key: Key,
    settings: Mapping[str, str],
    measured: Mapping[str, float],
    own: Mapping[str, str],
) -> None:
    """Put what was found into a file, in place of what it had for the same key; the rest of it stays.

    Args:
        measured: numbers that a person may want to see: seconds of a step, a ratio.
        own: values of the user's settings, which only the user can put to use.

    Raises:
        ConfigError: the file holds something else, or cannot be written.
    """
    tables = _tables(path) if path.exists() else []
    tables = [one for one in tables if _key(one) != key]
    tables.append(
        {**asdict(key), "settings": dict(settings), "own": dict(own), "measured": dict(measured)}
    )
    lines = [
        "# Written by `python -m tdev tune`. Used where TDEV_TUNE names this file, or by tdev.tune.apply().",
        f"version = {VERSION}",
    ]
    for table in tables:
        lines += ["", "[[winners]]"]
        lines += [f"{name} = {_value(table[name])}" for name in asdict(key)]
        for part in ("settings", "own", "measured"):
            if table.get(part):
                lines.append(f"[winners.{part}]")
                lines += [
                    f"{json.dumps(name)} = {_value(value)}" for name, value in table[part].items()
                ]
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text("\n".join(lines) + "\n", encoding="utf-8")
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None


def _value(value: Any) -> str:
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, str) else f"{float(value):.6g}"
    )


def kept(path: Path, key: Key) -> dict[str, str]:
    """Return the settings that a file has for a key.

    Raises:
        ConfigError: it has none for it, or is no such file. The message says in what the nearest one differs.
    """
    tables = _tables(path)
    for table in tables:
        if _key(table) == key:
            return dict(table["settings"])
    if not tables:
        raise ConfigError(f"{path} has no winners. Write some: python -m tdev tune")
    nearest = min((_key(one) for one in tables), key=lambda one: len(key.differs(one)))
    raise ConfigError(
        f"{path} is not for this: its winners are of {'; '.join(key.differs(nearest))}. What is fast on one device may be slow on "
        "another; measure here: python -m tdev tune"
    )


def _key(table: Mapping[str, Any]) -> Key:
    return Key(**{one.name: table[one.name] for one in fields(Key)})


def _tables(path: Path) -> list[dict[str, Any]]:
    """Return the tables of a file.

    Raises:
        ConfigError: it cannot be read, or has what no such file has.
    """
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML: {error}") from None
    if body.get("version") != VERSION:
        raise ConfigError(
            f"{path} is of version {body.get('version')}, not {VERSION}. Measure again: python -m tdev tune"
        )
    tables: list[dict[str, Any]] = body.get("winners", [])
    for table in tables:
        missing = [one.name for one in fields(Key) if not isinstance(table.get(one.name), str)]
        if missing or not isinstance(table.get("settings", {}), dict):
            raise ConfigError(
                f"{path}: a table of winners lacks {', '.join(missing) or 'settings'}"
            )
        table.setdefault("settings", {})
        for name, value in table["settings"].items():
            try:
                choices.check(name, str(value))
            except ConfigError as error:
                raise ConfigError(f"{path}: {error}") from None
    return tables
