"""Stand in for ``mamba_ssm.ops.triton.layernorm``, the module's name in mamba_ssm 1, with the functions of ``mamba_ssm.ops.triton.layer_norm``."""

from __future__ import annotations

from tdev_core.packages.lacking import attributes_of
from tdev_core.packages.mamba_ssm.ops.triton.layer_norm import RMSNorm, layer_norm_fn, rms_norm_fn

__all__ = ["RMSNorm", "layer_norm_fn", "rms_norm_fn"]

__getattr__ = attributes_of(__name__)
