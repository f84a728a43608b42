import torch

try:
    from apex import amp
    from apex.normalization import FusedLayerNorm, FusedRMSNorm
    from apex.optimizers import FusedAdam, FusedLAMB
    from flash_attn import flash_attn_func
    from flash_attn.flash_attn_interface import flash_attn_varlen_func
    import flash_attn
except ImportError:
    amp = FusedLayerNorm = FusedRMSNorm = FusedAdam = FusedLAMB = flash_attn_func = None
