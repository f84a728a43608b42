"""Stand in for ``apex.parallel``: torch's own data parallelism under apex's arguments, and a batch norm over all ranks.

Source: apex/parallel/ (distributed.py, optimized_sync_batchnorm.py) of the repository NVIDIA/apex, read in November 2026.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F

from tdev_core.packages.lacking import attributes_of, refuse

__all__ = [
    "DistributedDataParallel",
    "Reducer",
    "SyncBatchNorm",
    "convert_syncbn_model",
    "create_syncbn_process_group",
]

__getattr__ = attributes_of(__name__)

_BATCH_NORM = torch.nn.modules.batchnorm._BatchNorm


class DistributedDataParallel(torch.nn.parallel.DistributedDataParallel):
    """:class:`torch.nn.parallel.DistributedDataParallel`, whose buffers stay each rank's own, as apex's do.

    How gradients are gathered into messages (``message_size``, ``delay_allreduce``, streams, communicators, factors that divide
    before and multiply after) changes nothing of their average. ``gradient_average=False`` gives their sum.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        message_size: int = 10000000,
        delay_allreduce: bool = False,
        shared_param: Any = None,
        allreduce_trigger_params: Any = None,
        retain_allreduce_buffers: bool = False,
        allreduce_always_fp32: bool = False,
        num_allreduce_streams: int = 1,
        allreduce_communicators: Any = None,
        gradient_average: bool = True,
        gradient_predivide_factor: float = 1.0,
        gradient_average_split_factor: Any = None,
        prof: bool = False,
    ) -> None:
        if shared_param is not None:
            raise ValueError(
                "apex.parallel.DistributedDataParallel: shared_param is gone; use delay_allreduce=True"
            )
        if retain_allreduce_buffers or allreduce_trigger_params is not None:
            refuse(
                "apex.parallel.DistributedDataParallel",
                "has no buffers or triggers of its own (retain_allreduce_buffers, allreduce_trigger_params)",
            )
        # The old name of forward_sync_buffers: by the new one they would become rank 0's at first. Parameters that a pass does
        # not reach are found as apex finds them, at the end of it.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "`broadcast_buffers` is deprecated", FutureWarning)
            super().__init__(
                module, broadcast_buffers=False, find_unused_parameters=delay_allreduce
            )
        if not gradient_average:
            self.register_comm_hook(None, _summed)


def _summed(_: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Sum a bucket of gradients over the ranks."""
    work: Any = dist.all_reduce(bucket.buffer(), async_op=True)
    summed: torch.futures.Future[torch.Tensor] = work.get_future().then(
        lambda done: done.value()[0]
    )
    return summed


_summed.__annotations__.clear()  # torch compares them with its classes, and here they are texts


class Reducer:
    """Averages gradients over the ranks when it is told to; parameters become rank 0's at first.

    Args:
        module_or_grads_list: a module, or a list of tensors.
    """

    def __init__(self, module_or_grads_list: Any) -> None:
        self.module: torch.nn.Module | None = None
        self.grads: list[torch.Tensor] = []
        if isinstance(module_or_grads_list, torch.nn.Module):
            self.module = module_or_grads_list
            for parameter in self.module.parameters():
                dist.broadcast(parameter.data, 0)
        else:
            self.grads = list(module_or_grads_list)

    def reduce(self) -> None:
        """Average the gradients of the module's parameters, or the tensors."""
        parameters = () if self.module is None else self.module.parameters()
        for tensor in self.grads or [p.grad for p in parameters if p.grad is not None]:
            dist.all_reduce(tensor)
            tensor.div_(dist.get_world_size())


class SyncBatchNorm(_BATCH_NORM):
    """Batch norm of an input (N, C, …) with the mean and variance of all ranks' inputs together.

    Args:
        process_group: the ranks; all where it is None.
        channel_last: whether the input is (N, …, C).
        fuse_relu: whether the output is cut off below 0.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        channel_last: bool = False,
        fuse_relu: bool = False,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self.process_group, self.channel_last, self.fuse_relu = (
            process_group,
            channel_last,
            fuse_relu,
        )

    def _check_input_dim(self, input: torch.Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(
                f"apex.parallel.SyncBatchNorm: the input has shape {tuple(input.shape)}; (N, C, …) is needed"
            )

    def forward(self, input: torch.Tensor, z: torch.Tensor | None = None) -> torch.Tensor:
        """Normalize ``input``, add ``z`` where there is one, and cut off below 0 with ``fuse_relu``."""
        self._check_input_dim(input)
        x = input.movedim(-1, 1) if self.channel_last else input
        out = self._normalized(x)
        if self.channel_last:
            out = out.movedim(1, -1)
        if z is not None:
            out = out + z
        return F.relu(out) if self.fuse_relu else out

    def _normalized(self, x: torch.Tensor) -> torch.Tensor:
        alone = not dist.is_initialized() or dist.get_world_size(self.process_group) == 1
        if alone or not (self.training or self.running_mean is None):
            found: torch.Tensor = super().forward(x)
            return found
        over = [0, *range(2, x.dim())]
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        count = wide.new_tensor([x.numel() / x.size(1)])
        sums = torch.cat((wide.sum(over), count))
        group = dist.group.WORLD if self.process_group is None else self.process_group
        sums = _summed_over(sums, group)
        shape = (1, -1, *[1] * (x.dim() - 2))
        mean = sums[:-1] / sums[-1]
        centred = wide - mean.view(shape)
        # Of distances from the common mean: of squares, small differences of large numbers would be left.
        variance = _summed_over(centred.square().sum(over), group) / sums[-1]
        self._follow(mean.detach(), variance.detach(), float(sums[-1].detach()))
        out = centred * torch.rsqrt(variance + self.eps).view(shape)
        if self.affine:
            out = out * self.weight.view(shape) + self.bias.view(shape)
        return out.to(x.dtype)

    def _follow(self, mean: torch.Tensor, variance: torch.Tensor, count: float) -> None:
        if self.running_mean is None or self.running_var is None or not self.track_running_stats:
            return
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        share = self.momentum
        if share is None:
            share = 1.0 / float(self.num_batches_tracked or 1)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        unbiased = variance * (count / (count - 1))
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), share)


def _summed_over(own: torch.Tensor, group: Any) -> torch.Tensor:
    """Return the sum of ``own`` over the ranks, with gradients."""
    # Imported here: a torch without torch.distributed has no such module.
    from torch.distributed.nn.functional import all_reduce

    summed: torch.Tensor = all_reduce(own, group=group)
    return summed


def convert_syncbn_model(
    module: torch.nn.Module, process_group: Any = None, channel_last: bool = False
) -> torch.nn.Module:
    """Return ``module`` with each batch norm replaced by a :class:`SyncBatchNorm` with its parameters and statistics."""
    if isinstance(module, _BATCH_NORM) and not isinstance(
        module, torch.nn.modules.instancenorm._InstanceNorm
    ):
        made = SyncBatchNorm(
            module.num_features, module.eps, module.momentum or 0.1, module.affine, module.track_running_stats,
            process_group, channel_last,
        )  # fmt: skip
        made.momentum = module.momentum
        made.weight, made.bias = module.weight, module.bias
        made.running_mean, made.running_var = module.running_mean, module.running_var
        made.num_batches_tracked = module.num_batches_tracked
        return made.train(module.training)
    for name, child in module.named_children():
        setattr(module, name, convert_syncbn_model(child, process_group, channel_last))
    return module


def create_syncbn_process_group(group_size: int) -> Any:
    """Return this rank's group of ``group_size`` ranks that follow each other; None, all ranks, for 0."""
    if group_size == 0:
        return None
    world = dist.get_world_size()
    if group_size < 0 or world < group_size or world % group_size:
        raise ValueError(
            f"apex.parallel.create_syncbn_process_group: {world} ranks make no groups of {group_size}"
        )
    own, _ = dist.new_subgroups(group_size)
    return own
