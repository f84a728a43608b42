"""The differentiable copies between devices that ``torch.nn.parallel`` is made of, without CUDA.

Wrappers for tensor and data parallelism import them from torch's private module. torch's own end in functions of
``torch._C`` that only builds for CUDA have, and refuse tensors of the host; these copy by :mod:`tdev_core.cuda.comm`.

Source: ``torch/nn/parallel/_functions.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.autograd import Function

from tdev_core.backend import Backend, current
from tdev_core.cuda import comm

__all__ = ["Broadcast", "Gather", "ReduceAddCoalesced", "Scatter"]


def _check_on_accelerator(name: str, inputs: tuple[torch.Tensor, ...]) -> None:
    """Refuse tensors of the host as torch does, where they can be told from the accelerator's."""
    if current() is not Backend.CPU and any(one.device.type == "cpu" for one in inputs):
        raise AssertionError(f"{name} function not implemented for CPU tensors")


class Broadcast(Function):
    """Copies of all ``inputs`` on each of ``target_gpus``, device by device; their gradients are added.

    Raises:
        AssertionError: an input of the host, where there is an accelerator.
    """

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, *inputs: torch.Tensor) -> Any:
        """Return the copies in one row: all of the first device, then all of the second."""
        _check_on_accelerator("Broadcast", inputs)
        if not inputs:
            return ()
        ctx.num_inputs, ctx.input_device = len(inputs), inputs[0].device
        rows = comm.broadcast_coalesced(inputs, target_gpus)
        needed = ctx.needs_input_grad[1:]
        ctx.mark_non_differentiable(
            *(copy for row in rows for copy, needs in zip(row, needed, strict=True) if not needs)
        )
        return tuple(copy for row in rows for copy in row)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the sums of the copies' gradients, on the first input's device."""
        sums = ReduceAddCoalesced.apply(ctx.input_device, ctx.num_inputs, *grad_outputs)  # type: ignore[no-untyped-call]
        return (None, *sums)


class ReduceAddCoalesced(Function):
    """Sums over the devices of rows of ``num_inputs`` tensors, on ``destination``; the gradient goes to each."""

    @staticmethod
    def forward(ctx: Any, destination: Any, num_inputs: int, *grads: torch.Tensor) -> Any:
        """Return one sum for each place in a row."""
        rows = [grads[at : at + num_inputs] for at in range(0, len(grads), num_inputs)]
        ctx.target_gpus = [row[0].device for row in rows]
        return comm.reduce_add_coalesced(rows, destination)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the gradients of the sums for every device."""
        return (None, None, *Broadcast.apply(ctx.target_gpus, *grad_outputs))  # type: ignore[no-untyped-call]


class Gather(Function):
    """``inputs`` concatenated along ``dim`` on ``target_device`` (``"cpu"`` for the host); scalars become a vector.

    Raises:
        AssertionError: an input of the host, where there is an accelerator.
        RuntimeError: shapes that do not fit together, in torch's words.
    """

    @staticmethod
    def forward(ctx: Any, target_device: Any, dim: int, *inputs: torch.Tensor) -> Any:
        """Return the joined tensor."""
        _check_on_accelerator("Gather", inputs)
        ctx.unsqueezed_scalar = dim == 0 and all(one.dim() == 0 for one in inputs)
        if ctx.unsqueezed_scalar:
            inputs = tuple(one.view(1) for one in inputs)
            warnings.warn(
                "Gather was given only scalars to join along dimension 0; they become a vector.",
                stacklevel=2,
            )
        ctx.dim = dim
        ctx.input_gpus = [one.device for one in inputs]
        ctx.input_sizes = [one.size(dim) for one in inputs]
        return comm.gather(inputs, dim, target_device)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return each input's part of the gradient, on its device."""
        parts = Scatter.apply(ctx.input_gpus, ctx.input_sizes, ctx.dim, grad_outputs[0])  # type: ignore[no-untyped-call]
        if ctx.unsqueezed_scalar:
            parts = tuple(part[0] for part in parts)
        return (None, None, *parts)


class Scatter(Function):
    """``input`` split along ``dim``, one piece on each of ``target_gpus``; the gradients are joined where it was."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Any, chunk_sizes: Any, dim: int, input: torch.Tensor) -> Any:
        """Return the pieces, of equal length unless ``chunk_sizes`` says otherwise."""
        ctx.dim, ctx.input_device = dim, input.device
        return comm.scatter(input, target_gpus, chunk_sizes, dim)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return the pieces' gradients in one tensor."""
        return None, None, None, Gather.apply(ctx.input_device, ctx.dim, *grad_outputs)  # type: ignore[no-untyped-call]
