"""Results stored in the tensors of ``out=`` arguments, which take their shape first, as torch's do."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.lazy import torch
from tdev_core.accelerators.mlx.storage.allocation import contiguous_strides, wrap
from tdev_core.accelerators.mlx.storage.contents import write
from tdev_core.errors import warn

__all__ = ["resize", "store"]


def store(out: torch.Tensor, a: Any) -> None:
    """Write `a` to `out`, giving it the array's shape first (with torch's warning when it held something else)."""
    if out.shape != a.shape:
        if out.numel():
            warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does "
                f"not match the required output shape {list(a.shape)}. Reuse of resized outputs is deprecated.",
                UserWarning,
            )
        resize(out, a)
        return
    write(out, a)


def resize(out: torch.Tensor, a: Any) -> None:
    """Give `out` the shape of `a`, in its own storage if that reaches (as torch does), else in a new one."""
    fresh = wrap(a)
    held, offset = out.untyped_storage(), out.storage_offset()
    needed = offset * out.element_size() + fresh.untyped_storage().nbytes()
    if held.nbytes() >= needed and held.nbytes():
        # torch.fft.fftfreq fills the second half of its result by way of an empty view that starts there.
        shaped = out.as_strided(a.shape, contiguous_strides(a.shape), offset)
        write(shaped, a)
        out.data = shaped
        return
    out.data = fresh
