"""Tells of the dtypes for which CUDA has a kernel and the CPU's build of torch has none.

They are not computed in a wider type here, as they are on ``sim`` and ``mlx`` (``privateuse/widen.py``): a kernel of ours at
the CPU's dispatch key, or a wrapper around ``Tensor.abs``, ``exp`` and ``sum``, would lengthen every call of every
library in the process for the few that fail. torch's error names kernel and dtype; what is missing in it is that
CUDA would have answered, and what to write instead.

The list is torch's own operator database, ``dtypesIfCUDA`` less ``dtypes`` (2.13), by the kernel that the error names.
"""

from __future__ import annotations

import re

__all__ = ["WIDER", "advice"]

_NARROW = {"Half": "float32", "BFloat16": "float32"}
_COMPLEX = {"ComplexHalf": "complex64"}
_INTEGERS = dict.fromkeys(("Byte", "Char", "Short", "Int", "Long"), "float64")

WIDER: dict[str, dict[str, str]] = {
    "abs_cpu": {"Bool": "uint8"},
    "avg_pool3d_out_frame": _NARROW,
    "avg_pool3d_backward_out_frame": _NARROW,
    "compute_index_ranges_weights": _NARROW,
    "histogram_cpu": _INTEGERS,
    "lerp_kernel_scalar": _COMPLEX,
    "lerp_kernel_tensor": _COMPLEX,
    "multi_margin_loss_cpu_kernel": _NARROW,
    "multilabel_margin_loss_forward_out_frame": _NARROW,
    "pow": _COMPLEX,
    "prod_out_cpu": _COMPLEX,
    "rrelu_with_noise_out_cpu": {"Half": "float32"},
    "sum_cpu": _COMPLEX,
    "trace": {"Bool": "int64", **_COMPLEX},
    **{
        f"{operator}{suffix}_cpu": _COMPLEX
        for suffix, operators in (
            ("", "acosh angle asinh atanh cosh div logaddexp rsqrt sigmoid sinh"),
            ("_vml", "acos asin atan cos exp log sin sqrt tan tanh"),
        )
        for operator in operators.split()
    },
}
"""The kernels by the name that torch's error gives them: refused dtype, and one in which the result is the same."""

_KERNEL = re.compile(r"\"(\w+)\" not implemented for '(\w+)'")
_TRANSFORM = re.compile(r"Unsupported dtype Half|MKL FFT doesn't support tensors of type: Half")
_NANSUM = "nansum on CPU does not support complex inputs"


def advice(error: BaseException | None) -> str:
    """Return what to do about an error by which the CPU refuses what CUDA computes; nothing for any other."""
    if not isinstance(error, RuntimeError):
        return ""
    text = str(error)
    found = _KERNEL.search(text)
    if found is not None:
        wide = WIDER.get(found[1], {}).get(found[2], "")
        by_itself = "TDEV_BACKEND=sim does so by itself"
        return _said(f"{found[1]} of {found[2]}", wide, by_itself) if wide else ""
    if _TRANSFORM.search(text):
        return _said("Fourier transforms in half precision", "float32 (complex64)")
    if _NANSUM in text:
        return "CUDA sums complex numbers without NaN, the CPU does not: torch.where(x.isnan(), 0, x).sum()"
    return ""


def _said(what: str, wide: str, also: str = "") -> str:
    more = f"; {also}" if also else ""
    return (
        f"CUDA has a kernel for {what}, the CPU has none: compute it in {wide} and cast back{more}"
    )
