"""Shims for optimizers: ``capturable=True`` makes a step fit for a CUDA graph.

torch refuses it for parameters on the CPU and on MPS. There the graphs that a program captures are
replayed by running them again (:mod:`tdev_core.cuda.graphs.callables`), for which every step is fit as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tdev_core.backend import Backend, current

__all__ = ["optimizer_settled"]

Method = Callable[..., None]


def optimizer_settled(original: Method) -> Method:
    """Return a method that gives an optimizer its options, without ``capturable`` where torch refuses it.

    ``add_param_group``, which the constructor calls too, and ``load_state_dict``, because what was
    saved on CUDA may be capturable.
    """

    def settled(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if current() in (Backend.CPU, Backend.MPS):
            for options in (*self.param_groups, self.defaults):
                _settle(options)

    return settled


def _settle(options: dict[str, Any]) -> None:
    if not options.get("capturable"):
        return
    options["capturable"] = False
    if isinstance(options.get("lr"), torch.Tensor) and options.get("foreach"):
        options["foreach"] = (
            False  # torch's foreach steps take such a rate from capturable ones only
        )
