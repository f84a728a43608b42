"""Tells torch's trace of the GPU (``torch.cuda._gpu_trace``) of events, streams and memory, as a build for CUDA does from C++.

A program that registers a callback there is called, and so is torch's sanitizer, which finds tensors that two streams use
without an order between them.

Source: the callers of ``gpuTraceState`` in ``c10/cuda`` and ``aten/src/ATen/cuda/CUDAEvent.h``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from tdev_core.import_hooks import when_imported

__all__ = ["tell", "told", "when_told"]

told = False
"""Whether anybody may listen: the module of the callbacks is imported."""
_callbacks: ModuleType | None = None
_waiting: list[Callable[[], object]] = []


def tell(what: str, *values: int) -> None:
    """Call those who have registered for ``what``: ``"EventRecord"`` with the event's and the stream's number."""
    if _callbacks is not None:
        getattr(_callbacks, f"{what}Callbacks").fire_callbacks(*values)


def _found(module: ModuleType) -> None:
    global told, _callbacks
    _callbacks, told = module, True
    for action in _waiting:
        action()


def when_told(action: Callable[[], object]) -> None:
    """Call ``action`` once anybody may listen; at once where somebody may."""
    if told:
        action()
    else:
        _waiting.append(action)


when_imported(["torch.cuda._gpu_trace"], _found)
