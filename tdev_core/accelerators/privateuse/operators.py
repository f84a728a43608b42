"""One Python object for each operator, whichever threads ask for it first.

torch makes ``torch.ops.aten.add`` and its overloads when they are first asked for, and two threads that ask at once make
two: the second takes the place of the first, which dies. Its C++ half keeps the object that it was given, without a
reference, and hands it to every kernel in Python from then on. The process reads freed memory; stock torch does so
under a ``TorchDispatchMode``, and a device whose kernels are all in Python at any operator's first use.

Source: ``torch/_ops.py`` (``__getattr__`` of namespaces and packets), ``torch/csrc/autograd/python_variable.cpp``
(``getTorchApiFunction``), ``c10/core/SafePyObject``'s cache of one pointer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import torch

__all__ = ["make_once"]

_making = threading.RLock()
"""Reentrant, since making an overload may ask for a packet."""


def make_once() -> None:
    """Have threads that ask for an operator at once get one object. Call once."""
    for kind in (type(torch.ops), type(torch.ops.aten), type(torch.ops.aten.add)):
        kind.__getattr__ = _once(kind.__getattr__)  # type: ignore[method-assign]


def _once(original: Callable[..., Any]) -> Callable[..., Any]:
    def __getattr__(self: Any, name: str) -> Any:
        with _making:
            try:
                return self.__dict__[name]  # which another thread has made meanwhile
            except KeyError:
                return original(self, name)

    return __getattr__


def _after_fork() -> None:
    # A thread that was making an operator is not in the child, and would hold its lock for ever.
    global _making
    _making = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
