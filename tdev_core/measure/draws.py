"""Gives a run the random numbers that another has drawn, on whatever device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from tdev_core.measure.tensors import tensors

__all__ = ["drawn", "given_again", "in_parts", "only_draws"]

_DRAWS = frozenset(
    "rand rand_like randn randn_like randint randint_like randperm normal bernoulli multinomial poisson binomial "
    "uniform_ normal_ random_ bernoulli_ exponential_ geometric_ log_normal_ cauchy_ dropout_mask".split()
)
_SET = "torch.nn.init."
_FUSED = frozenset({"native_dropout", "_fused_dropout"})
"""They return what is left, and the mask."""
_DROPOUTS = frozenset(f"torch.{name}" for name in ("dropout", "dropout_", "nn.functional.dropout"))


def only_draws(function: str) -> bool:
    """Tell whether nothing decides over a function's result but its sizes and the generator."""
    return function.startswith(_SET) or (
        function.startswith("torch.") and function.rpartition(".")[2] in _DRAWS
    )


def in_parts(function: str) -> Callable[..., Any] | None:
    """Return what does the same as a function with dropout inside, with the draw as an operator of its own.

    Devices have kernels that draw and compute at once, whose draw nobody can take or give.
    """
    if function in _DROPOUTS:
        return _dropout
    if function == "torch.nn.functional.scaled_dot_product_attention":
        return _attention
    return None


def _dropout(
    input: torch.Tensor,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    train: bool | None = None,
) -> torch.Tensor:
    if not (training if train is None else train) or p == 0:
        return input
    mask = torch.empty_like(input, requires_grad=False).bernoulli_(1 - p)
    if p < 1:
        mask.div_(1 - p)
    return input.mul_(mask) if inplace else input * mask


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    more = {"scale": scale, "enable_gqa": enable_gqa}
    if not dropout_p:
        return functional.scaled_dot_product_attention(
            query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    shape = (*query.shape[:-1], key.shape[-2])
    mask = torch.empty(shape, device=query.device).bernoulli_(1 - dropout_p).bool()
    found = torch.ops.aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, mask, **more
    )
    attention: torch.Tensor = found[0]
    return attention


def drawn(operator: str, result: Any) -> list[torch.Tensor]:
    """Return what an operator (or a function that only draws) has drawn, of what it has returned."""
    found = tensors(result)
    return found[1:] if operator in _FUSED else found


def given_again(operator: str, args: Any, result: Any, theirs: list[torch.Tensor]) -> bool:
    """Put into ``result`` what another run has drawn, by an operator of its own; False where it does not fit."""
    mine = drawn(operator, result)
    if [one.shape for one in mine] != [one.shape for one in theirs]:
        return False
    for one, other in zip(mine, theirs, strict=True):
        one.copy_(other)
    if operator in _FUSED:
        kept = args[1] if operator == "_fused_dropout" else 1 - args[1]
        result[0].copy_(args[0] * mine[0] / kept if kept else torch.zeros_like(args[0]))
    return True
