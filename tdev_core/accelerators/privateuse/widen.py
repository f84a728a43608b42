"""Types that CUDA's kernels take and the CPU's do not: computed in a wider type and cast back.

Which operators: where torch's own operator database lists a dtype for CUDA and not for the CPU (torch
2.13, ``dtypesIfCUDA`` less ``dtypes``). Anything else that the CPU refuses stays refused. Not covered
are the half-precision Fourier transforms, which torch refuses above the kernels.
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._pytree import tree_map

from tdev_core.accelerators.privateuse.schema import facts

__all__ = ["retry"]

_FLOATS = {torch.float16: torch.float32, torch.bfloat16: torch.float32}
_INTEGERS = dict.fromkeys(
    (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64), torch.float64
)
_COMPLEX = {torch.complex32: torch.complex64}

_RULES: dict[str, dict[torch.dtype, torch.dtype]] = {
    **dict.fromkeys(
        "_upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward avg_pool3d avg_pool3d_backward"
        " multi_margin_loss multi_margin_loss_backward multilabel_margin_loss_forward"
        " multilabel_margin_loss_backward rrelu_with_noise rrelu_with_noise_backward".split(),
        _FLOATS,
    ),
    **dict.fromkeys(
        "acos acosh angle asin asinh atan atanh cos cosh div exp lerp log logaddexp pow prod rsqrt"
        " sigmoid sin sinh sqrt sum tan tanh".split(),
        _COMPLEX,
    ),
    "abs": {torch.bool: torch.uint8},
    "abs_": {torch.bool: torch.uint8},
    "trace": {torch.bool: torch.int64, **_COMPLEX},
    "histc": _INTEGERS,
}

_REFUSAL = re.compile(r"not (?:implemented|supported) for|[Uu]nsupported")


def retry(op: OpOverload, args: list[Any], kwargs: dict[str, Any], error: RuntimeError) -> Any:
    """Compute the result of ``op``, which ended with ``error``, in a wider type.

    Raises:
        RuntimeError: ``error``, where this is not one of the cases.
    """
    known = facts(op)
    rules = _RULES.get(known.name.partition("::")[2].partition(".")[0])
    if rules is None or _REFUSAL.search(str(error)) is None:
        raise error
    found = {wide: dtype for dtype, wide in rules.items() if _has(args, kwargs, dtype)}
    if not found:
        raise error
    # A sum of booleans is a number, on CUDA too.
    narrow = {wide: dtype for wide, dtype in found.items() if wide is not torch.int64}

    def up(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in rules:
            return value.to(rules[value.dtype])
        if isinstance(value, torch.dtype):  # `prod(x, 0, dtype=torch.complex32)`
            return rules.get(value, value)
        return value

    def down(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in narrow:
            return value.to(narrow[value.dtype])
        return value

    wide_args, wide_kwargs = tree_map(up, args), tree_map(up, kwargs)
    result = op(*wide_args, **wide_kwargs)
    for name in known.written:
        target, computed = (
            named[name] if name in named else positional[known.arguments.index(name)]
            for positional, named in ((args, kwargs), (wide_args, wide_kwargs))
        )
        if target is not computed:
            target.resize_(computed.shape).copy_(computed)
    return tree_map(down, result)


def _has(args: list[Any], kwargs: dict[str, Any], dtype: torch.dtype) -> bool:
    given = (*args, *kwargs.values())
    return any(x is dtype or isinstance(x, torch.Tensor) and x.dtype is dtype for x in given)
