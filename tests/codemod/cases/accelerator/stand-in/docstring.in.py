import torch
from flash_attn import flash_attn_qkvpacked_func


def f(qkv):
    """Attend on CUDA."""
    return flash_attn_qkvpacked_func(qkv)
