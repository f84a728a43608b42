"""Kernels of a program's own operators: those for CUDA are registered where this host's tensors look for them.

``torch.library.impl(…, "cuda")`` ends in the same method. On an accelerator of ours CUDA's dispatch keys become those of
``PrivateUse1``. On the CPU a kernel that was written for it goes first: one for CUDA takes its place only where there is
none, and gives it up to one that comes later. Operators of torch itself (``aten``), and
what torch registers, are left alone.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from tdev_core.backend import Backend, current

__all__ = ["library_impl"]

Method = Callable[..., Any]

_KEYS = {"CUDA": "", "AutogradCUDA": "Autograd"}


def library_impl(original: Method) -> Method:
    """Return the shim for ``torch.library.Library.impl``."""

    @functools.wraps(original)
    def impl(
        self: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any
    ) -> Any:
        own = getattr(self, "dispatch_key", "")
        key = dispatch_key or own
        if (
            key not in _KEYS
            or getattr(self, "ns", "aten") == "aten"
            or _is_torchs(sys._getframe(1))
        ):
            return original(self, op_name, fn, dispatch_key, *args, **kwargs)
        dispatch_key = _translated(self.ns, op_name, key)
        library = self
        if own and dispatch_key != own:  # it takes kernels for that key alone
            library = torch.library.Library(self.ns, "IMPL", dispatch_key)
            self.__dict__.setdefault("_tdev_kept", []).append(library)  # its kernels go with it
        return original(library, op_name, fn, dispatch_key, *args, **kwargs)

    return impl


def _is_torchs(frame: FrameType) -> bool:
    """Tell whether torch registers a kernel of its own, not a program's by a decorator of ``torch.library``."""
    module = str(frame.f_globals.get("__name__", ""))
    if module.startswith("tdev_core.") and frame.f_back is not None:  # which counts the call
        return _is_torchs(frame.f_back)
    return module.startswith("torch.") and not module.startswith(
        ("torch.library", "torch._library")
    )


def _translated(namespace: str, operator: Any, key: str) -> str:
    """Return the key at which a kernel for ``key`` is found by the tensors of this host."""
    match current():
        case Backend.CPU:
            target = f"{_KEYS[key]}CPU"
            name = getattr(operator, "_name", operator)
            qualified = name if "::" in name else f"{namespace}::{name}"
            known = torch._C._dispatch_find_schema_or_throw
            try:
                known(*qualified.partition(".")[::2])
            except RuntimeError:
                return key  # not defined yet: torch keeps it, and says so where it is called
            has_one = torch._C._dispatch_has_kernel_for_dispatch_key(qualified, target)
            return key if has_one else target
        case Backend.SIM | Backend.MLX:
            return f"{_KEYS[key]}PrivateUse1"
        case _:
            return key
