"""Stand in for ``causal_conv1d``: a convolution of each channel with itself that looks back only."""

from __future__ import annotations

from tdev_core.packages.causal_conv1d.causal_conv1d_interface import (
    causal_conv1d_fn,
    causal_conv1d_update,
)
from tdev_core.packages.lacking import attributes_of, version_of

__all__ = ["causal_conv1d_fn", "causal_conv1d_update"]

__version__ = version_of("causal_conv1d")
__getattr__ = attributes_of(__name__)
