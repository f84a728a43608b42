"""Stand in for ``apex.normalization.fused_layer_norm``: torch's own norms, with apex's defaults.

``memory_efficient`` changes nothing of the values: it is about what a kernel keeps for the backward pass.

Source: apex/normalization/fused_layer_norm.py of the repository NVIDIA/apex, read in November 2026.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tdev_core.packages.lacking import LackingParameter, attributes_of, words
from tdev_core.packages.shapes import fitting

__all__ = [
    "FusedLayerNorm",
    "FusedRMSNorm",
    "MixedFusedLayerNorm",
    "MixedFusedRMSNorm",
    "fused_layer_norm",
    "fused_layer_norm_affine",
    "fused_rms_norm",
    "fused_rms_norm_affine",
    "mixed_dtype_fused_layer_norm_affine",
    "mixed_dtype_fused_rms_norm_affine",
]

__getattr__ = attributes_of(__name__)

Shape = int | Sequence[int]


class FusedLayerNorm(torch.nn.LayerNorm):
    """:class:`torch.nn.LayerNorm` with weight and bias, or with neither."""

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__(_sizes(normalized_shape), eps, elementwise_affine)


class FusedRMSNorm(torch.nn.RMSNorm):
    """:class:`torch.nn.RMSNorm` with an ``eps`` of 1e-5 whatever the dtype."""

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__(_sizes(normalized_shape), eps, elementwise_affine)


class MixedFusedLayerNorm(FusedLayerNorm):
    """:class:`FusedLayerNorm` of weights in another dtype than the input's; the output has the weights' dtype."""

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float = 1e-5,
        *,
        memory_efficient: bool = False,
        **kwargs: Any,
    ) -> None:
        _check_mixed("MixedFusedLayerNorm", kwargs)
        super().__init__(normalized_shape, eps)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalize in the weights' dtype, float32 as a rule."""
        return mixed_dtype_fused_layer_norm_affine(
            input, self.weight, self.bias, self.normalized_shape, float(self.eps or 0.0)
        )


class MixedFusedRMSNorm(FusedRMSNorm):
    """:class:`FusedRMSNorm` of weights in another dtype than the input's; the output has the weights' dtype."""

    def __init__(
        self,
        normalized_shape: Shape,
        eps: float = 1e-5,
        *,
        memory_efficient: bool = False,
        **kwargs: Any,
    ) -> None:
        _check_mixed("MixedFusedRMSNorm", kwargs)
        super().__init__(normalized_shape, eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize in the weights' dtype, float32 as a rule."""
        return mixed_dtype_fused_rms_norm_affine(
            x, self.weight, self.normalized_shape, float(self.eps or 0.0)
        )


def fused_layer_norm_affine(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> torch.Tensor:
    """:func:`torch.nn.functional.layer_norm`."""
    _check("fused_layer_norm_affine", normalized_shape, input, weight=weight, bias=bias)
    return F.layer_norm(input, _sizes(normalized_shape), weight, bias, eps)


def fused_layer_norm(
    input: torch.Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> torch.Tensor:
    """:func:`torch.nn.functional.layer_norm` without weight and bias."""
    _check("fused_layer_norm", normalized_shape, input)
    return F.layer_norm(input, _sizes(normalized_shape), eps=eps)


def fused_rms_norm_affine(
    input: torch.Tensor,
    weight: torch.Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> torch.Tensor:
    """:func:`torch.nn.functional.rms_norm`."""
    _check("fused_rms_norm_affine", normalized_shape, input, weight=weight)
    return F.rms_norm(input, _sizes(normalized_shape), weight, eps)


def fused_rms_norm(
    input: torch.Tensor, normalized_shape: Shape, eps: float = 1e-6, memory_efficient: bool = False
) -> torch.Tensor:
    """:func:`torch.nn.functional.rms_norm` without weight."""
    _check("fused_rms_norm", normalized_shape, input)
    return F.rms_norm(input, _sizes(normalized_shape), eps=eps)


def mixed_dtype_fused_layer_norm_affine(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> torch.Tensor:
    """:func:`fused_layer_norm_affine` in the dtype of ``weight``."""
    _check("mixed_dtype_fused_layer_norm_affine", normalized_shape, input, weight=weight, bias=bias)
    return F.layer_norm(input.to(weight.dtype), _sizes(normalized_shape), weight, bias, eps)


def mixed_dtype_fused_rms_norm_affine(
    input: torch.Tensor,
    weight: torch.Tensor,
    normalized_shape: Shape,
    eps: float = 1e-6,
    memory_efficient: bool = False,
) -> torch.Tensor:
    """:func:`fused_rms_norm_affine` in the dtype of ``weight``."""
    _check("mixed_dtype_fused_rms_norm_affine", normalized_shape, input, weight=weight)
    return F.rms_norm(input.to(weight.dtype), _sizes(normalized_shape), weight, eps)


def _check_mixed(name: str, options: dict[str, Any]) -> None:
    """Take ``elementwise_affine=True``, which programs hand on to each of the norms."""
    known = dict(options)
    affine = known.pop("elementwise_affine", True)
    if known:
        raise LackingParameter(
            words(f"apex.normalization.{name}", f"has no parameter {', '.join(sorted(known))}")
        )
    if not affine:
        raise RuntimeError(
            f"apex.normalization.{name} is a norm with weights: elementwise_affine=False has none; use {name.removeprefix('Mixed')}"
        )


def _sizes(shape: Shape) -> list[int]:
    return [shape] if isinstance(shape, int) else list(shape)


def _check(function: str, shape: Shape, input: torch.Tensor, **parameters: torch.Tensor) -> None:
    sizes = " ".join(map(str, _sizes(shape)))
    known = {name: (tensor, sizes) for name, tensor in parameters.items()}
    fitting(f"apex.normalization.fused_layer_norm.{function}", input=(input, f"… {sizes}"), **known)
