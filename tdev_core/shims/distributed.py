"""Shims that make arguments of CUDA programs to the constructors of distributed training fit for this host.

Classes keep their identity, so these are shims: factories that take a class's own ``__init__`` (or
method) and return the one to put in its place on hosts whose accelerator is not CUDA. What a caller
passes (``device_ids``) is read, never changed.
"""

from __future__ import annotations

import functools
import itertools
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
    "ddp_init_helper",
    "ddp_register_comm_hook",
    "ddp_set_static_graph",
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


def ddp_init_helper(original: Method) -> Method:
    """``DistributedDataParallel._ddp_init_helper``, which makes the reducer: one that can tell of unused parameters.

    The reducer notes which parameters a backward has used on the device of the first, by way of pinned memory, which a
    device in Python cannot give (``Reducer::all_reduce_local_used_map`` in ``torch/csrc/distributed/c10d/reducer.cpp``).
    Before the module's parameters it is given one on the CPU that nothing uses: notes are then taken there.
    """

    @functools.wraps(original)
    def _ddp_init_helper(
        self: Any, parameters: Any, expect_sparse_gradient: Any, names: Any, static_graph: Any
    ) -> None:
        self._tdev_tells_unused = static_graph or self.find_unused_parameters
        if self._tdev_tells_unused and _is_in_python(parameters[0].device):
            parameters = [torch.nn.Parameter(torch.zeros(1)), *parameters]
            expect_sparse_gradient = [False, *expect_sparse_gradient]
            names = {0: "(none of the module's)", **{n + 1: name for n, name in names.items()}}
        original(self, parameters, expect_sparse_gradient, names, static_graph)

    return _ddp_init_helper


def ddp_set_static_graph(original: Method) -> Method:
    """``DistributedDataParallel._set_static_graph``, which programs call on a model whose reducer has been made."""

    @functools.wraps(original)
    def _set_static_graph(self: Any) -> None:
        if not self._tdev_tells_unused and not self.static_graph:
            self._remove_autograd_hooks()
            parameters, expect_sparse_gradient = self._build_params_for_reducer()
            names = self._build_debug_param_to_name_mapping(parameters)
            self._ddp_init_helper(parameters, expect_sparse_gradient, names, True)
        original(self)

    return _set_static_graph


def ddp_register_comm_hook(original: Method) -> Method:
    """``DistributedDataParallel.register_comm_hook``: the hook is done with one bucket before it is given the next.

    What a hook chains to a collective's future, NCCL runs at once and gloo when it is over, in a thread of its own. Where
    that asks for further collectives (PowerSGD), the ranks would ask for those of two buckets in different orders, and
    wait for ever. The hook goes by another name because torch refuses those that compress to bfloat16 without NCCL;
    gloo sums them too.
    """

    @functools.wraps(original)
    def register_comm_hook(self: Any, state: object, hook: Any) -> None:
        original(self, state, _one_at_a_time(hook) if callable(hook) else hook)

    return register_comm_hook


def _one_at_a_time(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(hook, assigned=())  # torch reads the signature
    def hook_in_turn(state: Any, bucket: Any) -> Any:
        future = hook(state, bucket)
        future.wait()
        return future

    return hook_in_turn


def _is_in_python(device: torch.device) -> bool:
    return current() in (Backend.SIM, Backend.MLX) and device.type == current().value


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
    programs read, and does not move the module to the accelerator as it does on one GPU. A class with a
    ``forward`` of its own (MMCV's ``MMDataParallel``) hands its inputs on as they are where it is told of
    no device, as torch tells it there: the module stays where it is.
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
            if type(self).forward is torch.nn.parallel.DataParallel.forward:
                module.to(self.src_device_obj)
            else:
                self.src_device_obj = _device_of(module)

    return __init__


def _device_of(module: torch.nn.Module) -> torch.device:
    tensors = itertools.chain(module.parameters(), module.buffers())
    return next((each.device for each in tensors), torch.device("cpu"))


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
    named. What ``sync_module_states=True`` asks for, torch refuses on the CPU; it is done there before.
    """

    @functools.wraps(original)
    def __init__(self: Any, module: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
        # device_id is the ninth parameter after module; nobody passes it by position, but it works.
        if len(args) >= _DEVICE_ID:
            args = (*args[: _DEVICE_ID - 1], _fsdp_device(args[_DEVICE_ID - 1]), *args[_DEVICE_ID:])
        else:
            kwargs["device_id"] = _fsdp_device(kwargs.get("device_id"))
        if current() is Backend.CPU and kwargs.get("sync_module_states"):
            group = args[0] if args else kwargs.get("process_group")
            mesh = kwargs.get("device_mesh")
            groups = group if mesh is None else tuple(mesh.get_all_groups())
            ignored = [
                *(kwargs.get("ignored_modules") or ()),
                *(kwargs.get("ignored_states") or ()),
            ]
            _broadcast_states(module, groups, ignored, kwargs.get("param_init_fn"))
            kwargs.update(sync_module_states=False, param_init_fn=None)
        original(self, module, *args, **kwargs)

    return __init__


_DEVICE_ID = 9


def _broadcast_states(
    module: torch.nn.Module,
    groups: Any,
    ignored: list[Any],
    initialize: Callable[[torch.nn.Module], None] | None,
) -> None:
    """Give every rank the parameters and buffers of the first, in one group after the other.

    What is on the meta device is made: with any values where the first rank has some, else as FSDP does, by
    ``initialize`` or the module's ``reset_parameters``.
    """
    left: set[int] = set()
    for item in ignored:
        if isinstance(item, torch.nn.Module):
            left.update(map(id, (*item.parameters(), *item.buffers())))
        else:
            left.add(id(item))
    dist = torch.distributed
    for group in groups if isinstance(groups, tuple) else (groups,):
        nowhere = [any(p.is_meta for p in module.parameters())]
        dist.broadcast_object_list(nowhere, group=group, group_src=0)
        for child in module.modules():
            if any(p.is_meta for p in (*child.parameters(False), *child.buffers(False))):
                if nowhere[0] and initialize is not None:
                    initialize(child)
                    continue
                child.to_empty(device="cpu", recurse=False)
                if nowhere[0]:
                    child.reset_parameters()  # type: ignore[operator]  # as torch does, with its error
        for state in (*module.parameters(), *module.buffers()):
            if id(state) not in left:
                dist.broadcast(state.detach(), group=group, group_src=0)


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
