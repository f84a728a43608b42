"""Choose the convolution of torch's that computes one on ``sim``: the CPU's, over whose memory it runs.

torch chooses by device, and for a device from outside it takes whatever that registers. ``torch.compile`` and
``torch.export`` ask for the choice to know how a result lies in memory (channels last or not).

Source: ``_select_conv_backend`` in aten/src/ATen/native/Convolution.cpp, ``conv`` in ``torch/_subclasses/fake_impls.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from tdev_core.accelerators.sim import aliasing
from tdev_core.internals import relying_on

__all__ = ["install"]


def install() -> None:
    """Have torch choose for tensors on the device as it does for the CPU's."""
    with relying_on(
        "torch._C._select_conv_backend",
        "What torch.compile knows of a convolution's strides on sim may be wrong",
    ):
        module: Any = torch._C
        module._select_conv_backend = _for_hosts(module._select_conv_backend)


def _for_hosts(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def select(*args: Any, **kwargs: Any) -> Any:
        return original(
            *map(_on_host, args), **{name: _on_host(value) for name, value in kwargs.items()}
        )

    return select


def _on_host(value: Any) -> Any:
    """Return the CPU tensor that stands for a tensor on the device; anything else as it is."""
    if not isinstance(value, torch.Tensor) or value.device.type != "sim":
        return value
    mode = getattr(value, "fake_mode", None)
    if mode is None:
        host = aliasing.host_alias(value.detach())
    else:
        with mode:
            host = torch.empty_strided(
                value.size(), value.stride(), dtype=value.dtype, device="cpu"
            )
    return host.requires_grad_(value.requires_grad)
