import tdev
import torch


def norm(shape, export=False):
    if not export and torch.cuda.is_available() and has_fused_layernorm:
        return FusedLayerNorm(shape)
    tdev.cuda.synchronize()
    return torch.nn.LayerNorm(shape)
