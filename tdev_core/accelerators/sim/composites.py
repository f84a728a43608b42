"""Operators that torch computes differently on the CPU than on any other device.

They are decomposed above the device's kernels (``CompositeImplicitAutograd``), and the decomposition
asks for the device: ``lstm`` takes oneDNN on the CPU and fused CUDA cells elsewhere,
``scaled_dot_product_attention`` takes a flash kernel on the CPU, ``dropout`` rounds in another order. To have the CPU's values, forward and
backward, the whole operator is run on CPU tensors over the same memory, with two differentiable moves
around it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._pytree import tree_flatten, tree_unflatten

from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.sim import aliasing, cells, fallback, rng

__all__ = ["install"]

_OPERATORS = (
    "aten::lstm.input",
    "aten::lstm.data",
    "aten::gru.input",
    "aten::gru.data",
    "aten::rnn_tanh.input",
    "aten::rnn_tanh.data",
    "aten::rnn_relu.input",
    "aten::rnn_relu.data",
    "aten::lstm_cell",
    "aten::gru_cell",
    "aten::scaled_dot_product_attention",
    "aten::dropout",
)


class _ToHost(torch.autograd.Function):
    """The CPU tensor over a sim tensor's memory; gradients move back the same way."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        ctx.index = tensor.device.index
        return aliasing.host_alias(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        gradient = gradients[0]
        if not torch.is_grad_enabled() and torch_api.is_alone(gradient):
            # No graph will save it: there is nothing to protect by a copy.
            return aliasing.adopt_tensor(gradient, ctx.index)
        return _ToDevice.apply(gradient, ctx.index)  # type: ignore[no-untyped-call]


class _ToDevice(torch.autograd.Function):
    """A sim tensor with a copy of a CPU tensor: what autograd saved of that tensor stays untouched.

    ``inputs`` are the sim tensors that the operator read: saving them lets autograd notice, when the
    gradient is computed, that one was changed in between.
    """

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, index: int, *inputs: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(*inputs)
        return aliasing.adopt_tensor(tensor.detach().clone(), index)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        inputs = ctx.saved_tensors
        back = _ToHost.apply(gradients[0])  # type: ignore[no-untyped-call]
        return back, None, *(None for _ in inputs)


def _to_host(tensor: torch.Tensor) -> Any:
    """Do :class:`_ToHost` where a gradient comes back; a tangent is :class:`_ToDevice`'s to refuse, which is given all inputs."""
    if tensor.requires_grad:
        return _ToHost.apply(tensor)  # type: ignore[no-untyped-call]
    return aliasing.host_alias(tensor)


def _lift(value: Any, index: int, inputs: list[torch.Tensor]) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return _ToDevice.apply(value, index, *inputs)  # type: ignore[no-untyped-call]


def _on_host(op: OpOverload) -> Callable[..., Any]:
    """Make the kernel of ``op`` for the autograd key: forward on the CPU, differentiable."""

    draws = torch.Tag.nondeterministic_seeded in op.tags
    guards_inputs = op is not torch.ops.aten.dropout.default  # its gradient reads the mask alone

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if op is torch.ops.aten.dropout.default and _drops_nothing(*args, **kwargs):
            return args[0]
        leaves, spec = tree_flatten((args, kwargs))
        if (
            torch_api.functorch_active()
            or torch_api.being_traced(leaves)
            or torch.jit.is_tracing()  # no longer where the tracer has written the operator down itself
        ):
            return _decomposed(op, args, kwargs)
        sim = [x for x in leaves if isinstance(x, torch.Tensor) and x.device.type == "sim"]
        if not (torch.is_grad_enabled() and any(x.requires_grad for x in sim)):
            return fallback.run(op, *args, **kwargs)
        torch_api.run_backward_on_caller()
        index = fallback.common_device(op, args, kwargs)
        guarded = sim if guards_inputs else []
        with torch_api.no_torch_function():
            known = set(map(id, sim))
            lowered = [_to_host(x) if id(x) in known else x for x in leaves]
            on_cpu, on_cpu_named = tree_unflatten(lowered, spec)
            with rng.drawing(index) if draws else contextlib.nullcontext():
                result = op(*on_cpu, **on_cpu_named)
            outputs, shape = tree_flatten(result)
            unchanged = {id(new): old for new, old in zip(lowered, leaves, strict=True)}
            lifted = [
                unchanged[id(x)] if id(x) in unchanged else _lift(x, index, guarded)
                for x in outputs
            ]
        return tree_unflatten(lifted, shape)

    return kernel


def _drops_nothing(input: torch.Tensor, p: float, train: bool) -> bool:
    """Tell whether dropout gives its input back, as in ``ATen/native/Dropout.cpp``."""
    return p == 0 or not train


def _decomposed(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do what torch does on every device but the CPU; transforms, dispatch modes and compilers see each step.

    Values are right but rounded differently from the CPU's fused kernels.
    """
    return _OWN.get(op, op.decompose)(*args, **kwargs)


_OWN: Mapping[OpOverload, Callable[..., Any]] = {
    torch.ops.aten.lstm_cell.default: cells.lstm_cell,
    torch.ops.aten.gru_cell.default: cells.gru_cell,
}
"""Decompositions in the place of torch's, which would ask for a kernel that is CUDA's alone."""


def install() -> None:
    """Register all of them; also without autograd, where the boxed kernel does."""
    for name in _OPERATORS:
        base, _, overload = name.removeprefix("aten::").partition(".")
        op: OpOverload = getattr(getattr(torch.ops.aten, base), overload or "default")
        torch_api.implement(name, fallback.kernel(op))
        torch_api.implement(name, _on_host(op), "AutogradPrivateUse1")
