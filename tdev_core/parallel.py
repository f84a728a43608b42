"""``torch.nn.parallel``'s functions for single-process data parallelism, on hosts with one device.

torch's own need CUDA's copy engines. With one device the split, the replicas and the joining keep
their meaning and lose only the speed: each replica still sees its share of the batch.

Source: ``torch.nn.parallel`` documentation and the behaviour of its functions on CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from tdev_core.devices import translate
from tdev_core.distributed import is_own_cpu

__all__ = ["data_parallel", "gather", "parallel_apply", "replicate", "scatter"]

M = TypeVar("M", bound=torch.nn.Module)


def scatter(inputs: Any, target_gpus: Sequence[int | torch.device], dim: int = 0) -> Any:
    """Split every tensor in ``inputs`` along ``dim`` into one chunk for each target.

    Lists, tuples and dicts are split through; anything else is repeated. As on CUDA, a batch smaller
    than the number of targets gives fewer chunks.

    Returns:
        A tuple for a single tensor, else a list, with one entry for each target.
    """
    targets = [_device(target) for target in target_gpus]

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
    """One replica of ``network`` for each device; the first shares the network's storage.

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
    return [_replica(network, index, detach) for index in range(len(devices))]


def _replica(network: M, index: int, detach: bool) -> M:
    copies: dict[torch.Tensor, torch.Tensor] = {}

    def copy(tensor: torch.Tensor, keep_graph: bool) -> torch.Tensor:
        if tensor not in copies:
            source = tensor if keep_graph else tensor.detach()
            # A view is no Parameter and no leaf, and yet the same memory.
            copies[tensor] = source.view_as(source) if index == 0 else source.clone()
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
    """Call each module with its inputs, one after the other: they share one device.

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
    return [
        module(*(given if isinstance(given, (list, tuple)) else (given,)), **kwargs)
        for module, given, kwargs in zip(modules, inputs, keywords, strict=True)
    ]


def data_parallel(
    module: torch.nn.Module,
    inputs: Any,
    device_ids: Sequence[int | torch.device] | None = None,
    output_device: int | torch.device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call ``module`` with the inputs on the one device; the result lies on ``output_device``.

    One replica, however many ids are named: several of them would share the device.
    """
    device = translate(0)
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    ((*given,),) = scatter(inputs, [device], dim) or [()] if inputs else [()]
    keywords = scatter(module_kwargs, [device], dim)[0] if module_kwargs else {}
    result = module(*given, **keywords)
    target = device if output_device is None else _device(output_device)
    return result if target == device else gather([result], target, dim)


def _device(target: int | torch.device) -> torch.device:
    """``target`` as a device of this host; -1 is the CPU."""
    if target == -1 or is_own_cpu(target):
        return torch.device("cpu")
    device = translate(target)
    return device if isinstance(device, torch.device) else torch.device(device)
