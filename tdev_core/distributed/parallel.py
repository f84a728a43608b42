"""``torch.nn.parallel``'s functions for single-process data parallelism, without CUDA.

torch's own need CUDA's copy engines. The split, the replicas and the joining keep their meaning and lose
only the speed: each replica sees its share of the batch, on its own device where there are several
(``sim``), else on the one that all share.

Source: ``torch.nn.parallel`` documentation and the behaviour of its functions on CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from tdev_core.cuda import device_selection
from tdev_core.devices import THERE, device_index, names_accelerator, translate
from tdev_core.distributed.groups import is_own_cpu

__all__ = [
    "data_parallel",
    "device_indices",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
    "scatter_kwargs",
]

M = TypeVar("M", bound=torch.nn.Module)


def scatter(inputs: Any, target_gpus: Sequence[int | torch.device], dim: int = 0) -> Any:
    """Split every tensor in ``inputs`` along ``dim`` into one chunk for each target.

    Lists, tuples and dicts are split through; anything else is repeated. As on CUDA, a batch smaller
    than the number of targets gives fewer chunks.

    Returns:
        A tuple for a single tensor, else a list, with one entry for each target.
    """
    # On the CPU every target is the CPU, but a move there copies.
    targets = [
        THERE if is_own_cpu(target) and names_accelerator(target) else _device(target)
        for target in target_gpus
    ]

    def split(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            chunks = value.chunk(len(targets), dim)
            return tuple(chunk.to(target) for chunk, target in zip(chunks, targets, strict=False))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return [type(value)(*parts) for parts in zip(*map(split, value), strict=False)]
        if isinstance(value, tuple) and value:
            return list(zip(*map(split, value), strict=False))
        if isinstance(value, list) and value:
            return [list(parts) for parts in zip(*map(split, value), strict=False)]
        if isinstance(value, dict) and value:
            return [type(value)(parts) for parts in zip(*map(split, value.items()), strict=False)]
        return [value for _ in targets]

    return split(inputs)


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[int | torch.device],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """:func:`scatter` of positional and keyword arguments; as many of the one as of the other."""
    given = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    given += [()] * (len(named) - len(given))
    named += [{} for _ in range(len(given) - len(named))]
    return tuple(given), tuple(named)


def gather(outputs: Sequence[Any], target_device: int | torch.device, dim: int = 0) -> Any:
    """Join what replicas returned along ``dim``, on ``target_device`` (-1 is the CPU).

    Scalars become a vector with one entry for each replica.

    Raises:
        ValueError: dicts with different numbers of keys.
    """
    target = _device(target_device)

    def join(parts: Sequence[Any]) -> Any:
        first = parts[0]
        if isinstance(first, torch.Tensor):
            tensors = [part.to(target) for part in parts]
            if first.dim() == 0:
                return torch.stack(tensors)
            return torch.cat(tensors, dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(part) != len(first) for part in parts):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((key, join([part[key] for part in parts])) for key in first)
        make: Callable[[Any], Any] = getattr(type(first), "_make", type(first))
        return make(map(join, zip(*parts, strict=True)))

    return join(outputs)


def replicate(network: M, devices: Sequence[int | torch.device], detach: bool = False) -> list[M]:
    """Return one replica of ``network`` on each device; the first shares the network's storage.

    Gradients of all replicas reach the network's parameters, unless ``detach``. What a replica other
    than the first writes into its buffers is lost, as on CUDA.

    Raises:
        RuntimeError: a ScriptModule with Python modules inside, as in torch.
    """
    from torch.nn.parallel.replicate import _replicatable_module

    if not _replicatable_module(network):
        raise RuntimeError(
            "Cannot replicate network where python modules are children of ScriptModule"
        )
    return [
        _replica(network, _device(device), shared=number == 0, detach=detach)
        for number, device in enumerate(devices)
    ]


def _replica(network: M, device: torch.device, shared: bool, detach: bool) -> M:
    copies: dict[torch.Tensor, torch.Tensor] = {}

    def copy(tensor: torch.Tensor, keep_graph: bool) -> torch.Tensor:
        if tensor not in copies:
            source = tensor if keep_graph else tensor.detach()
            # A view is no Parameter and no leaf, and yet the same memory.
            same = source.device.type == "cpu" or source.get_device() == (device.index or 0)
            copies[tensor] = (
                source.view_as(source)
                if shared and same
                else source.clone()
                if same
                else source.to(device)
            )
        return copies[tensor]

    modules: dict[torch.nn.Module, Any] = {
        module: module._replicate_for_data_parallel() for module in network.modules()
    }
    for module, replica in modules.items():
        replica._former_parameters = {}
        for name, child in module._modules.items():
            replica._modules[name] = None if child is None else modules[child]
        for name, parameter in module._parameters.items():
            if parameter is None:
                replica._parameters[name] = None
            else:
                setattr(replica, name, copy(parameter, not detach))
                replica._former_parameters[name] = copies[parameter]
        for name, buffer in module._buffers.items():
            if buffer is None:
                replica._buffers[name] = None
            else:
                setattr(replica, name, copy(buffer, buffer.requires_grad and not detach))
    result: M = modules[network]
    return result


def parallel_apply(
    modules: Sequence[torch.nn.Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[int | torch.device | None] | None = None,
) -> list[Any]:
    """Call each module with its inputs, one after the other, while its device is the current one.

    Raises:
        AssertionError: sequences of different lengths.
    """
    for name, others in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", devices)):
        if others is not None and len(others) != len(modules):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of {name} "
                f"{len(others)}"
            )
    keywords = kwargs_tup if kwargs_tup is not None else [{}] * len(modules)
    places = devices if devices is not None else [None] * len(modules)
    results = []
    for module, given, kwargs, place in zip(modules, inputs, keywords, places, strict=True):
        with device_selection.device(_where(given) if place is None else _device(place)):
            arguments = given if isinstance(given, (list, tuple)) else (given,)
            results.append(module(*arguments, **kwargs))
    return results


def _where(given: Any) -> Any:
    """Return the device of the first tensor among a replica's inputs; -1, which changes nothing, without one."""
    tensors = (x for x in torch.utils._pytree.tree_leaves(given) if isinstance(x, torch.Tensor))
    found = next(tensors, None)
    return -1 if found is None or found.is_cpu else found.device


def data_parallel(
    module: torch.nn.Module,
    inputs: Any,
    device_ids: Sequence[int | torch.device] | None = None,
    output_device: int | torch.device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call ``module`` with the inputs, shared out among the devices; the result lies on ``output_device``.

    One replica for each device that the host has, however many ids are named.

    Raises:
        RuntimeError: there are several devices and the module is not on the first of them.
    """
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    indices = device_indices(device_ids)
    device = translate(indices[0])
    if len(indices) > 1:
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.device != device:
                raise RuntimeError(
                    f"module must have its parameters and buffers on device {device} (device_ids[0]) "
                    f"but found one of them on device: {tensor.device}"
                )
        shares, words = scatter_kwargs(inputs, module_kwargs, indices, dim)
        used = indices[: max(len(shares), 1)]
        replicas = replicate(module, used, not torch.is_grad_enabled())
        outputs = parallel_apply(replicas, shares or [()], words or [{}], used)
        return gather(outputs, indices[0] if output_device is None else output_device, dim)
    ((*given,),) = scatter(inputs, [device], dim) or [()] if inputs else [()]
    keywords = scatter(module_kwargs, [device], dim)[0] if module_kwargs else {}
    result = module(*given, **keywords)
    target = device if output_device is None else _device(output_device)
    return result if target == device else gather([result], target, dim)


def device_indices(device_ids: Sequence[Any] | None) -> list[int]:
    """Return the distinct devices that ``device_ids`` name here, in that order; all there are for None."""
    count = device_selection.device_count()
    if count < 2:
        return [0]
    if not device_ids:
        return list(range(count))
    return list(dict.fromkeys(device_index(device) for device in device_ids))


def _device(target: int | torch.device) -> torch.device:
    """``target`` as a device of this host; -1 is the CPU."""
    if target == -1 or is_own_cpu(target):
        return torch.device("cpu")
    device = translate(target)
    return device if isinstance(device, torch.device) else torch.device(device)
