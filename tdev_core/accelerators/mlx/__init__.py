"""The torch device ``mlx``: kernels on Apple's MLX, and ``torch.compile(backend="mlx")``.

Importing this package imports neither torch nor MLX; :func:`activate` does.
"""

from __future__ import annotations

import threading

__all__ = ["activate", "is_installed"]

_active = False
_activating = (
    threading.RLock()
)  # one thread may be the first twice: what it imports may import tdev


def is_installed() -> bool:
    """Tell whether the ``mlx`` package is there (it is not imported)."""
    from importlib.util import find_spec

    return find_spec("mlx") is not None and find_spec("mlx.core") is not None


def activate() -> None:
    """Register the torch device type ``mlx`` in this process; further calls do nothing.

    Raises:
        ConfigError: MLX is not installed or cannot be loaded; the message says what to install.
    """
    global _active
    if _active:
        return
    from tdev_core.errors import ConfigError

    advice = "Install it with: pip install 'tdev[mlx]' (macOS: pip install mlx; Linux: pip install 'mlx[cpu]')"
    if not is_installed():
        raise ConfigError(
            f"TDEV_BACKEND=mlx asks for Apple's MLX, but the package 'mlx' is not installed. {advice}."
        )
    try:
        import mlx.core  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"TDEV_BACKEND=mlx asks for Apple's MLX, but 'mlx.core' cannot be loaded ({error}). {advice}."
        ) from error
    from tdev_core.accelerators.mlx.setup import register

    with _activating:
        if not _active:
            register()
            _active = True
