"""Decides whether Triton interprets its kernels, before it defines its first function."""

from __future__ import annotations

import glob
import os
import sys
from types import ModuleType

from tdev_core.errors import ConfigError
from tdev_core.import_hooks import when_imported

__all__ = ["answered", "begin", "is_chosen", "simulate_numba"]

_DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/dri/renderD*")


def is_chosen(rewritten: bool = False) -> bool:
    """Tell whether kernels are interpreted: by ``TDEV_TRITON``, or under ``tdev run`` where no GPU has a driver.

    Raises:
        ConfigError: the variable says something else.
    """
    asked = os.environ.get("TDEV_TRITON", "").strip().lower()
    if asked not in ("", "0", "interpret"):
        raise ConfigError(
            f"TDEV_TRITON={asked!r} is not understood. Set it to interpret or 0, or unset it."
        )
    if asked:
        return asked == "interpret"
    return (rewritten or "TDEV_RUN_STATE" in os.environ) and not any(map(glob.glob, _DRIVERS))


def answered() -> frozenset[str]:
    """Return the packages for CUDA that something answers for in a program that is rewritten as it runs.

    What such a program demands before it calls one is met: ``assert x.is_cuda`` guards a kernel that runs.
    """
    from tdev_core.ecosystem.package_table import stand_ins  # no start of a program asks

    return frozenset(stand_ins()) | ({"triton"} if is_chosen(rewritten=True) else set())


def begin(rewritten: bool = False) -> None:
    """Wait for ``triton`` to be imported, if its kernels are to be interpreted; does nothing else now."""
    if not is_chosen(rewritten):
        return
    asked = bool(os.environ.get("TDEV_TRITON", "").strip())
    if (
        asked
        and "triton.language" in sys.modules
        and not sys.modules["triton.knobs"].runtime.interpret
    ):
        raise ConfigError(
            "TDEV_TRITON=interpret has to be known before triton is imported. Import tdev before triton."
        )
    # What mends the interpreter is read where there is one: every start of a program passes by here.
    from tdev_core.packages.interpreter import (
        bfloat16,
        float8,
        launches,
        libdevice,
        loops,
        releases,
        truth,
    )

    when_imported(["triton.knobs"], _switch)
    # releases first, whose functions the others wrap, and bfloat16 after float8: it widens what that converts
    for room in (releases, float8, bfloat16, truth, loops):
        when_imported(["triton.runtime.interpreter"], room.mend)
    when_imported(["triton.runtime.interpreter"], launches.mend)
    when_imported(["triton.runtime.autotuner"], launches.mend_autotuner)
    when_imported(["triton.language.extra.libdevice"], libdevice.mend)


def simulate_numba() -> None:
    """Have numba take its own simulator for ``numba.cuda`` on ``sim``, where no GPU has a driver.

    numba reads ``NUMBA_ENABLE_CUDASIM`` as it is imported; what the user has set, and an imported numba, stay as they are.
    """
    on_sim = os.environ.get("TDEV_BACKEND", "").strip().lower() == "sim"
    if on_sim and "numba" not in sys.modules and not any(map(glob.glob, _DRIVERS)):
        os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")


def _switch(knobs: ModuleType) -> None:
    knobs.runtime.interpret = True
