"""Stand in for ``mamba_ssm``: the selective scan, step by step in torch's own operations, and the block ``Mamba`` of it.

Source: https://github.com/state-spaces/mamba, the signatures and docstrings of 2.3, read in November 2026.
"""

from __future__ import annotations

from tdev_core.packages.lacking import attributes_of, version_of
from tdev_core.packages.mamba_ssm.modules.mamba_simple import Mamba
from tdev_core.packages.mamba_ssm.ops.selective_scan_interface import (
    mamba_inner_fn,
    selective_scan_fn,
)

__all__ = ["Mamba", "mamba_inner_fn", "selective_scan_fn"]

__version__ = version_of("mamba_ssm")
__getattr__ = attributes_of(__name__)
