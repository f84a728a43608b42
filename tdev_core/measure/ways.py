"""Has a program compute another way, which a recording is then of: models inside of autocast, operators on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._ops import OpOverload
from torch.utils._pytree import tree_map_only

from tdev_core.measure.tensors import tensors, widened
from tdev_core.measure.wrapping import wrap

__all__ = ["Answer", "around_models", "fallen_back", "in_autocast"]

Answer = Callable[[Callable[..., Any], nn.Module, Any, Any], Any]
"""Takes a module's own call, the module, its arguments and keyword arguments; returns what the call is to return."""


def around_models(answer: Answer) -> Callable[[], None]:
    """Have ``answer`` answer calls of modules that no module calls; returns what ends that."""
    inside = False

    def called(plain: Callable[..., Any], module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        nonlocal inside
        if inside:
            return plain(module, *args, **kwargs)
        inside = True
        try:
            return answer(plain, module, args, kwargs)
        finally:
            inside = False

    return wrap(nn.Module, "__call__", called)


def in_autocast(dtype: torch.dtype) -> Answer:
    """Return what calls a model inside of a region of autocast, and hands on float32, which the program expects."""

    def answer(plain: Callable[..., Any], module: nn.Module, args: Any, kwargs: Any) -> Any:
        here = next((one.device.type for one in module.parameters()), "cpu")
        with torch.autocast(here, dtype=dtype):
            found = plain(module, *args, **kwargs)
        return widened(found)

    return answer


def fallen_back(func: OpOverload, args: Any, kwargs: Any) -> Any:
    """Compute an operator on the CPU, as a fallback does: what it reads is copied there, what it gives or writes copied back.

    Views, operators without a tensor on a device, and those that the CPU lacks run where they are.
    """
    device = _device((args, kwargs))
    returns = func._schema.returns
    aliases = any(one.alias_info is not None and not one.alias_info.is_write for one in returns)
    if device is None or aliases or kwargs.get("device") is not None:  # the last is a move
        return func(*args, **kwargs)
    twins: dict[int, torch.Tensor] = {}
    originals: dict[int, torch.Tensor] = {}

    def there(one: torch.Tensor) -> torch.Tensor:
        if id(one) not in twins:
            twins[id(one)] = one.to("cpu")
            originals[id(twins[id(one)])] = one
        return twins[id(one)]

    mine, named = tree_map_only(torch.Tensor, there, (args, kwargs))
    try:
        answers, theirs = _cpus(func, mine)
        found = answers(*theirs, **named)
    except NotImplementedError:
        return func(*args, **kwargs)
    names = [one.name for one in func._schema.arguments if one.is_write]
    given = dict(zip((one.name for one in func._schema.arguments), mine, strict=False)) | named
    tree_map_only(
        torch.Tensor, lambda one: originals[id(one)].copy_(one), [given.get(name) for name in names]
    )

    def back(one: torch.Tensor) -> torch.Tensor:
        return originals[id(one)] if id(one) in originals else one.to(device)

    return tree_map_only(torch.Tensor, back, found)


def _device(values: Any) -> torch.device | None:
    """Return the device of the tensors that are not on the CPU; None: all are."""
    return next((one.device for one in tensors(values) if one.device.type != "cpu"), None)


def _cpus(func: OpOverload, args: Any) -> tuple[OpOverload, Any]:
    """Return the operator, with its arguments, that has another name where a device brings its own kernel."""
    aten = torch.ops.aten
    if func is aten.convolution_overrideable.default:
        return aten.convolution.default, args
    if func is aten.convolution_backward_overrideable.default:
        return aten.convolution_backward.default, (*args[:3], [args[0].shape[1]], *args[3:])
    return func, args
