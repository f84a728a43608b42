"""Stand in for ``apex.optimizers``: Adam and LAMB."""

from __future__ import annotations

from tdev_core.packages.apex.optimizers.fused_adam import FusedAdam
from tdev_core.packages.apex.optimizers.fused_lamb import FusedLAMB
from tdev_core.packages.lacking import attributes_of

__all__ = ["FusedAdam", "FusedLAMB"]

__getattr__ = attributes_of(__name__)
