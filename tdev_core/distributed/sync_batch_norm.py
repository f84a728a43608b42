"""``SyncBatchNorm`` on tensors that its CUDA kernels do not take.

torch refuses the layer on the CPU although nothing in its arithmetic needs a GPU: mean and variance
of the whole batch, summed over ranks by differentiable all-reduces.

Source: ``torch.nn.SyncBatchNorm`` documentation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

__all__ = ["forward_shim", "handle_shim"]


def handle_shim(original: Callable[..., Any]) -> Callable[..., Any]:
    """``DistributedDataParallel._passing_sync_batchnorm_handle``: such layers may be on the CPU."""

    @functools.wraps(original)
    def handle(self: Any, module: torch.nn.Module) -> None:
        return None

    return handle


def forward_shim(original: Callable[..., Any]) -> Callable[..., Any]:
    """``SyncBatchNorm.forward``: statistics over all ranks where torch has no kernel for them."""

    @functools.wraps(original)
    def forward(self: torch.nn.SyncBatchNorm, input: torch.Tensor) -> torch.Tensor:
        if input.device.type in ("cuda", "xpu", "hpu"):
            return original(self, input)  # type: ignore[no-any-return]
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        if self.training and dist.is_available() and dist.is_initialized():
            group = self.process_group or dist.group.WORLD
            assert group is not None
            if dist.get_world_size(group) > 1:
                return _synchronized(self, input, group)
        return torch.nn.modules.batchnorm._BatchNorm.forward(self, input)

    return forward


def _synchronized(
    layer: torch.nn.SyncBatchNorm, input: torch.Tensor, group: dist.ProcessGroup
) -> torch.Tensor:
    """Normalise ``input`` of shape (N, C, …) by the statistics of all ranks' inputs."""
    others = [dimension for dimension in range(input.dim()) if dimension != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    # Reduced precision is for activations; statistics are taken in float32, as the CUDA kernels do.
    values = input if input.dtype == torch.float64 else input.float()
    here = values.new_full((1,), values.numel() // values.size(1))
    sums = _total(torch.cat([values.sum(others), here]), group)
    count = sums[-1]
    mean = sums[:-1] / count
    centred = values - mean.view(shape)
    variance = _total(centred.square().sum(others), group) / count
    _track(layer, mean.detach(), variance.detach(), count.detach())
    result = centred * torch.rsqrt(variance + layer.eps).view(shape)
    if layer.weight is not None:
        result = result * layer.weight.view(shape)
    if layer.bias is not None:
        result = result + layer.bias.view(shape)
    return result.to(input.dtype)


class _Total(torch.autograd.Function):
    """The sum over ranks; the gradient of a sum is each rank's gradient, summed again."""

    @staticmethod
    def forward(context: Any, part: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
        context.group = group
        total = part.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        total = gradients[0].contiguous().clone()
        dist.all_reduce(total, group=context.group)
        return total, None


def _total(part: torch.Tensor, group: dist.ProcessGroup) -> torch.Tensor:
    total: torch.Tensor = _Total.apply(part, group)  # type: ignore[no-untyped-call]
    return total


def _track(
    layer: torch.nn.SyncBatchNorm, mean: torch.Tensor, variance: torch.Tensor, count: torch.Tensor
) -> None:
    """Move the running statistics towards this batch's; the variance without bias."""
    if not layer.track_running_stats or layer.running_mean is None or layer.running_var is None:
        return
    assert layer.num_batches_tracked is not None
    layer.num_batches_tracked.add_(1)
    if layer.momentum is None:
        factor = 1.0 / float(layer.num_batches_tracked)
    else:
        factor = layer.momentum
    with torch.no_grad():
        layer.running_mean.lerp_(mean.to(layer.running_mean.dtype), factor)
        unbiased = variance * (count / (count - 1))
        layer.running_var.lerp_(unbiased.to(layer.running_var.dtype), factor)
