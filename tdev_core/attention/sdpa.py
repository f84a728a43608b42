"""Choosing attention kernels, for programs that choose among CUDA's.

Every host has the math kernel, and the CPU a flash kernel; memory-efficient and cuDNN kernels are
CUDA's. A program that allows only kernels which this host lacks would be told that none is viable, so
the math kernel is added behind those it names. The flags stay torch's own.

Source: ``torch.nn.attention`` documentation; pytorch's ``sdp_utils_cpp``, which picks by these flags.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn.attention import SDPBackend
from torch.nn.attention import activate_flash_attention_impl as _activate
from torch.nn.attention import sdpa_kernel as _sdpa_kernel

from tdev_core.backend import Backend, current
from tdev_core.errors import DeviceWarning, warn, warn_once

__all__ = ["activate_flash_attention_impl", "sdp_kernel", "sdpa_kernel", "with_last_resort"]


def with_last_resort(backends: Any) -> Any:
    """``backends`` with the math kernel behind those named, unless it is among them.

    One warning where no kernel named is one that this host has; none where the CPU's flash kernel is
    named, which refuses some inputs (dropout, masks that need gradients) that CUDA's takes. An empty
    list, ``ERROR`` and what is not a list of backends come back as they are.
    """
    named: Sequence[Any] = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(named, list) or not named:
        return backends
    if SDPBackend.MATH in named or SDPBackend.ERROR in named:
        return backends
    # Inside a compiled function there is no call site to warn at.
    if not torch.compiler.is_compiling() and not _here(named):
        names = ", ".join(backend.name for backend in named)
        warn_once(
            f"{current().value} has none of the attention kernels {names}; the math kernel is used",
            DeviceWarning,
            code="TDEV305",
            stacklevel=4,
        )
    return [*named, SDPBackend.MATH]


def _here(named: Sequence[Any]) -> bool:
    return current() is Backend.CPU and SDPBackend.FLASH_ATTENTION in named


def sdpa_kernel(backends: Any, set_priority: bool = False) -> Any:
    """Context manager (or decorator) in which attention uses ``backends``, and math as last resort.

    Args:
        backends: one ``SDPBackend`` or a list of them.
        set_priority: whether the order of the list is the order of preference.

    Raises:
        AssertionError: anything else than a backend or a list, as in torch.
    """
    return _sdpa_kernel(with_last_resort(backends), set_priority)


@contextlib.contextmanager
def _restricted(named: list[SDPBackend]) -> Iterator[dict[Any, Any]]:
    with sdpa_kernel(named) as context:
        yield context


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Any:
    """Return the older form of :func:`sdpa_kernel`, with one flag for each kernel; deprecated in torch."""
    warn(
        "torch.backends.cuda.sdp_kernel() is deprecated in torch. Use torch.nn.attention.sdpa_kernel()",
        FutureWarning,
    )
    wishes = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    return _restricted([backend for backend, wish in wishes.items() if wish])


_BUILT_IN = frozenset({"FA3", "FA4"})
"""Implementations that torch brings the registration of; their kernels are CUDA packages."""


def activate_flash_attention_impl(impl: str) -> None:
    """Use another flash implementation; those for CUDA leave this host's own, with one warning.

    ``current_flash_attention_impl()`` then goes on saying that none was activated.

    Raises:
        ValueError: an implementation that nobody registered.
    """
    try:
        _activate(impl)
    except (ImportError, RuntimeError) as error:
        if impl not in _BUILT_IN:
            raise
        warn_once(
            f"the flash attention implementation {impl!r} is for CUDA; {current().value} keeps its own"
            f" ({error})",
            DeviceWarning,
            code="TDEV305",
            key=("flash", impl),
            stacklevel=3,
        )
