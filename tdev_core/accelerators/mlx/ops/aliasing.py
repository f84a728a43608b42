"""Views of the eager device: second tensors over the same storage, whose array is read through them.

torch's own kernels make them: they compute strides for any device and read no data.
"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.lazy import torch, torch_api
from tdev_core.accelerators.mlx.registry import op
from tdev_core.accelerators.mlx.storage import contents

Tensor = Any


@op(
    "as_strided",
    mlx="mx.as_strided",
    note="a view of the storage; the array is re-read through it",
    raw=True,
)
def as_strided(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    return torch_api.kernel("as_strided")(x, size, stride, storage_offset)


@op("view", "_unsafe_view", mlx="mx.reshape", note="a view of the storage", raw=True)
def view(x: Tensor, size: Any) -> Tensor:
    return torch_api.kernel("view")(x, size)


@op("_reshape_alias", mlx="mx.as_strided", note="a view of the storage", raw=True)
def reshape_alias(x: Tensor, size: Any, stride: Any) -> Tensor:
    return as_strided(x, size, stride, x.storage_offset())


@op("unfold", mlx="mx.as_strided", note="a view of the storage", raw=True)
def unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return torch_api.kernel("unfold")(x, dimension, size, step)


@op(
    "view.dtype",
    mlx="mx.view",
    note="a view of the storage, whose array is reinterpreted on reading",
    raw=True,
)
def view_dtype(x: Tensor, dtype: Any) -> Tensor:
    contents.share_dtypes(x, dtype)
    return torch_api.kernel("view", "dtype", "CompositeExplicitAutograd")(x, dtype)


@op("view_as_real", mlx="mx.view", note="a view of the storage", raw=True)
def view_as_real(x: Tensor) -> Tensor:
    contents.share_dtypes(x, torch.float64 if x.dtype is torch.complex128 else torch.float32)
    return torch_api.kernel("view_as_real")(x)


@op("view_as_complex", mlx="mx.view", note="a view of the storage", raw=True)
def view_as_complex(x: Tensor) -> Tensor:
    if x.dtype is torch.float16:
        raise RuntimeError("view_as_complex: complex32 tensors are not supported on device 'mlx'")
    contents.share_dtypes(x, torch.complex128 if x.dtype is torch.float64 else torch.complex64)
    return torch_api.kernel("view_as_complex")(x)


ALONE = {"as_strided": "as_strided", "view": "view", "_unsafe_view": "view", "unfold": "unfold"}
"""View operators that torch's kernel of an operator answers alone."""


def alone(overload: str) -> Any:
    """Find what answers a view operator without any Python in between, torch's own kernel bound to its key, or None."""
    name, _, variant = overload.partition(".")
    if variant != "default" or name not in ALONE:
        return None
    return torch_api.kernel(ALONE[name])
