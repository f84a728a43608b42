# ruff: noqa
"""Underscored names of public modules, as libraries that extend torch use them."""

import torch
from torch import Tensor, nn
from torch.nn.common_types import _size_2_t
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.modules.utils import _pair
from torch.optim.lr_scheduler import _LRScheduler
from torch.utils.data.dataloader import _BaseDataLoaderIter


class FocalLoss(_WeightedLoss):
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        reveal_type(self.reduction)
        return nn.functional.cross_entropy(input, target, self.weight)


class Warmup(_LRScheduler):
    def get_lr(self) -> list[float]:
        return [base * self.last_epoch for base in self.base_lrs]


def stride_of(layer: _ConvNd, stride: _size_2_t) -> tuple[int, ...]:
    reveal_type(_pair(stride))
    return layer.stride


def checked(parameters: list[Tensor], loss: _Loss) -> str:
    torch._assert(len(parameters) > 0, "nothing to train")
    return loss.reductions  # a slip, which both must see


def batches(iterator: _BaseDataLoaderIter) -> int:
    return len(iterator)
