"""Stand in for ``mamba_ssm.ops.triton.layer_norm``, which has the functions of ``flash_attn.ops.triton.layer_norm``."""

from __future__ import annotations

from tdev_core.packages.flash_attn.ops.triton.layer_norm import (
    RMSNorm,
    layer_norm_fn,
    rms_norm_fn,
)
from tdev_core.packages.lacking import attributes_of

__all__ = ["RMSNorm", "layer_norm_fn", "rms_norm_fn"]

__getattr__ = attributes_of(__name__)
