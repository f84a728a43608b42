"""Stand in for ``flash_attn.flash_attn_interface``: attention over a batch, and over packed sequences.

``deterministic`` changes nothing: gradients are computed the same way each time.

Packages that compute attention in parts, such as ring-flash-attn, take the functions below the documented ones, ``_flash_attn_forward``
and its kin; they are here with the signatures and results of release 2.8.
"""

from __future__ import annotations

from itertools import pairwise

import torch

from tdev_core.packages.attention import attend, part, part_backward
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
    outputs = [
        attend(
            rows[index].unsqueeze(0),
            keys_of[index].unsqueeze(0),
            values_of[index].unsqueeze(0),
            scale=softmax_scale,
            window=window,
            softcap=softcap,
            slopes=_slopes_of(alibi_slopes, index),
            dropout=dropout_p,
        ).squeeze(0)
        for index in range(len(queries) - 1)
    ]
    if queries[-1] < q.size(0):
        outputs.append(torch.zeros_like(rows[-1]))  # of no sequence
    return torch.cat(outputs) if outputs else torch.zeros_like(q)


def _parts(x: torch.Tensor, bounds: list[int]) -> list[torch.Tensor]:
    """Return the rows of each sequence, and what is behind the last; one operation, so that its gradient is one, too."""
    lengths = [end - begin for begin, end in pairwise(bounds)]
    return list(torch.split(x, [*lengths, x.size(0) - bounds[-1]]))


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


def _flash_attn_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: torch.Tensor | None,
    return_softmax: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the output, the logarithms of the rows' sums (B, Hq, Sq), and two that are empty: no weight is dropped."""
    name = "_flash_attn_forward"
    _check_part(name, q, k, v, 4, dropout_p, softcap, return_softmax)
    _same(name, "batches", q.size(0), k.size(0))
    _check_slopes(name, alibi_slopes, q.size(0), q.size(2))
    window = _window((window_size_left, window_size_right), causal)
    with torch.no_grad():
        out, sums = part(q, k, v, softmax_scale, window, softcap, alibi_slopes)
    return out, sums, q.new_empty(0), torch.empty(2, dtype=torch.int64, device=q.device)


def _flash_attn_backward(
    dout: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    softmax_lse: torch.Tensor,
    dq: torch.Tensor | None,
    dk: torch.Tensor | None,
    dv: torch.Tensor | None,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: torch.Tensor | None,
    deterministic: bool,
    rng_state: torch.Tensor | None = None,
) -> torch.Tensor:
    """Write the gradients into ``dq``, ``dk`` and ``dv``; returns the rows' sums of ``dout * out``, shape (B, Hq, Sq)."""
    name = "_flash_attn_backward"
    _check_part(name, q, k, v, 4, dropout_p, softcap)
    _check_slopes(name, alibi_slopes, q.size(0), q.size(2))
    window = _window((window_size_left, window_size_right), causal)
    with torch.no_grad():
        *found, delta = part_backward(
            dout, q, k, v, out, softmax_lse, softmax_scale, window, softcap, alibi_slopes
        )
        for target, gradient in zip((dq, dk, dv), found, strict=True):
            if target is not None:
                target.copy_(gradient)
    return delta


def _flash_attn_varlen_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int = -1,
    window_size_right: int = -1,
    softcap: float = 0.0,
    alibi_slopes: torch.Tensor | None = None,
    return_softmax: bool = False,
    block_table: torch.Tensor | None = None,
    leftpad_k: torch.Tensor | None = None,
    seqused_k: torch.Tensor | None = None,
    zero_tensors: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """:func:`_flash_attn_forward` within each of N packed sequences; the logarithms have the shape (Hq, total of queries)."""
    name = "_flash_attn_varlen_forward"
    if block_table is not None or leftpad_k is not None or seqused_k is not None:
        refuse(
            f"flash_attn.{name}",
            "has no pages and no padding of keys (block_table, leftpad_k, seqused_k)",
        )
    _check_part(name, q, k, v, 3, dropout_p, softcap, return_softmax)
    queries, keys = _sequences(name, q, k, cu_seqlens_q, cu_seqlens_k)
    _check_slopes(name, alibi_slopes, len(queries) - 1, q.size(1))
    window = _window((window_size_left, window_size_right), causal)
    out = torch.zeros_like(q)
    sums = q.new_full(
        (q.size(1), q.size(0)), torch.inf, dtype=torch.promote_types(q.dtype, torch.float32)
    )
    with torch.no_grad():
        for index, (rows, seen) in enumerate(zip(_slices(queries), _slices(keys), strict=True)):
            found = part(
                q[None, rows],
                k[None, seen],
                v[None, seen],
                softmax_scale,
                window,
                softcap,
                _slopes_of(alibi_slopes, index),
            )
            out[rows], sums[:, rows] = found[0][0], found[1][0]
    return out, sums, q.new_empty(0), torch.empty(2, dtype=torch.int64, device=q.device)


def _flash_attn_varlen_backward(
    dout: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    softmax_lse: torch.Tensor,
    dq: torch.Tensor | None,
    dk: torch.Tensor | None,
    dv: torch.Tensor | None,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float,
    softmax_scale: float,
    causal: bool,
    window_size_left: int,
    window_size_right: int,
    softcap: float,
    alibi_slopes: torch.Tensor | None,
    deterministic: bool,
    rng_state: torch.Tensor | None = None,
    zero_tensors: bool = False,
) -> torch.Tensor:
    """:func:`_flash_attn_backward` within each of N packed sequences; the sums have the shape (Hq, total of queries)."""
    name = "_flash_attn_varlen_backward"
    _check_part(name, q, k, v, 3, dropout_p, softcap)
    queries, keys = _sequences(name, q, k, cu_seqlens_q, cu_seqlens_k)
    _check_slopes(name, alibi_slopes, len(queries) - 1, q.size(1))
    window = _window((window_size_left, window_size_right), causal)
    deltas = torch.zeros_like(softmax_lse)
    with torch.no_grad():
        for index, (rows, seen) in enumerate(zip(_slices(queries), _slices(keys), strict=True)):
            *found, delta = part_backward(
                dout[None, rows], q[None, rows], k[None, seen], v[None, seen], out[None, rows], softmax_lse[None, :, rows],
                softmax_scale, window, softcap, _slopes_of(alibi_slopes, index),
            )  # fmt: skip
            deltas[:, rows] = delta[0]
            for target, own, gradient in zip((dq, dk, dv), (rows, seen, seen), found, strict=True):
                if target is not None:
                    target[own] = gradient[0]
    return deltas


def _check_part(
    name: str,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dimensions: int,
    dropout: float,
    softcap: float,
    probs: bool = False,
) -> None:
    if dropout:
        refuse(
            f"flash_attn.{name}",
            "drops no weights (dropout_p): a backward pass of its own would have to know which",
        )
    _check(name, q, k, v, dimensions, dropout, softcap, probs)


def _sequences(
    name: str, q: torch.Tensor, k: torch.Tensor, cu_q: torch.Tensor, cu_k: torch.Tensor
) -> tuple[list[int], list[int]]:
    """Return where the sequences of queries and keys begin and end."""
    queries = _bounds(name, "cu_seqlens_q", cu_q, q.size(0))
    keys = _bounds(name, "cu_seqlens_k", cu_k, k.size(0))
    _same(name, "sequences in cu_seqlens_q and cu_seqlens_k", len(queries), len(keys))
    return queries, keys


def _slices(bounds: list[int]) -> list[slice]:
    return [slice(begin, end) for begin, end in pairwise(bounds)]


def _slopes_of(slopes: torch.Tensor | None, index: int) -> torch.Tensor | None:
    """Return the slopes of one sequence, shape (Hq,)."""
    return slopes[index] if slopes is not None and slopes.dim() == 2 else slopes


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
