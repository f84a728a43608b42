"""The kernels of device ``sim`` in C++, which stand before those of Python and answer what is simple without Python's lock.

``python -m tdev native sim`` builds them. Both ways do the same steps over the same memory, so values and counts are the
same; ``TDEV_NATIVE=0`` runs by Python alone. Imported by the registration, and by the command ``doctor``.
"""

from __future__ import annotations

from tdev_core.accelerators.sim.native.library import (
    LIBRARY,
    answered,
    guard,
    load,
    put,
    state,
    using,
)

__all__ = ["LIBRARY", "answered", "guard", "load", "put", "state", "using"]
