"""Sees to it that the kernels which MLX compiles and keeps by itself are the user's own.

On Linux ``mx.compile`` has ``g++`` make a library for each fused kernel, in a folder below the one for temporary files,
and loads what lies there under the kernel's name, whoever put it there: anybody may, before the user's first kernel.
Source: ``mlx/backend/cpu/compiled.cpp``, ``get_temp_file`` and ``compile``.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from tdev_core import caches
from tdev_core.errors import warn_once

__all__ = ["guard"]


@lru_cache(maxsize=1)
def guard() -> bool:
    """Take that folder for the user before MLX compiles anything; where it is another's, have MLX compile nothing.

    Returns:
        Whether MLX compiles. Without it the same functions run unfused, with a warning that says why.
    """
    if sys.platform != "linux":
        return True
    import mlx.core as mx

    version = Path(_temporary(), "mlx", str(vars(mx)["__version__"]))
    try:
        for folder in (version.parent, version, version / "cpu"):
            caches.ours(folder, by_path=True)
    except caches.Refused as error:
        mx.disable_compile()
        warn_once(
            f"{error.what}. MLX compiles nothing in this process, which takes longer; set TMPDIR to a folder that only "
            "you can write to",
            RuntimeWarning,
            key=version,
        )
        return False
    except OSError:
        pass  # MLX says itself that it cannot write there, and finds nothing to load
    return True


def _temporary() -> str:
    """Return the folder for temporary files as C++ has it. Source: ``std::filesystem::temp_directory_path``."""
    given = map(os.environ.get, ("TMPDIR", "TMP", "TEMP", "TEMPDIR"))
    return next(filter(None, given), "/tmp")  # nosec B108  # judged before it is used
