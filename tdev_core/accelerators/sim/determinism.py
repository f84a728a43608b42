"""Refuse what CUDA refuses under ``torch.use_deterministic_algorithms(True)``: operators whose kernels add in any order.

The program asks for it, so ``sim`` refuses them whether it is strict or not, in torch's words. Left out is what
``torch.nn.functional`` computes in another way for CUDA alone when it is asked to (``pad`` by replication, ``max_pool3d``):
it comes here as the same operator, and refusing it would refuse what runs on a GPU.

Source: ``torch.use_deterministic_algorithms``'s documentation, ``alertNotDeterministic`` in aten/src/ATen/native/cuda.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from tdev_core.accelerators.privateuse.schema import Facts

__all__ = ["caller", "check", "configure"]

Given = Mapping[str, Any]


_interpolates_otherwise = "is_cpu" in torch.nn.functional.interpolate.__code__.co_names
"""Whether bilinear ``interpolate`` takes its deterministic way on every device but the CPU, as it does in torch 2.13."""


def _always(given: Given) -> bool:
    return True


_CALLERS: dict[str, tuple[str, Callable[[Given], bool]]] = {
    "avg_pool3d_backward": ("avg_pool3d_backward_cuda", _always),
    "_adaptive_avg_pool2d_backward": ("adaptive_avg_pool2d_backward_cuda", _always),
    "_adaptive_avg_pool3d_backward": ("adaptive_avg_pool3d_backward_cuda", _always),
    "adaptive_max_pool2d_backward": ("adaptive_max_pool2d_backward_cuda", _always),
    "fractional_max_pool2d_backward": ("fractional_max_pool2d_backward_cuda", _always),
    "fractional_max_pool3d_backward": ("fractional_max_pool3d_backward_cuda", _always),
    "upsample_linear1d_backward": ("upsample_linear1d_backward_out_cuda", _always),
    "upsample_bilinear2d_backward": (
        "upsample_bilinear2d_backward_out_cuda",
        lambda given: _interpolates_otherwise,
    ),
    "upsample_bicubic2d_backward": ("upsample_bicubic2d_backward_out_cuda", _always),
    "upsample_trilinear3d_backward": ("upsample_trilinear3d_backward_out_cuda", _always),
    "reflection_pad1d_backward": ("reflection_pad1d_backward_out_cuda", _always),
    "reflection_pad2d_backward": ("reflection_pad2d_backward_cuda", _always),
    "reflection_pad3d_backward": ("reflection_pad3d_backward_out_cuda", _always),
    "nll_loss2d_forward": (
        "nll_loss2d_forward_out_cuda_template",
        lambda given: given["reduction"] != 0,  # 0: nothing is added up
    ),
    "_ctc_loss_backward": ("ctc_loss_backward_gpu", _always),
    "_embedding_bag_backward": (
        "embedding_bag_backward_cuda_max",
        lambda given: given["mode"] == 2,
    ),
    "grid_sampler_2d_backward": ("grid_sampler_2d_backward_cuda", _always),
    "grid_sampler_3d_backward": ("grid_sampler_3d_backward_cuda", _always),
    **dict.fromkeys(
        ("put", "put_"),
        ("put_", lambda given: bool(given.get("accumulate"))),  # else the CPU's refuses as well
    ),
    "scatter_reduce": ("scatter_reduce_cuda_prod_", lambda given: given["reduce"] == "prod"),
    "scatter_reduce_": ("scatter_reduce_cuda_prod_", lambda given: given["reduce"] == "prod"),
    "histc": (
        "_histc_cuda with floating point input",
        lambda given: given["self"].is_floating_point(),
    ),
    "bincount": ("_bincount_cuda", lambda given: given.get("weights") is not None),
    "kthvalue": ("kthvalue CUDA", _always),
    "median": ("median CUDA with indices output", lambda given: "dim" in given),
    "nanmedian": ("median CUDA with indices output", lambda given: "dim" in given),
}
"""By an operator's base name: how torch calls it in its message, and which of its calls it speaks of."""

_asked = True


def configure(asked: bool) -> None:
    """Say whether this device is one that adds in any order. Call before the first operator."""
    global _asked
    _asked = asked


def caller(known: Facts) -> tuple[str, Callable[[Given], bool]] | None:
    """Return what is to be told of an operator, or None where it is deterministic."""
    if not _asked:
        return None
    return _CALLERS.get(known.name.removeprefix("aten::").partition(".")[0])


def check(
    told: tuple[str, Callable[[Given], bool]],
    known: Facts,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Raise, or warn, where one call is not deterministic on CUDA and the program has asked that all be.

    Raises:
        RuntimeError: in torch's words.
    """
    if not torch.are_deterministic_algorithms_enabled():
        return
    from torch._prims_common import alert_not_deterministic

    name, of_this_call = told
    if of_this_call({**dict(zip(known.arguments, args, strict=False)), **kwargs}):
        alert_not_deterministic(name)
