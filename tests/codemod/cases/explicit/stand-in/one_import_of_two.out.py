import tdev
import torch
from tdev.standins.xformers import ops


def profile(run):
    from xformers.components import build_attention

    return build_attention(run)


def attend(q, k, v, streaming):
    if streaming and tdev.is_accelerator(q.device.type):
        with torch.autocast(device_type=q.device.type, dtype=torch.bfloat16):
            weights = torch.einsum("bqd,bkd->bqk", q, k)
    else:
        weights = torch.einsum("bqd,bkd->bqk", q, k)
    return torch.softmax(weights, dim=-1) @ v


def attend_efficiently(q, k, v):
    return ops.memory_efficient_attention(q, k, v)
