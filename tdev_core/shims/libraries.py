"""Kernels of a program's own operators: those for CUDA are registered where this host's tensors look for them.

``torch.library.impl(…, "cuda")`` ends in the same method. CUDA's dispatch keys become those of the CPU, or of
``PrivateUse1`` on an accelerator of ours. A kernel that was written for this host goes first: one for CUDA takes its place
only where there is none, and gives it up to one that comes later. Operators of torch itself (``aten``), and what torch
registers, are left alone.
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
_standing_in: set[tuple[str, str]] = set()
"""Operators, and the keys of this host at which a kernel for CUDA answers for them until one for this host comes."""


def library_impl(original: Method) -> Method:
    """Return the shim for ``torch.library.Library.impl``."""

    @functools.wraps(original)
    def impl(
        self: Any, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any
    ) -> Any:
        own = getattr(self, "dispatch_key", "")
        place = _qualified(getattr(self, "ns", "aten"), op_name), dispatch_key or own
        if place in _standing_in:
            # This one was written for this host. To torch the place is taken, which it refuses before 2.13.
            answer = original(self, op_name, fn, dispatch_key, *args, **kwargs | _OVERRIDING)
            _standing_in.discard(place)
            return answer
        operator, key = place
        if key not in _KEYS or operator.startswith("aten::") or _is_torchs(sys._getframe(1)):
            return original(self, op_name, fn, dispatch_key, *args, **kwargs)
        dispatch_key = _translated(operator, key)
        library = self
        if own and dispatch_key != own:  # it takes kernels for that key alone
            library = torch.library.Library(self.ns, "IMPL", dispatch_key)
            self.__dict__.setdefault("_tdev_kept", []).append(library)  # its kernels go with it
        answer = original(library, op_name, fn, dispatch_key, *args, **kwargs)
        if dispatch_key != key:
            _standing_in.add((operator, dispatch_key))
        return answer

    return impl


_OVERRIDING = {"allow_override": True}


def _is_torchs(frame: FrameType) -> bool:
    """Tell whether torch registers a kernel of its own; its decorators are what anybody registers with."""
    module = str(frame.f_globals.get("__name__", ""))
    # tdev_core counts the call.
    between = module.startswith(("tdev_core.", "torch.library", "torch._library"))
    if between and frame.f_back is not None:
        return _is_torchs(frame.f_back)
    return not between and module.startswith("torch.")


def _qualified(namespace: str, operator: Any) -> str:
    """Return the name of an operator with its namespace, however the program named it."""
    name = str(getattr(operator, "_name", operator))
    return name if "::" in name else f"{namespace}::{name}"


def _translated(operator: str, key: str) -> str:
    """Return the key at which a kernel for ``key`` is found by the tensors of this host."""
    match current():
        case Backend.CPU:
            target = f"{_KEYS[key]}CPU"
        case Backend.SIM | Backend.MLX:
            target = f"{_KEYS[key]}PrivateUse1"
        case _:
            return key
    if (operator, target) in _standing_in:
        return target  # a second kernel for CUDA: torch says what becomes of the first
    try:
        has_one = torch._C._dispatch_has_kernel_for_dispatch_key(operator, target)
    except RuntimeError:
        return target  # not defined yet
    return key if has_one else target
