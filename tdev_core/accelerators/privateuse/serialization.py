"""Moves tensors of a Python device to other processes.

``torch.save``, ``torch.load``, ``pickle`` and ``deepcopy`` need nothing here: they go through the
storage methods (``tdev_core.accelerators.privateuse.storages``) and torch's own package for ``PrivateUse1``. A file
saved from ``sim:0`` is tagged ``sim:0``: with tdev on another backend it is loaded to that backend's device
(``tdev_core.shims.serialization``); torch alone loads it with ``map_location="cpu"``, and without one says
"don't know how to restore data location … (tagged with sim:0)".

``torch.multiprocessing`` shares CPU tensors and CUDA tensors between processes. A device whose
``Storages`` shares memory with the host is shared likewise; see :func:`install`.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions as _reductions

from tdev_core.accelerator import Accelerator
from tdev_core.accelerators.privateuse.storages import Storages

__all__ = ["install"]

reductions: Any = _reductions


def install(name: str, storages: Storages, accelerator: Accelerator) -> None:
    """Have ``torch.multiprocessing`` send tensors of device type ``name``.

    With ``storages.share(tensor) -> (rebuild, args)`` the receiver gets the same memory, as a CUDA
    tensor's does; without it, sending raises: a silent copy would let a program believe that writes
    reach the other process. (``storages.share_memory`` and ``is_shared`` serve ``share_memory_``.)
    """
    share = getattr(storages, "share", None)

    def reduce(tensor: torch.Tensor) -> Any:
        if tensor.device.type != name:
            return reductions.reduce_tensor(tensor)
        if tensor.requires_grad and not tensor.is_leaf:
            # torch's own reduction says the same of every device.
            return reductions.reduce_tensor(tensor)
        if share is None:
            raise RuntimeError(
                f"a tensor on the '{name}' device cannot be shared with another process: its memory "
                "belongs to this one. Send tensor.cpu() and move it there."
            )
        return share(tensor)

    for cls in (torch.Tensor, torch.nn.parameter.Parameter):
        ForkingPickler.register(cls, reduce)
