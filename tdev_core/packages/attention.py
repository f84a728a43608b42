"""Attention as flash kernels define it, in differentiable operations of torch.

Tensors are laid out (batch, sequence, heads, channels). Causal masks and windows are aligned to the last query and the last
key, unless the first query's place is told; a query that sees no key has an output of 0. Where torch's own attention means the same, it computes it, so that a device
with a kernel for that uses it; a soft cap and linear biases, which it has no argument for, are computed in float32 here.

Source: the documentation of flash-attn 2.8 and xformers 0.0.35.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

__all__ = ["attend", "hidden", "part", "part_backward"]


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    scale: float | None = None,
    window: tuple[int, int] = (-1, -1),
    first: int | None = None,
    bias: torch.Tensor | None = None,
    softcap: float = 0.0,
    slopes: torch.Tensor | None = None,
    dropout: float = 0.0,
) -> torch.Tensor:
    """Return softmax(query · key) · value of shape (B, Sq, Hq, Dv), in the query's dtype.

    Args:
        query: shape (B, Sq, Hq, D); key (B, Sk, Hk, D) and value (B, Sk, Hk, Dv), Hq a multiple of Hk.
        scale: what scores are multiplied by; 1/sqrt(D) where it is None.
        window: how many keys to the left and the right a query sees; -1 is all.
        first: the key at which the first query stands; Sk - Sq where it is None, so that the last ones stand together.
        bias: shape (B, Hq, Sq, Sk) or one that broadcasts to it; added to the scores.
        softcap: scores become ``softcap * tanh(score / softcap)``; 0 is none.
        slopes: shape (Hq,) or (B, Hq); a score loses its slope times the distance of query and key.
        dropout: the probability with which a weight is dropped.
    """
    queries, keys = query.size(1), key.size(1)
    if keys == 0 or queries == 0:
        return query.new_zeros((*query.shape[:-1], value.size(-1)))
    first = keys - queries if first is None else first
    plain = softcap == 0.0 and slopes is None
    # torch has an option for the causal mask of a square, with which a kernel needs no mask at all.
    triangle = plain and bias is None and queries == keys and window == (-1, 0) and first == 0
    unseen = None if triangle else hidden(queries, keys, window, first, query.device)
    # A row without a key would be 0/0, in the gradients, too: it sees all, and what it sees is taken away.
    empty = None if unseen is None else unseen.all(dim=1, keepdim=True)
    if unseen is not None and empty is not None:
        unseen = unseen & ~empty
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    if plain:
        out = _by_torch(q, k, v, scale, unseen, bias, dropout, triangle)
    else:
        out = _written_out(q, k, v, scale, unseen, dropout, softcap, slopes)
    if empty is not None:
        out = out.masked_fill(empty, 0.0)
    return out.transpose(1, 2)


def hidden(
    queries: int, keys: int, window: tuple[int, int], first: int, device: torch.device
) -> torch.Tensor | None:
    """Tell which keys a query does not see, shape (Sq, Sk); None where it sees all.

    Args:
        window: how many keys to the left and the right a query sees; -1 is all.
        first: the key at which the first query stands.
    """
    left, right = window
    if left < 0 and right < 0:
        return None
    row = torch.arange(queries, device=device).unsqueeze(1) + first
    distance = torch.arange(keys, device=device).unsqueeze(0) - row
    unseen = torch.zeros(queries, keys, dtype=torch.bool, device=device)
    if left >= 0:
        unseen = unseen | (distance < -left)
    if right >= 0:
        unseen = unseen | (distance > right)
    return unseen


def _by_torch(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float | None,
    unseen: torch.Tensor | None,
    bias: torch.Tensor | None,
    dropout: float,
    triangle: bool,
) -> torch.Tensor:
    mask = None if unseen is None else ~unseen
    if bias is not None:
        added = bias.to(query.dtype)
        mask = added if unseen is None else added.masked_fill(unseen, -math.inf)
    return F.scaled_dot_product_attention(
        query,
        key,
        value,
        mask,
        dropout,
        triangle,
        scale=scale,
        enable_gqa=query.size(1) != key.size(1),
    )


def _written_out(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float | None,
    unseen: torch.Tensor | None,
    dropout: float,
    softcap: float,
    slopes: torch.Tensor | None,
) -> torch.Tensor:
    scores, _ = _scores(query, key, scale, unseen, softcap, slopes)
    values = value.to(scores.dtype).repeat_interleave(query.size(1) // key.size(1), dim=1)
    weights = F.dropout(torch.softmax(scores, dim=-1), dropout) if dropout else scores.softmax(-1)
    return (weights @ values).to(query.dtype)


def _scores(
    query: torch.Tensor,
    key: torch.Tensor,
    scale: float | None,
    unseen: torch.Tensor | None,
    softcap: float,
    slopes: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return scores (B, Hq, Sq, Sk) in float32 at least, -inf where unseen; and the hyperbolic tangents of a soft cap."""
    precision = torch.float64 if query.dtype == torch.float64 else torch.float32
    keys = key.to(precision).repeat_interleave(query.size(1) // key.size(1), dim=1)
    factor = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    scores, bent = query.to(precision) @ keys.transpose(-2, -1) * factor, None
    if softcap:
        bent = torch.tanh(scores / softcap)
        scores = bent * softcap
    if slopes is not None:
        scores = scores - slopes.to(precision)[..., None, None] * _distances(scores)
    if unseen is not None:
        scores = scores.masked_fill(unseen, -math.inf)
    return scores, bent


def part(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float | None,
    window: tuple[int, int],
    softcap: float,
    slopes: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what :func:`attend` does, and by what the parts of a longer row of keys are joined.

    That is the logarithm of the sum of a row's exponentials, shape (B, Hq, Sq), float32 at least; inf for a query that sees no key.
    """
    q, k, v = (x.transpose(1, 2) for x in (query, key, value))
    unseen = hidden(query.size(1), key.size(1), window, key.size(1) - query.size(1), query.device)
    scores, _ = _scores(q, k, scale, unseen, softcap, slopes)
    sums = scores.logsumexp(-1)
    sums = sums.masked_fill(sums == -math.inf, math.inf)
    values = v.to(scores.dtype).repeat_interleave(q.size(1) // k.size(1), dim=1)
    out = (scores - sums.unsqueeze(-1)).exp() @ values
    return out.to(query.dtype).transpose(1, 2), sums


def part_backward(
    grad: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    sums: torch.Tensor,
    scale: float | None,
    window: tuple[int, int],
    softcap: float,
    slopes: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the share of a part's keys in the gradients of query, key and value, and the rows' sums of ``grad * out``.

    ``out`` and ``sums`` are those of the whole row of keys, of which ``key`` may be a part.
    """
    q, k, v, g, o = (x.transpose(1, 2) for x in (query, key, value, grad, out))
    unseen = hidden(query.size(1), key.size(1), window, key.size(1) - query.size(1), query.device)
    scores, bent = _scores(q, k, scale, unseen, softcap, slopes)
    share = q.size(1) // k.size(1)
    q, k, v, g, o = (x.to(scores.dtype) for x in (q, k, v, g, o))
    weights = (scores - sums.to(scores.dtype).unsqueeze(-1)).exp()
    delta = (g * o).sum(-1)
    by_score = weights * (
        g @ v.repeat_interleave(share, dim=1).transpose(-2, -1) - delta.unsqueeze(-1)
    )
    if bent is not None:
        by_score = by_score * (1 - bent.square())
    by_score = by_score * (1.0 / math.sqrt(q.size(-1)) if scale is None else scale)
    found = (
        by_score @ k.repeat_interleave(share, dim=1),
        (by_score.transpose(-2, -1) @ q).unflatten(1, (-1, share)).sum(2),
        (weights.transpose(-2, -1) @ g).unflatten(1, (-1, share)).sum(2),
    )
    by_query, by_key, by_value = (x.transpose(1, 2).to(query.dtype) for x in found)
    return by_query, by_key, by_value, delta


def _distances(scores: torch.Tensor) -> torch.Tensor:
    """Return how far each key is from each query, the last ones aligned, shape (Sq, Sk)."""
    queries, keys = scores.shape[-2:]
    row = torch.arange(queries, device=scores.device).unsqueeze(1) + (keys - queries)
    column = torch.arange(keys, device=scores.device).unsqueeze(0)
    return (row - column).abs().to(scores.dtype)
