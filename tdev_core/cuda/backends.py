"""The few settings of ``torch.backends`` that a build without CUDA refuses.

All other flags are torch's own on every host. A preference between CUDA libraries is kept, answered
and, where neither library is here, has nothing to decide; one warning says so.

Source: ``torch.backends`` documentation.
"""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch.backends import cuda as _cuda

from tdev_core.errors import DeviceWarning, warn_once

__all__ = [
    "blas_workspace_size",
    "cublas_workspace_size",
    "cublaslt_workspace_size",
    "get_cudnn_mode",
    "init_dropout_state",
    "is_macos_or_newer",
    "preferred_blas_library",
    "preferred_linalg_library",
]

P = TypeVar("P")

# Preferences for libraries that this build of torch was made without, by the function's name.
_preferred: dict[str, Any] = {}
_workspace: dict[str, int] = {}


def preferred_linalg_library(backend: Any = None) -> Any:
    """Prefer cuSOLVER or MAGMA for linear algebra, or say which is preferred.

    Returns:
        A ``torch._C._LinalgBackend``.

    Raises:
        RuntimeError: a name or a type that torch does not know.
    """
    return _prefer(
        "preferred_linalg_library",
        backend,
        {
            "cusolver": torch._C._LinalgBackend.Cusolver,
            "magma": torch._C._LinalgBackend.Magma,
        },
    )


def preferred_blas_library(backend: Any = None) -> Any:
    """Prefer cuBLAS, cuBLASLt or CK for matrix products, or say which is preferred.

    Returns:
        A ``torch._C._BlasBackend``.

    Raises:
        RuntimeError: a name or a type that torch does not know.
    """
    return _prefer(
        "preferred_blas_library",
        backend,
        {
            "cublaslt": torch._C._BlasBackend.Cublaslt,
            "hipblaslt": torch._C._BlasBackend.Cublaslt,
        },
    )


def _prefer(function: str, backend: Any, libraries: dict[str, Any]) -> Any:
    """torch's own answer, or, where torch lacks the library, the preference as it was stated."""
    if backend is None and function in _preferred:
        return _preferred[function]
    try:
        result = getattr(_cuda, function)(backend)
    except RuntimeError as error:
        wanted = libraries.get(backend) if isinstance(backend, str) else backend
        if "compiled with" not in str(error):
            raise
        if getattr(_cuda, function)() != wanted:  # some are noted by torch before it refuses them
            _preferred[function] = wanted
        warn_once(
            f"torch.backends.cuda.{function}({backend!r}) chooses between CUDA libraries, none of "
            "which is here; the preference is kept and has no effect",
            DeviceWarning,
            code="TDEV307",
            key=function,
            stacklevel=4,
        )
        return wanted
    if backend is not None:
        _preferred.pop(function, None)
    return result


def cublas_workspace_size(size: int | None = None) -> int:
    """Return bytes that cuBLAS may use for itself: what was set, and 0 before, because it is not here.

    Raises:
        RuntimeError: a negative size.
    """
    return _workspace_size("cublas", size)


def cublaslt_workspace_size(size: int | None = None) -> int:
    """Return bytes that cuBLASLt may use for itself: what was set, and 0 before, because it is not here.

    Raises:
        RuntimeError: a negative size.
    """
    return _workspace_size("cublaslt", size)


def _workspace_size(library: str, size: int | None) -> int:
    if size is not None:
        if size < 0:
            raise RuntimeError(f"{library} workspace size must be non-negative, but got {size}")
        _workspace[library] = size
    return _workspace.get(library, 0)


def blas_workspace_size(size: int | None = None, backend: Any = None) -> int:
    """Return bytes that the preferred, or the named, BLAS library may use for itself.

    Raises:
        RuntimeError: an unknown library, CK, which has no workspace, or a negative size.
    """
    kinds = torch._C._BlasBackend
    if isinstance(backend, str):
        if backend not in _cuda._BlasBackends:
            raise RuntimeError(
                f"Unknown backend string. Choose from: {', '.join(_cuda._BlasBackends)}."
            )
        backend = _cuda._BlasBackends[backend]
    chosen = preferred_blas_library() if backend is None else backend
    if chosen == kinds.Ck:
        raise RuntimeError("CK backend does not use a workspace.")
    return _workspace_size("cublaslt" if chosen == kinds.Cublaslt else "cublas", size)


_RNN_MODES = {"RNN_RELU": 0, "RNN_TANH": 1, "LSTM": 2, "GRU": 3}
"""``cudnnRNNMode_t`` of the cuDNN API reference."""


def get_cudnn_mode(mode: str) -> int:
    """cuDNN's number for a kind of recurrent network.

    Raises:
        ValueError: none of ``RNN_RELU``, ``RNN_TANH``, ``LSTM`` and ``GRU``.
    """
    if mode not in _RNN_MODES:
        raise ValueError(f"Unknown mode: {mode}")
    return _RNN_MODES[mode]


def init_dropout_state(
    dropout: float, train: bool, dropout_seed: int, dropout_state: dict[str, Any]
) -> None:
    """cuDNN's dropout state for recurrent networks: None, as torch has it where nothing is dropped.

    The recurrent kernels of other backends draw from the default generator and take no state.
    """
    from torch.backends.cudnn.rnn import Unserializable

    dropout_state.setdefault("desc_0", Unserializable(None))


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Tell whether this host runs macOS of at least that version; False on any other system.

    torch raises where it was built without MPS.
    """
    import platform

    release = platform.mac_ver()[0]
    if not release:
        return False
    version = tuple(int(part) for part in release.split(".")[:2])
    return version >= (major, minor)
