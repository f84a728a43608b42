"""Stand in for ``xformers``: its attention with biases, SwiGLU, and small functions of ``xformers.ops``.

Source: the documentation of xformers 0.0.35, https://facebookresearch.github.io/xformers/components/ops.html, and the docstrings
of that release.
"""

from __future__ import annotations

from tdev_core.packages.lacking import attributes_of, version_of

__version__ = version_of("xformers")
__getattr__ = attributes_of(__name__)
