"""``flex_attention`` where torch has no kernel: training on the CPU and MPS, and other devices.

torch computes the forward pass there and refuses gradients. This is the same arithmetic written in
differentiable operations; like torch's own uncompiled version it holds the whole score matrix.

Source: ``torch.nn.attention.flex_attention`` documentation, and the results of its eager version.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.attention.head_counts import check_heads
from tdev_core.release import torch_release

__all__ = ["flex_attention"]


def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., torch.Tensor] | None = None,
    block_mask: Any = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: Any = None,
) -> Any:
    """Attention with a program's own score and mask functions.

    Args:
        query: shape (B, Hq, L, E); key (B, Hkv, S, E) and value (B, Hkv, S, Ev), where B may be 1.
        score_mod: ``(score, b, h, q_idx, kv_idx) -> score``, on scalars.
        block_mask: what ``create_block_mask`` made.

    Returns:
        The output of shape (B, Hq, L, Ev), and with it what ``return_lse`` or ``return_aux`` ask for.

    Raises:
        ValueError: numbers of heads that do not fit. NotImplementedError: inputs that are not 4-D.
    """
    from torch.nn.attention import flex_attention as flex

    kind = query.device.type
    ours = kind not in ("cpu", "mps", "cuda", "xpu", "hpu")
    if kind in ("cpu", "mps"):
        # What torch has no kernel for there: gradients, and the rows' highest scores.
        ours = any(tensor.requires_grad for tensor in (query, key, value)) or bool(
            return_aux is not None and return_aux.max_scores
        )
    if not ours:
        return flex.flex_attention(
            query,
            key,
            value,
            score_mod,
            block_mask,
            scale,
            enable_gqa,
            return_lse,
            kernel_options,
            return_aux=return_aux,
        )
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. "
            "return_lse is deprecated, please use return_aux=AuxRequest(lse=True) instead."
        )
    scores = _scores(query, key, score_mod, block_mask, scale)
    output, lse = _attend(scores, value, query)
    if return_aux is not None:
        highest = scores.amax(-1) if return_aux.max_scores else None
        return output, flex.AuxOutput(lse=lse if return_aux.lse else None, max_scores=highest)
    return (output, lse) if return_lse else output


def _check(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, block_mask: Any, gqa: bool
) -> None:
    """Refuse what torch refuses, in its order and words (``flex_attention``, "Some basic input validation")."""
    from torch.nn.attention import flex_attention as flex

    private: Any = flex
    if hasattr(private, "_validate_no_nested_tensors"):  # since torch 2.12
        private._validate_no_nested_tensors(query, key, value)
    private._validate_sdpa_input(query, key, value, allow_lowp_kv=True)
    private._validate_embed_dim(query, key, value)
    dimensions = [tensor.dim() for tensor in (query, key, value)]
    if dimensions != [4, 4, 4]:
        raise NotImplementedError(
            f"flex_attention takes query, key and value of 4 dimensions (B, H, L, E), not {dimensions}"
        )
    check_heads(query.size(1), key.size(1), gqa)
    if query.size(0) != key.size(0):
        of_mask = None if block_mask is None else block_mask.kv_num_blocks.size(0)
        if of_mask != query.size(0):
            raise ValueError(
                "Expect query and key/value to have the same batch size, or block_mask and query to have "
                f"the same batch size, but got Bq={query.size(0)}, Bkv={key.size(0)}, B_block_mask={of_mask}."
            )
    if block_mask is not None:
        _check_mask(block_mask, query, key)


def _check_mask(block_mask: Any, query: torch.Tensor, key: torch.Tensor) -> None:
    from torch.nn.attention import flex_attention as flex

    private: Any = flex
    if block_mask.mask_mod is private._sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    whole = (
        private._LARGE_SPARSE_BLOCK_SIZE
    )  # the block of a mask that masks nothing, for any length
    lengths = query.size(-2), key.size(-2)
    made_for = tuple(block_mask.shape[-2:])
    if tuple(block_mask.BLOCK_SIZE) != (whole, whole) and lengths != made_for:
        smaller = lengths[0] > made_for[0] or lengths[1] > made_for[1]
        size = "smaller" if smaller else "larger"
        if torch_release >= (2, 14):
            raise RuntimeError(
                f"block_mask was created for a {size} length than you're using it for: for {made_for[0]} queries and "
                f"{made_for[1]} keys, and there are {lengths[0]} and {lengths[1]}. You likely need to create a new one."
            )
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={lengths[0]} and "
            f"kv_len={lengths[1]}. As the block mask was created for a {size} length "
            "than you're using it for, you likely need to create a new block mask."
        )
    if query.device != block_mask.kv_num_blocks.device:
        raise RuntimeError(
            "Expect q/k/v and block_mask to be on the same device but got "
            f"{query.device} and {block_mask.kv_num_blocks.device}."
        )


def _scores(
    query: torch.Tensor,
    key: torch.Tensor,
    score_mod: Callable[..., torch.Tensor] | None,
    block_mask: Any,
    scale: float | None,
) -> torch.Tensor:
    """Scores of shape (B, Hq, L, S) after both functions; -inf where the mask says no."""
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    precision = torch.float64 if query.dtype == torch.float64 else torch.float32
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    keys = key.to(precision).repeat_interleave(query.size(1) // key.size(1), dim=1)
    scores = query.to(precision) @ keys.transpose(-2, -1) * factor
    indices = [torch.arange(size, device=scores.device) for size in scores.shape]
    # Under this mode `table[index]` works for an index that vmap has taken apart.
    with TransformGetItemToIndex():
        if score_mod is not None:
            scores = _over_indices(score_mod, scored=True)(scores, *indices).to(precision)
        if block_mask is not None:
            mask = _over_indices(block_mask.mask_mod, scored=False)(*indices)
            mask = mask & _blocks(block_mask, scores)
            scores = scores.masked_fill(~mask, -math.inf)
    return scores


def _over_indices(function: Callable[..., Any], *, scored: bool) -> Callable[..., Any]:
    """``function`` of scalars as one of whole (batch, head, query, key) ranges."""
    first = (0,) if scored else ()
    for position in (3, 2, 1, 0):
        dims = first + tuple(0 if other == position else None for other in range(4))
        function = torch.vmap(function, in_dims=dims)
    return function


def _blocks(block_mask: Any, scores: torch.Tensor) -> torch.Tensor:
    """Tell which scores lie in a block that the mask keeps; blocks may be given without a mask function."""
    rows, columns = block_mask.BLOCK_SIZE
    kept: torch.Tensor = block_mask.to_dense().bool()
    kept = kept.repeat_interleave(rows, dim=-2).repeat_interleave(columns, dim=-1)
    return kept[..., : scores.size(-2), : scores.size(-1)].to(scores.device)


def _attend(
    scores: torch.Tensor, value: torch.Tensor, query: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output in the query's dtype, and the logarithm of each row's sum; rows without keys give 0."""
    lse = torch.logsumexp(scores, dim=-1)
    empty = torch.isneginf(lse).unsqueeze(-1)
    weights = torch.softmax(scores.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)
    values = value.to(scores.dtype).repeat_interleave(query.size(1) // value.size(1), dim=1)
    return (weights @ values).to(query.dtype), lse
