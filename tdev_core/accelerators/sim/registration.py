"""Registers ``sim`` with torch: the device type, its kernels, and what depends on the device's name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core import settings
from tdev_core.accelerators import allocation_policy, tracing
from tdev_core.accelerators.privateuse import process_group, torch_api
from tdev_core.accelerators.privateuse.registration import DeviceSpec, register
from tdev_core.accelerators.sim import (
    composites,
    config,
    convolving,
    determinism,
    fallback,
    faults,
    listening,
    memory,
    metal,
    native,
    nested,
    pinned,
    profiles,
    rng,
    sanitizing,
    sharing,
    sparse,
    special,
    storages,
    strict,
    synchronized_norm,
)
from tdev_core.accelerators.sim.accelerator import SimAccelerator

__all__ = ["activate"]

# Metadata only, and right on any device as torch has them.
_NATIVE = frozenset({"alias", "detach", "detach_", "lift", "lift_fresh"})

# Where the CPU has a kernel of its own: for itself, or for every device.
_CPUS = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")


@cache
def activate() -> None:
    """Register everything; see ``tdev_core.accelerators.sim.activate``."""
    asked = config.read()
    library = native.load()
    memory.configure(asked.devices, asked.memory, asked.backing, library)
    allocation_policy.keep_what_is_freed()
    faults.configure(faults.read())
    sanitizing.install()  # TORCH_CUDA_SANITIZER=1 has it look already
    pinned.configure(None if library is None else library.is_pinned)
    register(
        DeviceSpec(
            "sim",
            SimAccelerator(),
            storages.SimStorages(_rebuild),
            hooks=None if library is None else library.register_hooks,
            devices=asked.devices,
        )
    )
    if library is not None:
        native.guard()
    memory.name_devices()
    rng.configure(asked.devices, asked.rng)
    torch_api.set_fallback(fallback.run)
    kernels = _implement_kernels(looked_at=library is not None or faults.asked)
    for ours, cpus in (*sparse.KEYS, *nested.KEYS):
        _implement_layout(ours, cpus)
    nested.install()
    composites.install()
    convolving.install()
    special.install()
    synchronized_norm.install()
    sharing.watch_forks()
    process_group.install("sim", fallback.kernel)
    profile = profiles.active()
    if profile is not None:
        determinism.configure(profile.build in ("cuda", "hip"))
        if profile.build == "mps":
            metal.install()
    if settings.flag("TDEV_SIM_STRICT"):
        strict.install()
    tracing.when_told(lambda: listening.listen("trace"))
    native.put(
        op
        for name, op in _operators()
        if name in kernels and torch_api.implemented(name) is kernels[name]
    )


def _rebuild(*parts: Any) -> Any:
    """Make a tensor that another process has sent here; pickles name this function."""
    activate()
    return sharing.rebuilt(*parts)


def _operators() -> Iterator[tuple[str, OpOverload]]:
    for name in torch_api.operator_names():
        namespace, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        if namespace != "aten":
            continue
        op = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
        if isinstance(op, OpOverload):
            yield name, op


def _implement_kernels(looked_at: bool) -> dict[str, Any]:
    """Give ``sim`` a kernel wherever the CPU does not simply decompose the operator; returns them by name.

    The boxed fallback alone would lose to torch's composite kernels, some of which compute differently
    from the CPU's own (``native_layer_norm`` has both): values would not be the CPU's to the last bit. ``looked_at`` says
    whether somebody is to see views as the program has written them: the native kernels, and faults, which count calls.
    """
    kernels = {}
    for name, op in _operators():
        base = name.removeprefix("aten::").partition(".")[0]
        if base in _NATIVE or base in special.OPERATORS:
            continue
        key = next((key for key in _CPUS if torch_api.has_kernel(name, key)), None)
        if key is not None:
            is_view = name in fallback.VIEWS
            if is_view and key != "CPU" and not looked_at:
                continue  # torch makes it of ``as_strided``, which is ours: one kernel in Python instead of two
            kernels[name] = fallback.view_kernel(op, key) if is_view else fallback.kernel(op)
            torch_api.implement(name, kernels[name])
    return kernels


def _implement_layout(ours: str, cpus: str) -> None:
    """Do the same for the dispatch key ``ours`` of sparse or nested tensors; ``cpus`` is the CPU's."""
    torch_api.set_fallback(fallback.run, ours)
    for name, op in _operators():
        if torch_api.has_kernel(name, cpus):
            torch_api.implement(name, fallback.kernel(op), ours)
    torch_api.implement("aten::_has_compatible_shallow_copy_type", _same_layout, ours)


def _same_layout(tensor: torch.Tensor, source: torch.Tensor) -> bool:
    """Tell whether ``tensor.data = source`` may be: both of one layout, wherever they are."""
    return tensor.layout == source.layout and tensor.is_nested == source.is_nested
