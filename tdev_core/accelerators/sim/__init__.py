"""The ``sim`` device: an accelerator made of host memory, for running GPU code without a GPU.

``activate()`` registers it with torch; only ``TDEV_BACKEND=sim`` calls it. What it does and does not:
``tdev_core.accelerators.sim.fallback`` (operators), ``memory`` (storages and counts), ``rng`` (random numbers); ``native`` (the same
operators in C++, where they have been built).
"""

from __future__ import annotations

import threading

__all__ = ["activate"]

_activating = (
    threading.RLock()
)  # one thread may be the first twice: what it imports may import tdev


def activate() -> None:
    """Register the ``sim`` device type with torch; a second call does nothing.

    Raises:
        ConfigError: a ``TDEV_SIM_…`` variable is not usable, or
            another backend already has torch's ``PrivateUse1``.
    """
    # Importing the package costs nothing.
    from tdev_core.accelerators.sim.registration import activate as register

    with _activating:
        register()
