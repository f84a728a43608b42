"""``torch.cuda.profiler``: switching an outside profiler on and off.

CUDA's calls tell tools such as Nsight where the interesting part begins. On MPS the same is done by OS
signposts, which Instruments collects. Elsewhere there is no outside tool to tell; ``torch.profiler`` is
another matter and works everywhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import torch

from tdev_core.backend import Backend, current

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["emit_nvtx", "profile", "start", "stop"]


def start() -> None:
    """Tell the outside profiler to collect: signposts on MPS, nothing elsewhere."""
    if current() is Backend.MPS:
        torch.mps.profiler.start()


def stop() -> None:
    """Tell the outside profiler to stop collecting."""
    if current() is Backend.MPS:
        torch.mps.profiler.stop()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Context between :func:`start` and :func:`stop`."""
    try:
        start()
        yield
    finally:
        stop()


class emit_nvtx(torch.autograd.profiler.emit_nvtx):
    """``torch.autograd.profiler.emit_nvtx`` where nothing collects NVTX ranges.

    It opens one range for each operator, for NVIDIA's tools to see. There are none here, so the
    block runs without; use ``torch.profiler.profile``, which lists the same operators.

    Args:
        enabled: accepted.
        record_shapes: accepted.
    """

    def __enter__(self) -> Self:
        if self.enabled and self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        self.entered = True
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> Literal[False]:
        self.entered = False
        return False
