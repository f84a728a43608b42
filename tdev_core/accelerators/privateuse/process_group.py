"""``torch.distributed`` on tensors of a Python device: gloo moves the bytes.

torch's collectives are operators (``c10d::allreduce_``, …) with a kernel for each device that asks the
process group for that device's backend; gloo's C++ takes CPU and CUDA tensors only
(``torch/csrc/distributed/c10d/Ops.cpp``, ``ProcessGroupGloo.cpp``). Here the device's kernels are
replaced by ones that call the same operator on CPU tensors, so every process group that has gloo for
CPU tensors serves the device too: nothing else in torch (DDP, FSDP, object collectives) has to know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core.accelerators.privateuse import torch_api
from tdev_core.errors import UnsupportedError

__all__ = ["install", "register"]

_installed: set[str] = set()


def install(name: str, kernel: Callable[[OpOverload], Callable[..., Any]]) -> None:
    """Run the collectives of device type ``name`` through ``kernel(op)``.

    ``kernel(op)`` gives a function of the operator's arguments that replaces tensors of the device by
    CPU tensors, calls ``op``, and sees to it that results are in the device's tensors when the returned
    work has been waited for. Does nothing where this torch has no ``torch.distributed``.
    """
    if not torch.distributed.is_available():
        return
    for operator in torch_api.operator_names():
        namespace, _, rest = operator.partition("::")
        if namespace != "c10d" or not torch_api.has_kernel(operator, "CPU"):
            continue
        base, _, overload = rest.partition(".")
        op: OpOverload = getattr(getattr(torch.ops.c10d, base), overload or "default")
        torch_api.implement(operator, _with_gloo(name, kernel(op)))
    register(name)


def register(name: str) -> str:
    """Let gloo serve device type ``name``; returns ``"gloo"``, as in ``"cpu:gloo,<name>:gloo"``.

    Raises:
        UnsupportedError: this torch is built without gloo.
    """
    if not torch.distributed.is_gloo_available():
        raise UnsupportedError(
            f"torch.distributed is not supported on the '{name}' backend: this build of torch has no "
            "gloo. Instead: run in one process, or install a torch with gloo.",
            "TDEV105",
        )
    if name not in _installed:
        backend: Any = torch.distributed.Backend
        backend.default_device_backend_map.setdefault(name, "gloo")
        served = backend.backend_capability["gloo"]
        if name not in served:
            served.append(name)
        _installed.add(name)
    return "gloo"


def _with_gloo(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if isinstance(value, torch.ScriptObject) and "ProcessGroup" in str(value._type()):
                _serve_cpu(name, value)
        return call(*args, **kwargs)

    return kernel


def _serve_cpu(name: str, boxed: Any) -> None:
    """Give the group's backend for the device to CPU tensors, where it was made for the device only."""
    group = torch.distributed.ProcessGroup.unbox(boxed)
    kinds = {device.type for device in group._device_types}
    if "cpu" not in kinds and name in kinds:
        gloo = group._get_backend(torch.device(name))
        group._register_backend(
            torch.device("cpu"), torch.distributed.ProcessGroup.BackendType.GLOO, gloo
        )
