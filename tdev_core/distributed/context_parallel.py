"""Context parallelism off CUDA: attention over a sequence whose pieces lie on the ranks of a mesh.

torch has the ranks hand their keys and values round in a ring, and each adds what it attends to. What it calls for a
piece are CUDA's fused kernels, which no other device has. Here a piece is computed by definition, in float32, with the
logarithm of the weights' sum that torch adds the pieces by. It holds ``queries x keys`` of a rank's own pieces in memory.

Source: ``_templated_ring_attention`` in ``torch/distributed/tensor/experimental/_context_parallel/_attention.py``, private to
torch; the formulas: FlashAttention-2 (Dao, 2023), section 2.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from tdev_core.backend import Backend, current
from tdev_core.errors import UnsupportedError
from tdev_core.import_hooks import when_imported
from tdev_core.internals import relying_on

__all__ = ["install"]

_MODULE = "torch.distributed.tensor.experimental._context_parallel._attention"
_WITHOUT = "context_parallel knows CUDA's attention kernels only"
_Templates = tuple[Callable[..., Any], Callable[..., Any]]  # torch's ring, forward and backward
_SEQUENCE = 2  # batch, heads, sequence, features; torch's own is fixed, too


@functools.cache
def install() -> None:
    """Have ``context_parallel`` attend our way on meshes of this host's device, once a program imports it."""
    when_imported((_MODULE,), _replace)


def _replace(module: Any) -> None:
    with relying_on(_MODULE, _WITHOUT):
        ring = module._templated_ring_attention, module._templated_ring_attention_backward
        replaced, plan = module._replaced_functions, module._ContextParallel
        module._distribute_function = _for_a_block(ring, replaced, module._distribute_function)
        plan._apply = _for_a_module(ring, plan._apply)


def _is_ours(mesh: Any) -> bool:
    return current() is not Backend.CUDA and mesh.device_type == current().value


def _for_a_block(
    ring: _Templates, replaced: dict[Any, Any], plain: Callable[..., None]
) -> Callable[..., None]:
    """Return what ``context_parallel`` puts in the place of a function with, for as long as its block runs."""

    @functools.wraps(plain)
    def distribute(fn: Any, fn_module: Any, device_mesh: Any, *hooks: Any) -> None:
        ours = _is_ours(device_mesh) and fn_module is functional
        if not ours or fn.__name__ != "scaled_dot_product_attention":
            plain(fn, fn_module, device_mesh, *hooks)
        elif fn not in replaced:
            attend = _attending(ring, device_mesh)
            setattr(fn_module, fn.__name__, attend)
            replaced[attend] = (fn.__name__, fn)

    return distribute


def _for_a_module(ring: _Templates, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return the plan of a module that calls ``scaled_dot_product_attention``: it does so in a ring."""

    @functools.wraps(plain)
    def _apply(self: Any, attention: torch.nn.Module, mesh: Any) -> Any:
        if self.attention_type is not self.AttentionType.SDPA or not _is_ours(mesh):
            return plain(self, attention, mesh)
        before: list[Any] = []

        def enter(*_: Any) -> None:
            before.append(functional.scaled_dot_product_attention)
            functional.scaled_dot_product_attention = _attending(ring, mesh)

        def leave(*_: Any) -> None:
            functional.scaled_dot_product_attention = before.pop()

        attention.register_forward_pre_hook(enter)
        attention.register_forward_hook(leave, always_call=True)
        return attention

    return _apply


def _attending(ring: _Templates, mesh: Any) -> Callable[..., torch.Tensor]:
    @functools.wraps(functional.scaled_dot_product_attention)
    def scaled_dot_product_attention(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        if attn_mask is not None or dropout_p > 0.0:
            what = "a mask" if attn_mask is not None else "dropout"
            raise UnsupportedError(
                f"context_parallel does not attend with {what} on '{mesh.device_type}'. Instead: is_causal=True "
                "and dropout after the attention.",
                "TDEV105",
            )
        if enable_gqa:
            key, value = (x.repeat_interleave(query.size(1) // x.size(1), 1) for x in (key, value))
        scale = query.size(-1) ** -0.5 if scale is None else scale
        attend: Any = _Ring.apply  # torch gives it no types
        attended: torch.Tensor = attend(query, key, value, ring, mesh, is_causal, scale)
        return attended

    return scaled_dot_product_attention


class _Ring(torch.autograd.Function):
    """Attention of a rank's queries to the keys of all ranks; its arguments are this rank's pieces."""

    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        ring: _Templates,
        mesh: Any,
        is_causal: bool,
        scale: float,
    ) -> torch.Tensor:
        forward, ctx.backward = ring
        group = mesh.get_group()
        ctx.ring = group, is_causal, scale
        out: torch.Tensor
        out, weights = forward(
            group, _SEQUENCE, _attend, query, key, value, is_causal=is_causal, scale=scale
        )
        ctx.save_for_backward(query, key, value, out, weights)
        return out.to(query.dtype)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        group, is_causal, scale = ctx.ring
        query, key, value, out, weights = ctx.saved_tensors
        grads = ctx.backward(
            group, _SEQUENCE, _attend_backward, grad_outputs[0], "grad_out",
            query, key, value, out, weights, is_causal, scale=scale,
        )  # fmt: skip
        return *(g.to(x.dtype) for g, x in zip(grads, (query, key, value), strict=True)), *[
            None
        ] * 4


def _scores(query: torch.Tensor, key: torch.Tensor, is_causal: bool, scale: float) -> torch.Tensor:
    scores = query.float() @ key.float().mT * scale
    if is_causal:
        earlier = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~earlier, -math.inf)
    return scores


def _attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, is_causal: bool, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what queries attend to of these keys, and the logarithm of the sum of their weights."""
    scores = _scores(query, key, is_causal, scale)
    weights = scores.logsumexp(-1)
    out = (scores - weights.unsqueeze(-1)).exp() @ value.float()
    return out.to(query.dtype), weights


def _attend_backward(
    *,
    grad_out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    is_causal: bool,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of queries, keys and values; ``out`` and ``logsumexp`` are those of all keys."""
    grad = grad_out.float()
    shares = (_scores(query, key, is_causal, scale) - logsumexp.unsqueeze(-1)).exp()
    meant = (grad * out.float()).sum(-1, keepdim=True)
    of_scores = shares * (grad @ value.float().mT - meant) * scale
    return of_scores @ key.float(), of_scores.mT @ query.float(), shares.mT @ grad
