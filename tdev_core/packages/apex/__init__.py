"""Stand in for NVIDIA's ``apex``: its fused optimizers and norms, in torch's own functions.

Source: the documentation of https://github.com/NVIDIA/apex; ``apex`` on PyPI is something else.
"""

from __future__ import annotations

from tdev_core.packages.lacking import attributes_of, version_of

__version__ = version_of("apex")
__getattr__ = attributes_of(__name__)
