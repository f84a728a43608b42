"""Elements between host memory and MLX's arrays."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import to_mx, to_torch
from tdev_core.accelerators.mlx.lazy import mx, np, torch

__all__ = ["download", "from_host", "upload"]


def upload(t: torch.Tensor) -> Any:
    """Copy the CPU tensor to an ``mx.array`` of its shape."""
    runtime.ready()
    mlx = to_mx[t.dtype]
    if t.numel() == 0:
        return mx.zeros(tuple(t.shape), dtype=mlx)
    t = t.contiguous()
    if t.dtype is torch.bfloat16:
        return mx.array(t.view(torch.uint16).numpy()).view(mlx)
    return mx.array(t.numpy())


def from_host(storage: Any, dtype: Any) -> Any:
    """Make a flat array of `dtype` from the bytes of a CPU storage."""
    return upload(torch.empty(0, dtype=dtype).set_(storage))


def download(a: Any, writable: bool = False) -> torch.Tensor:
    """Give `a` as a CPU tensor."""
    if not a.size:
        return torch.empty(a.shape, dtype=to_torch[a.dtype])
    a = mx.contiguous(a)  # flipped arrays have negative strides, which torch cannot hold
    with runtime.lock:
        mx.eval(a)
        if mx.default_device() != mx.Device(mx.cpu, 0):
            return _through_numpy(a)
        try:
            t = torch.from_dlpack(a)
        except ValueError:  # MLX does not export an array that starts inside its buffer
            return _through_numpy(a)
    return t.clone(memory_format=torch.contiguous_format) if writable else t


def _through_numpy(a: Any) -> torch.Tensor:
    # Always a copy. Metal's arrays carry a Metal DLPack device, which this torch may not have.
    dtype = to_torch[a.dtype]
    if a.dtype == mx.bfloat16:
        return torch.from_numpy(np.array(a.view(mx.uint16))).view(dtype)
    return torch.from_numpy(np.array(a))
