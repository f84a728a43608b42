"""Has TorchScript's traces name the convolutions of a Python device, and run on it.

torch's tracer writes nothing down for ``aten::convolution``: it relies on torch's own kernel of it, which calls
``aten::_convolution``, and records that. A device with a kernel of its own for ``aten::convolution`` never gets
there, so that the result would come from nowhere in the graph. The graph's ``aten::_convolution``, made here or on
another device, asks for ``convolution_overrideable`` where torch does not know the device.

Source: ``DONT_RECORD_TRACE`` in ``tools/autograd/gen_trace_type.py``; ``at::convolution`` and ``at::_convolution`` in
``aten/src/ATen/native/Convolution.cpp``. The other names of that list are composites of what is recorded.
"""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api

__all__ = ["install"]


def install() -> None:
    """Answer ``aten::convolution`` for the tracer, and what the tracer makes of it for the device."""
    torch_api.implement("aten::convolution", _record, "Tracer")
    torch_api.implement("aten::_convolution", _run)


def _record(*args: Any) -> torch.Tensor:
    """Call ``aten::_convolution``, with the flags that torch's kernel hands on."""
    cudnn = torch.backends.cudnn
    deterministic = cudnn.deterministic or torch.are_deterministic_algorithms_enabled()
    flags = (cudnn.benchmark, deterministic, cudnn.enabled, cudnn.allow_tf32)
    result: torch.Tensor = torch.ops.aten._convolution.default(*args, *flags)
    return result


def _run(*args: Any) -> torch.Tensor:
    """Convolve; the last four arguments are flags of cuDNN, which is not there."""
    result: torch.Tensor = torch.ops.aten.convolution.default(*args[:-4])
    return result
