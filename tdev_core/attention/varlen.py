"""``torch.nn.attention.varlen`` without flash kernels: attention over packed sequences.

Each sequence of the batch is cut out of the packed tensors and attended to by itself, in
differentiable operations.

Source: ``torch.nn.attention.varlen`` documentation; window and causal masks are aligned to the last
query and key of a sequence, as in FlashAttention 2.1 and later.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from tdev_core.attention.head_counts import check_heads

__all__ = ["varlen_attn", "varlen_attn_out"]


def varlen_attn(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    cu_seq_q: torch.Tensor,
    cu_seq_k: torch.Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: Any = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    num_splits: int | None = None,
) -> Any:
    """Attention within each of N packed sequences.

    Args:
        query: shape (Tq, Hq, D); key and value (Tk, Hkv, D), or pages of shape (pages, page size,
            Hkv, D) with ``block_table``.
        cu_seq_q: N + 1 positions at which the sequences' queries begin and end; ``cu_seq_k`` of keys.
        window_size: how many keys to the left and right a query sees; -1 is all.
        seqused_k: how many keys of each sequence count. block_table: each sequence's pages.
        max_q, max_k, num_splits: tune the CUDA kernel and are not needed here.

    Returns:
        The output of shape (Tq, Hq, D); with ``return_aux.lse`` also the logarithm of each row's sum,
        shape (Hq, Tq), as the kernel has it.

    Raises:
        ValueError: numbers of heads or window sizes that do not fit, or pages without ``seqused_k``.
    """
    _check(query, key, window_size, enable_gqa, seqused_k, block_table, cu_seq_k)
    outputs, sums = [], []
    bounds = cu_seq_q.tolist()
    for index, (start, end) in enumerate(zip(bounds, bounds[1:], strict=False)):
        keys = _of_sequence(key, index, cu_seq_k, seqused_k, block_table)
        values = _of_sequence(value, index, cu_seq_k, seqused_k, block_table)
        output, lse = _attend(query[start:end], keys, values, scale, window_size)
        outputs.append(output)
        sums.append(lse)
    result = torch.cat(outputs) if outputs else torch.empty_like(query)
    if return_aux is not None and return_aux.lse:
        return result, torch.cat(sums, dim=1)
    return result


def varlen_attn_out(
    out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    cu_seq_q: torch.Tensor,
    cu_seq_k: torch.Tensor | None,
    max_q: int,
    max_k: int,
    **options: Any,
) -> Any:
    """:func:`varlen_attn` into ``out``, which is returned in the output's place; no gradients."""
    with torch.no_grad():
        found = varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, **options)
        if isinstance(found, tuple):
            return out.copy_(found[0]), found[1]
        return out.copy_(found)


def _check(
    query: torch.Tensor,
    key: torch.Tensor,
    window: tuple[int, int],
    gqa: bool,
    used: torch.Tensor | None,
    pages: torch.Tensor | None,
    bounds: torch.Tensor | None,
) -> None:
    check_heads(query.size(1), key.size(-2), gqa)
    if len(window) != 2:
        raise ValueError(f"window_size must have length 2, got {len(window)}")
    if pages is not None and used is None:
        raise ValueError("block_table needs seqused_k, which says how much of the pages is valid")
    if pages is None and bounds is None:
        raise ValueError("cu_seq_k is needed where keys are packed; only block_table does without")


def _of_sequence(
    packed: torch.Tensor,
    index: int,
    bounds: torch.Tensor | None,
    used: torch.Tensor | None,
    pages: torch.Tensor | None,
) -> torch.Tensor:
    """Keys or values of one sequence, shape (S, Hkv, D)."""
    if pages is not None:
        assert used is not None
        own = packed[pages[index].long().clamp(min=0)].flatten(0, 1)
    else:
        assert bounds is not None
        own = packed[int(bounds[index]) : int(bounds[index + 1])]
    return own if used is None else own[: int(used[index])]


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float | None,
    window: tuple[int, int],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output (L, Hq, D) and row sums (Hq, L) of one sequence; rows that see no key give 0."""
    precision = torch.float64 if query.dtype == torch.float64 else torch.float32
    share = query.size(1) // key.size(1)
    queries = query.to(precision).transpose(0, 1)
    keys = key.to(precision).transpose(0, 1).repeat_interleave(share, dim=0)
    values = value.to(precision).transpose(0, 1).repeat_interleave(share, dim=0)
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = queries @ keys.transpose(-2, -1) * factor
    hidden = _hidden(scores.size(-2), scores.size(-1), window, scores.device)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    empty = torch.isneginf(lse).unsqueeze(-1)
    weights = torch.softmax(scores.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)
    return (weights @ values).transpose(0, 1).to(query.dtype), lse


def _hidden(
    queries: int, keys: int, window: tuple[int, int], device: torch.device
) -> torch.Tensor | None:
    """Tell which keys a query does not see; None where it sees all."""
    left, right = window
    if left < 0 and right < 0:
        return None
    row = torch.arange(queries, device=device).unsqueeze(1) + (keys - queries)
    column = torch.arange(keys, device=device).unsqueeze(0)
    hidden = torch.zeros(queries, keys, dtype=torch.bool, device=device)
    if left >= 0:
        hidden = hidden | (column < row - left)
    if right >= 0:
        hidden = hidden | (column > row + right)
    return hidden
