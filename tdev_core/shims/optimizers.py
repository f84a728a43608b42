"""Shims for optimizers: ``capturable=True`` makes a step fit for a CUDA graph.

torch refuses it for parameters on the CPU and on MPS. There the graphs that a program captures are
replayed by running them again (:mod:`tdev_core.graphed`), for which every step is fit as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdev_core.backend import Backend, current

__all__ = ["optimizer_init", "optimizer_load"]

Method = Callable[..., None]


def _settle(optimizer: Any) -> None:
    if current() in (Backend.CPU, Backend.MPS):
        for group in optimizer.param_groups:
            if group.get("capturable"):
                group["capturable"] = False
        if optimizer.defaults.get("capturable"):
            optimizer.defaults["capturable"] = False


def optimizer_init(original: Method) -> Method:
    """``Optimizer.__init__``, without ``capturable`` where torch refuses it."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _settle(self)

    return __init__


def optimizer_load(original: Method) -> Method:
    """``Optimizer.load_state_dict``: what was saved on CUDA may be capturable."""

    def load_state_dict(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        _settle(self)

    return load_state_dict
