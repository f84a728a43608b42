"""Stand in for ``flash_attn.flash_attn_interface``: attention over a batch, and over packed sequences.

``deterministic`` changes nothing: gradients are computed the same way each time.
"""

from __future__ import annotations

from itertools import pairwise

import torch

from tdev_core.packages.attention import attend
from tdev_core.packages.lacking import attributes_of, refuse

__all__ = [
    "flash_attn_func",
    "flash_attn_kvpacked_func",
    "flash_attn_qkvpacked_func",
    "flash_attn_varlen_func",
    "flash_attn_varlen_kvpacked_func",
    "flash_attn_varlen_qkvpacked_func",
]

__getattr__ = attributes_of(__name__)


def flash_attn_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> torch.Tensor:
    """Attention of q (B, Sq, Hq, D) to k and v (B, Sk, Hk, D); returns (B, Sq, Hq, D).

    Raises:
        RuntimeError: shapes, dtypes or devices that do not fit.
        UnsupportedError: ``return_attn_probs``.
    """
    _check("flash_attn_func", q, k, v, 4, dropout_p, softcap, return_attn_probs)
    _same("flash_attn_func", "batches", q.size(0), k.size(0))
    _check_slopes("flash_attn_func", alibi_slopes, q.size(0), q.size(2))
    return attend(
        q,
        k,
        v,
        scale=softmax_scale,
        window=_window(window_size, causal),
        softcap=softcap,
        slopes=alibi_slopes,
        dropout=dropout_p,
    )


def flash_attn_qkvpacked_func(
    qkv: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> torch.Tensor:
    """:func:`flash_attn_func` of ``qkv``, shape (B, S, 3, H, D)."""
    q, k, v = _packed("flash_attn_qkvpacked_func", qkv, 5, 3)
    return flash_attn_func(
        q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_kvpacked_func(
    q: torch.Tensor,
    kv: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> torch.Tensor:
    """:func:`flash_attn_func` of ``kv``, shape (B, Sk, 2, Hk, D)."""
    k, v = _packed("flash_attn_kvpacked_func", kv, 5, 2)
    return flash_attn_func(
        q, k, v, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes,
        deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention within each of N packed sequences; returns (total of queries, Hq, D).

    Args:
        q: shape (total of queries, Hq, D); k and v (total of keys, Hk, D), or, with ``block_table``, pages of
            shape (pages, page size, Hk, D).
        cu_seqlens_q: N + 1 positions at which the sequences' queries begin and end, the first 0.
        cu_seqlens_k: the same of keys; with ``block_table``, their differences are the numbers of keys.
        max_seqlen_q, max_seqlen_k: lengths of the longest sequences, which a kernel is tuned by.
        block_table: which pages hold a sequence's keys, shape (N, pages of the longest).

    Raises:
        RuntimeError: shapes, dtypes, devices or positions that do not fit.
        UnsupportedError: ``return_attn_probs``.
    """
    name = "flash_attn_varlen_func"
    _check(name, q, k, v, 3, dropout_p, softcap, return_attn_probs, paged=block_table is not None)
    queries = _bounds(name, "cu_seqlens_q", cu_seqlens_q, q.size(0))
    keys = _bounds(
        name, "cu_seqlens_k", cu_seqlens_k, None if block_table is not None else k.size(0)
    )
    _same(name, "sequences in cu_seqlens_q and cu_seqlens_k", len(queries), len(keys))
    _check_slopes(name, alibi_slopes, len(queries) - 1, q.size(1))
    window = _window(window_size, causal)
    rows = _parts(q, queries)
    if block_table is None:
        keys_of, values_of = _parts(k, keys), _parts(v, keys)
    else:
        keys_of, values_of = (_paged(x, keys, block_table) for x in (k, v))
    per_sequence = alibi_slopes is not None and alibi_slopes.dim() == 2
    outputs = [
        attend(
            rows[index].unsqueeze(0),
            keys_of[index].unsqueeze(0),
            values_of[index].unsqueeze(0),
            scale=softmax_scale,
            window=window,
            softcap=softcap,
            slopes=alibi_slopes[index]
            if per_sequence and alibi_slopes is not None
            else alibi_slopes,
            dropout=dropout_p,
        ).squeeze(0)
        for index in range(len(queries) - 1)
    ]
    if queries[-1] < q.size(0):
        outputs.append(torch.zeros_like(rows[-1]))  # of no sequence
    return torch.cat(outputs) if outputs else torch.zeros_like(q)


def _parts(x: torch.Tensor, bounds: list[int]) -> tuple[torch.Tensor, ...]:
    """Return the rows of each sequence, and what is behind the last; one operation, so that its gradient is one, too."""
    return x.split([*(end - begin for begin, end in pairwise(bounds)), x.size(0) - bounds[-1]])


def _paged(x: torch.Tensor, bounds: list[int], table: torch.Tensor) -> list[torch.Tensor]:
    """Return the rows of each sequence, which lie in the pages (pages, page size, H, D) that the table names."""
    parts = []
    for index, (first, last) in enumerate(pairwise(bounds)):
        pages = table[index, : -(-(last - first) // x.size(1))].long()
        parts.append(x[pages].flatten(0, 1)[: last - first])
    return parts


def flash_attn_varlen_qkvpacked_func(
    qkv: torch.Tensor,
    cu_seqlens: torch.Tensor,
    max_seqlen: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> torch.Tensor:
    """:func:`flash_attn_varlen_func` of ``qkv``, shape (total, 3, H, D)."""
    q, k, v = _packed("flash_attn_varlen_qkvpacked_func", qkv, 4, 3)
    return flash_attn_varlen_func(
        q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, dropout_p, softmax_scale,
        causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs,
    )  # fmt: skip


def flash_attn_varlen_kvpacked_func(
    q: torch.Tensor,
    kv: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> torch.Tensor:
    """:func:`flash_attn_varlen_func` of ``kv``, shape (total of keys, 2, Hk, D)."""
    k, v = _packed("flash_attn_varlen_kvpacked_func", kv, 4, 2)
    return flash_attn_varlen_func(
        q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p,
        softmax_scale, causal, window_size, softcap, alibi_slopes, deterministic, return_attn_probs,
    )  # fmt: skip


def _window(window: tuple[int, int], causal: bool) -> tuple[int, int]:
    left, right = window
    return left, 0 if causal else right


def _check(
    name: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dimensions: int,
    dropout: float,
    softcap: float,
    probs: bool,
    paged: bool = False,
) -> None:
    if probs:
        refuse(
            f"flash_attn.{name}",
            "does not return probabilities (return_attn_probs): those of the kernel are for its own tests, scaled and "
            "laid out as its blocks are",
        )
    for text, tensor, rank in (
        ("q", q, dimensions),
        ("k", k, dimensions + paged),
        ("v", v, dimensions + paged),
    ):
        if tensor.dim() != rank:
            _fail(
                name, f"{text} has shape {tuple(tensor.shape)}, where {rank} dimensions are needed"
            )
    if k.shape != v.shape:
        _fail(name, f"k has shape {tuple(k.shape)} and v {tuple(v.shape)}; they must be the same")
    if q.size(-1) != k.size(-1):
        _fail(name, f"q has {q.size(-1)} channels in a head, k and v have {k.size(-1)}")
    if not k.size(-2) or q.size(-2) % k.size(-2):
        _fail(
            name, f"q has {q.size(-2)} heads, which is no multiple of the {k.size(-2)} of k and v"
        )
    if not q.dtype == k.dtype == v.dtype or not q.is_floating_point():
        _fail(
            name, f"q, k and v are {q.dtype}, {k.dtype} and {v.dtype}; one floating dtype is needed"
        )
    if not q.device == k.device == v.device:
        _fail(
            name, f"q, k and v are on {q.device}, {k.device} and {v.device}; one device is needed"
        )
    if not 0.0 <= dropout < 1.0:
        _fail(name, f"dropout_p is {dropout}; it must be at least 0 and below 1")
    if softcap and dropout:
        _fail(name, "softcap and dropout_p exclude each other")


def _check_slopes(name: str, slopes: torch.Tensor | None, batch: int, heads: int) -> None:
    if slopes is not None and tuple(slopes.shape) not in ((heads,), (batch, heads)):
        _fail(
            name,
            f"alibi_slopes has shape {tuple(slopes.shape)}; ({heads},) or ({batch}, {heads}) is needed",
        )
    if slopes is not None and slopes.dtype != torch.float32:
        _fail(name, f"alibi_slopes is {slopes.dtype}; it must be torch.float32")


def _packed(
    name: str, packed: torch.Tensor, dimensions: int, parts: int
) -> tuple[torch.Tensor, ...]:
    """Return the ``parts`` of a packed tensor, which lie in its last dimension but two."""
    if packed.dim() != dimensions or packed.size(-3) != parts:
        _fail(
            name,
            f"the packed tensor has shape {tuple(packed.shape)}; {dimensions} dimensions are needed, {parts} in the last but two",
        )
    return packed.unbind(-3)


def _same(name: str, what: str, one: int, other: int) -> None:
    if one != other:
        _fail(name, f"numbers of {what} differ: {one} and {other}")


def _bounds(name: str, argument: str, positions: torch.Tensor, total: int | None) -> list[int]:
    """Return the positions as numbers, which begin at 0, never fall and end within ``total``."""
    if positions.dtype != torch.int32 or positions.dim() != 1 or not positions.numel():
        _fail(
            name,
            f"{argument} is {positions.dtype} of shape {tuple(positions.shape)}; int32 of shape (N + 1,) is needed",
        )
    bounds: list[int] = positions.tolist()
    rising = all(a <= b for a, b in pairwise(bounds))
    if bounds[0] != 0 or not rising or total is not None and bounds[-1] > total:
        _fail(
            name,
            f"{argument} is {bounds}; it must begin at 0, never fall, and end within the {total} rows",
        )
    return bounds


def _fail(name: str, why: str) -> None:
    raise RuntimeError(f"flash_attn.{name}: {why}")
