"""Stand in for ``apex.normalization``: layer and RMS norms as modules; the functions are in ``fused_layer_norm``."""

from __future__ import annotations

from tdev_core.packages.apex.normalization.fused_layer_norm import (
    FusedLayerNorm,
    FusedRMSNorm,
    MixedFusedLayerNorm,
    MixedFusedRMSNorm,
)
from tdev_core.packages.lacking import attributes_of

__all__ = ["FusedLayerNorm", "FusedRMSNorm", "MixedFusedLayerNorm", "MixedFusedRMSNorm"]

__getattr__ = attributes_of(__name__)
