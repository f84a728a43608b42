"""Registering ``sim`` with torch: the device type, its kernels, and what depends on the device's name."""

from __future__ import annotations

from functools import cache

import torch
from torch._ops import OpOverload

from tdev_core.privateuse import process_group, torch_api
from tdev_core.privateuse.registration import DeviceSpec, register
from tdev_core.sim import composites, config, fallback, memory, rng, sharing, sparse, special
from tdev_core.sim.accelerator import SimAccelerator

__all__ = ["activate"]

# Metadata only, and right on any device as torch has them.
_NATIVE = frozenset({"alias", "detach", "detach_", "lift", "lift_fresh"})


@cache
def activate() -> None:
    """Register everything; see ``tdev_core.sim.activate``."""
    settings = config.read()
    memory.configure(settings.devices, settings.memory)
    register(DeviceSpec("sim", SimAccelerator(), memory.SimStorages()))
    rng.configure(settings.devices, settings.rng)
    torch_api.set_fallback(fallback.run)
    _implement_kernels()
    sparse.install(fallback.kernel, fallback.run)
    composites.install()
    special.install()
    sharing.watch_forks()
    process_group.install("sim", fallback.kernel)


def _implement_kernels() -> None:
    """Give ``sim`` a kernel wherever the CPU does not simply decompose the operator.

    The boxed fallback alone would lose to torch's composite kernels, some of which compute differently
    from the CPU's own (``native_layer_norm`` has both): values would not be the CPU's to the last bit.
    """
    for name in torch_api.operator_names():
        namespace, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        if namespace != "aten" or base in _NATIVE or base in special.OPERATORS:
            continue
        if not (
            torch_api.has_kernel(name, "CPU")
            or torch_api.has_kernel(name, "CompositeExplicitAutograd")
            or torch_api.has_kernel(name, "CompositeExplicitAutogradNonFunctional")
        ):
            continue
        op = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
        if isinstance(op, OpOverload):
            torch_api.implement(name, fallback.kernel(op))
