import torch

try:
    from apex.optimizers import FusedAdam as _FusedAdam

    has_fused_adam = True
except ImportError:
    has_fused_adam = False


def build(use_fp16):
    use_fused = has_fused_adam and torch.cuda.is_available()
    if use_fused:
        return _FusedAdam
    return torch.optim.Adam


def other(cfg, params):
    if (
        getattr(cfg, "fused", False)
        and has_fused_adam
        and torch.cuda.is_available()
    ):
        return FusedAdamV1(params)
    return params


def norm(shape, export=False):
    if not export and torch.cuda.is_available() and has_fused_adam:
        return FusedLayerNorm(shape)
    return torch.nn.LayerNorm(shape)
