"""Register one Python device type with torch, once in a process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from tdev_core.accelerator import Accelerator
from tdev_core.accelerators import sharded_draws, streams
from tdev_core.accelerators.privateuse import (
    autocast,
    compiling,
    generic_api,
    operators,
    recomputing,
    serialization,
    storages,
    torch_api,
    tracing,
)
from tdev_core.accelerators.privateuse.module import DeviceModule
from tdev_core.errors import ConfigError

__all__ = ["DeviceSpec", "register", "registered"]


@dataclass(frozen=True)
class DeviceSpec:
    """Describes a device type.

    ``accelerator`` answers counts, current device, memory and random numbers; ``storages`` makes and
    moves storages; ``amp_dtypes`` are the types that ``torch.autocast(name, dtype=…)`` may use;
    ``compiler`` is the backend of ``torch.compile`` that serves where Inductor is asked for; ``hooks``
    registers the device's own in C++, where it has some; ``devices`` is how many there may come to be, where that is
    more than the accelerator counts now.
    """

    name: str
    accelerator: Accelerator
    storages: storages.Storages
    amp_dtypes: tuple[torch.dtype, ...] = (torch.float16, torch.bfloat16)
    compiler: str = "aot_eager"
    hooks: Callable[[], object] | None = None
    devices: int = 0


_registered: DeviceSpec | None = None


def registered() -> DeviceSpec | None:
    """Return the device type that this process has registered, or None."""
    return _registered


def register(spec: DeviceSpec) -> DeviceModule:
    """Make ``torch.device(spec.name)`` a real device type; returns the module ``torch.<name>``.

    A second call for the same name returns the module made by the first.

    Raises:
        ConfigError: ``PrivateUse1``, of which torch has one, belongs to another backend.
    """
    global _registered
    if _registered is not None and _registered.name == spec.name:
        module: DeviceModule = getattr(torch, spec.name)
        return module
    taken = torch_api.backend_name()
    if taken != "privateuseone":
        raise ConfigError(
            f"the '{spec.name}' device cannot be registered: torch has one slot for a backend from "
            f"outside (PrivateUse1) and '{taken}' has it in this process. "
            f"Run the two in separate processes: set TDEV_BACKEND before anything imports '{taken}', "
            f"or do not import what registers '{taken}'."
        )
    if getattr(torch, spec.name, None) is not None:
        raise ConfigError(
            f"the '{spec.name}' device cannot be registered: torch.{spec.name} exists already."
        )
    module = DeviceModule(spec.name, spec.accelerator, spec.amp_dtypes)
    operators.make_once()
    devices = spec.devices or spec.accelerator.device_count()
    torch_api.register_device(spec.name, module, devices, spec.hooks)
    _registered = spec
    torch_api.allow_data_moves(spec.name)
    torch_api.implement("aten::record_stream", streams.record_stream)
    generic_api.install(spec.accelerator)
    autocast.install(spec.name)
    storages.install(spec.name, spec.storages)
    serialization.install(spec.name, spec.storages, spec.accelerator)
    compiling.install(spec.name, spec.compiler)
    recomputing.install(spec.name)
    sharded_draws.install()
    tracing.install()
    return module
