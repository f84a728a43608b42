import torch
from apex.normalization import FusedRMSNorm
from apex.optimizers import FusedAdam
from flash_attn import flash_attn_func, flash_attn_varlen_func


def cached(q, k, v, cache):
    k = torch.cat([cache, k], dim=1)
    return flash_attn_func(q, k, v, causal=True)


def windowed(q, k, v):
    return flash_attn_func(q, k, v, window_size=(16, 0))


class Norm(FusedRMSNorm):
    pass


def optimizer(model):
    return FusedAdam(model.parameters(), amsgrad=True), FusedAdam(*model)
