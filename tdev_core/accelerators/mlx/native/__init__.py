"""The kernels of device ``mlx`` in C++, which stand before their Python wrappers and take less than half of their time.

Imports the runtime and ``storage``, whose objects the C++ side works on. Imported by the registration
(:mod:`~tdev_core.accelerators.mlx.setup`), and by the commands ``python -m tdev native`` and ``doctor``.
"""

from __future__ import annotations

from tdev_core.accelerators.mlx.native.background import LIBRARY
from tdev_core.accelerators.mlx.native.library import answered, before, start, state, using, view

__all__ = ["LIBRARY", "answered", "before", "start", "state", "using", "view"]
