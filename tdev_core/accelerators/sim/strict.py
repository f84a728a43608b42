"""Refuse what CUDA's kernels refuse by dtype and the CPU's do not, for ``TDEV_SIM_STRICT=1``.

Source: torch's own database of operators (``torch.testing._internal.common_methods_invocations``): what an operator's ``dtypes``
have and its ``dtypesIfCUDA`` have not, by the operator that reaches the dispatcher; of antialiasing, which is not in it,
torch's tests of ``interpolate``. Left out is what depends on the GPU
(bfloat16 before Ampere).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core.accelerators.sim import refusals

__all__ = ["REFUSED", "install"]

_INTEGERS = frozenset({torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64})
_HALVES = frozenset({torch.float16, torch.bfloat16})
_FLOATS = frozenset({torch.float32, torch.float64})
_LONG = frozenset({torch.int64})
_BYTE = frozenset({torch.uint8})
_NAMES = {
    torch.uint8: "Byte", torch.int8: "Char", torch.int16: "Short", torch.int32: "Int", torch.int64: "Long",
    torch.float16: "Half", torch.bfloat16: "BFloat16", torch.float32: "Float", torch.float64: "Double", torch.bool: "Bool",
}  # fmt: skip

REFUSED: dict[str, frozenset[torch.dtype]] = {
    **dict.fromkeys(
        ("mm", "addmm", "addmv", "mv", "dot", "vdot", "bmm", "baddbmm", "addbmm"), _INTEGERS
    ),
    **dict.fromkeys(("max_pool2d_with_indices", "max_pool3d_with_indices"), _INTEGERS),
    **dict.fromkeys(("avg_pool2d", "avg_pool3d", "convolution"), _LONG),
    **dict.fromkeys(
        (
            "upsample_bilinear2d",
            "upsample_bicubic2d",
            "_upsample_bilinear2d_aa",
            "_upsample_bicubic2d_aa",
        ),
        _BYTE,
    ),
    **dict.fromkeys(("igamma", "igammac", "angle", "histc"), _HALVES),
    **dict.fromkeys(("histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts"), _FLOATS),
}
"""The dtypes that each operator, by its base name, is refused on CUDA."""


def install() -> None:
    """Refuse them from now on."""
    refusals.add(_check)


def _check(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    name = (
        op.name().removeprefix("aten::").partition(".")[0].removesuffix("_")
    )  # addmm_ runs addmm's kernel
    refused = REFUSED.get(name)
    if refused is None:
        return
    for dtype in _dtypes((*args, *kwargs.values())):
        if dtype in refused:
            raise NotImplementedError(
                f"\"{name}_cuda\" not implemented for '{_NAMES[dtype]}' (TDEV_SIM_STRICT=1: the CPU has a kernel for it, "
                "CUDA has none)"
            )


def _dtypes(values: Iterable[Any]) -> Iterable[torch.dtype]:
    return (value.dtype for value in values if isinstance(value, torch.Tensor))
