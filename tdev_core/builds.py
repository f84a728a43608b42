"""What kind of torch this is: with CUDA's classes compiled in, or with placeholders for them."""

from __future__ import annotations

import torch

__all__ = ["has_cuda_classes"]


def has_cuda_classes() -> bool:
    """Whether ``torch.cuda``'s classes are real.

    In a CUDA build, with a GPU or without, creating a ``torch.cuda.Stream`` starts the driver, so that
    no subclass of it can stand in. Without CUDA their bases are placeholders that only raise.
    """
    return bool(torch._C._has_cuda)
