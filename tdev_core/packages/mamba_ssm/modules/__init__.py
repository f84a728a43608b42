"""Stand in for ``mamba_ssm.modules``."""

from __future__ import annotations

from tdev_core.packages.lacking import attributes_of

__getattr__ = attributes_of(__name__)
