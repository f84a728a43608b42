import torch
from packaging import version
from tdev.standins.flash_attn import flash_attn_func
from torch import distributed as dist
from torch import nn


def attend(q, k):
    return flash_attn_func(q, k), version, dist, nn, torch
