"""Shims that make arguments of CUDA programs to the constructors of distributed training fit for this host.

Classes keep their identity, so these are shims: factories that take a class's own ``__init__`` (or
method) and return the one to put in its place on hosts whose accelerator is not CUDA. What a caller
passes (``device_ids``) is read, never changed.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.backend import Backend, current
from tdev_core.cuda import device_selection
from tdev_core.devices import device_index, translate
from tdev_core.distributed import parallel
from tdev_core.distributed.groups import is_own_cpu
from tdev_core.distributed.mesh import mesh_device_type, mesh_override, remember_mesh

__all__ = [
    "data_parallel_apply",
    "data_parallel_forward",
    "data_parallel_gather",
    "data_parallel_init",
    "data_parallel_replicate",
    "data_parallel_scatter",
    "ddp_init",
    "fsdp_init",
    "mesh_init",
]

Method = Callable[..., Any]


def ddp_init(original: Method) -> Method:
    """``DistributedDataParallel.__init__``: ``device_ids=[local_rank]`` names this host's device.

    Replicas on the CPU belong to no device index, so both device arguments are dropped there; more
    than one id is torch's error on every host. Elsewhere an index that the host lacks is folded.

    The group that carries the gradients outlives the model: see :func:`_outlive`.
    """

    @functools.wraps(original)
    def __init__(
        self: Any,
        module: torch.nn.Module,
        device_ids: Any = None,
        output_device: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if device_ids is None or len(device_ids) <= 1:
            device_ids = _own_devices(device_ids)
            output_device = _own_device(output_device)
        _outlived.clear()
        original(self, module, device_ids, output_device, *args, **kwargs)
        weakref.finalize(self, _outlive, self.process_group)

    return __init__


_outlived: list[Any] = []


def _outlive(group: Any) -> None:
    """Keep a group until the next model is made, so that the one which dies now does not end it.

    Gloo's threads let go of Python's objects (the context in which ``backward`` ran) when a collective is over. Where
    the program has destroyed its groups, the model's reducer is the last to hold one; it ends gloo's threads with the
    interpreter's lock in its hand, and the one that still waits for the lock is never done (``Reducer`` in
    ``torch/csrc/distributed/c10d/init.cpp``). A group that Python ends is ended without the lock.
    """
    _outlived.append(group)


def _own_device(device: Any) -> Any:
    return None if is_own_cpu(device) else translate(device)


def _own_devices(device_ids: Any) -> list[Any] | None:
    if not device_ids:
        return None
    devices = [_own_device(device) for device in device_ids]
    return None if None in devices else devices


def data_parallel_init(original: Method) -> Method:
    """``DataParallel.__init__``: one replica for each device, and one where the host has one device.

    torch does the latter where it finds no accelerator or MPS, but leaves out the attributes that
    programs read, and does not move the module to the accelerator as it does on one GPU.
    """

    @functools.wraps(original)
    def __init__(
        self: Any,
        module: torch.nn.Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        torch.nn.Module.__init__(self)
        self.module = module
        indices = parallel.device_indices(device_ids)
        several = device_selection.device_count() > 1
        # Empty for torch's own forward, which then calls the module and scatters nothing.
        self.device_ids = indices if several else []
        self.output_device = indices[0]
        if several and output_device is not None:
            self.output_device = device_index(output_device)
        self.dim = dim
        self.src_device_obj = translate(indices[0])
        if current() is not Backend.CPU and len(indices) == 1:
            module.to(self.src_device_obj)

    return __init__


def data_parallel_forward(original: Method) -> Method:
    """``DataParallel.forward``: inputs go where the module is, as scattering them would do."""

    @functools.wraps(original)
    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        device = getattr(self, "src_device_obj", None)
        if device is not None and device.type != "cpu" and not self.device_ids:
            inputs, kwargs = _moved((inputs, kwargs), device)
        return original(self, *inputs, **kwargs)

    return forward


def data_parallel_replicate(original: Method) -> Method:
    """``DataParallel.replicate``, which torch's ``forward`` calls, as it does the next three."""

    @functools.wraps(original)
    def replicate(self: Any, module: torch.nn.Module, device_ids: Any) -> Any:
        return parallel.replicate(module, device_ids, not torch.is_grad_enabled())

    return replicate


def data_parallel_scatter(original: Method) -> Method:
    """``DataParallel.scatter``."""

    @functools.wraps(original)
    def scatter(self: Any, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        return parallel.scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    return scatter


def data_parallel_apply(original: Method) -> Method:
    """``DataParallel.parallel_apply``."""

    @functools.wraps(original)
    def parallel_apply(self: Any, replicas: Any, inputs: Any, kwargs: Any) -> Any:
        devices = self.device_ids[: len(replicas)]
        return parallel.parallel_apply(replicas, inputs, kwargs, devices)

    return parallel_apply


def data_parallel_gather(original: Method) -> Method:
    """``DataParallel.gather``."""

    @functools.wraps(original)
    def gather(self: Any, outputs: Any, output_device: Any) -> Any:
        return parallel.gather(outputs, output_device, self.dim)

    return gather


def _moved(values: Any, device: torch.device) -> Any:
    from torch.utils._pytree import tree_map_only

    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), values)


def fsdp_init(original: Method) -> Method:
    """``FullyShardedDataParallel.__init__``: ``device_id`` names this host's device.

    Without one, torch asks for an accelerator and refuses a host that has none; there the CPU is
    named.
    """

    @functools.wraps(original)
    def __init__(self: Any, module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        # device_id is the ninth parameter after module; nobody passes it by position, but it works.
        if len(args) >= _DEVICE_ID:
            args = (*args[: _DEVICE_ID - 1], _fsdp_device(args[_DEVICE_ID - 1]), *args[_DEVICE_ID:])
        else:
            kwargs["device_id"] = _fsdp_device(kwargs.get("device_id"))
        original(self, module, *args, **kwargs)

    return __init__


_DEVICE_ID = 9


def _fsdp_device(device: Any) -> Any:
    if is_own_cpu(device) or (device is None and current() is Backend.CPU):
        return torch.device("cpu")
    return translate(device)


def mesh_init(original: Method) -> Method:
    """``DeviceMesh.__init__``: a mesh of CUDA devices is one of this host's devices."""

    @functools.wraps(original)
    def __init__(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        override = kwargs.get("backend_override")
        if override is not None:
            kwargs["backend_override"] = tuple(mesh_override(value) for value in override)
        original(self, mesh_device_type(device_type), *args, **kwargs)
        if override is not None:
            remember_mesh(self, dict(enumerate(override)))

    return __init__
