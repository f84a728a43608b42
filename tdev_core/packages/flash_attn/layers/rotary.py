"""Stand in for ``flash_attn.layers.rotary``: the rotary embedding applied to heads."""

from __future__ import annotations

from itertools import pairwise
from typing import NoReturn

import torch

from tdev_core.packages.lacking import attributes_of, refuse
from tdev_core.packages.shapes import fitting

__all__ = ["RotaryEmbedding", "apply_rotary_emb", "apply_rotary_emb_func"]

__getattr__ = attributes_of(__name__)


def apply_rotary_emb(
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    interleaved: bool = False,
    inplace: bool = False,
    seqlen_offsets: int | torch.Tensor = 0,
    cu_seqlens: torch.Tensor | None = None,
    max_seqlen: int | None = None,
) -> torch.Tensor:
    """Rotate the first channels of each head by its position, in float32 at least; the others stay.

    Args:
        x: shape (B, S, H, D), or (total, H, D) with ``cu_seqlens``.
        cos, sin: shape (positions, R / 2), R ≤ D the number of channels that are rotated.
        interleaved: whether channels 2i and 2i + 1 are a pair, and not i and i + R / 2.
        inplace: whether ``x`` is written to.
        seqlen_offsets: the position of a sequence's first row: one number, or one for each sequence.
        cu_seqlens: positions in ``x`` at which packed sequences begin and end, shape (B + 1,).
        max_seqlen: the longest one's length, which a kernel is tuned by.

    Raises:
        RuntimeError: shapes that do not fit, or positions beyond those of ``cos``.
    """
    offsets = seqlen_offsets if isinstance(seqlen_offsets, torch.Tensor) else None
    sequences = "B" if cu_seqlens is None else str(cu_seqlens.numel() - 1)
    sizes = fitting(
        "flash_attn.layers.rotary.apply_rotary_emb", x=(x, "B S H D" if cu_seqlens is None else "total H D"),
        cos=(cos, "positions half"), sin=(sin, "positions half"), seqlen_offsets=(offsets, f"int {sequences}"),
        cu_seqlens=(cu_seqlens, "int bounds"),
    )  # fmt: skip
    half = sizes["half"]
    if 2 * half > sizes["D"]:
        _fail(f"cos has {half} angles, which turn {2 * half} channels; x has {sizes['D']}")
    if (
        offsets is None and cu_seqlens is None
    ):  # the same positions in each sequence, which need no table
        first, last = int(seqlen_offsets), int(seqlen_offsets) + x.size(1) - 1
        places: slice | torch.Tensor = slice(first, last + 1)
    else:
        places = _places(x, seqlen_offsets, cu_seqlens)
        first, last = (int(x) for x in places.aminmax()) if places.numel() else (0, -1)
    if first <= last and not 0 <= first <= last < cos.size(0):
        _fail(
            f"position {last if first >= 0 else first} is asked for, cos and sin have {cos.size(0)}"
        )
    precision = torch.promote_types(x.dtype, torch.float32)
    c, s = (part[places].to(precision).unsqueeze(-2) for part in (cos, sin))
    whole = 2 * half == sizes["D"]
    turned = (x if whole else x[..., : 2 * half]).to(precision)
    if interleaved:
        one, two = turned.unflatten(-1, (half, 2)).unbind(-1)
        new = torch.stack((one * c - two * s, one * s + two * c), dim=-1).flatten(-2)
    else:
        one, two = turned.chunk(2, dim=-1)
        new = torch.cat((one * c - two * s, one * s + two * c), dim=-1)
    out = new.to(x.dtype)
    if not whole:
        out = torch.cat((out, x[..., 2 * half :]), dim=-1)
    return x.copy_(out) if inplace else out


apply_rotary_emb_func = apply_rotary_emb


def _places(
    x: torch.Tensor, offsets: int | torch.Tensor, bounds: torch.Tensor | None
) -> torch.Tensor:
    """Return the position of each row, shape (S,), (B, S) or (total,)."""
    if bounds is None:
        row = torch.arange(x.size(1), device=x.device)
        return row + (offsets.unsqueeze(-1) if isinstance(offsets, torch.Tensor) else offsets)
    lengths = [end - start for start, end in pairwise(bounds.tolist())]
    if sum(lengths) != x.size(0):
        _fail(f"cu_seqlens ends at {sum(lengths)}, x has {x.size(0)} rows")
    first = offsets.tolist() if isinstance(offsets, torch.Tensor) else [offsets] * len(lengths)
    parts = [torch.arange(n, device=x.device) + at for n, at in zip(lengths, first, strict=True)]
    return torch.cat(parts) if parts else torch.arange(0, device=x.device)


def _fail(why: str) -> NoReturn:
    raise RuntimeError(f"flash_attn.layers.rotary.apply_rotary_emb: {why}")


class RotaryEmbedding(torch.nn.Module):
    """Rotary embedding of queries and keys, with sines and cosines kept for the longest sequence so far.

    Args:
        dim: how many channels of a head are rotated.
        base: the longest wave's length, by 2π.
        interleaved: whether channels 2i and 2i + 1 are a pair, and not i and i + dim / 2.
        scale_base: must be None: xPos is not answered.
        device: where the waves' frequencies are.

    Raises:
        UnsupportedError: ``scale_base``.
    """

    inv_freq: torch.Tensor

    def __init__(
        self,
        dim: int,
        base: float = 10000.0,
        interleaved: bool = False,
        scale_base: float | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        if scale_base is not None:
            refuse("flash_attn.layers.rotary.RotaryEmbedding", "has no xPos (scale_base)")
        self.dim, self.base, self.interleaved = dim, float(base), interleaved
        waves = torch.arange(0, dim, 2, device=device, dtype=torch.float32) / dim
        self.register_buffer("inv_freq", 1.0 / self.base**waves, persistent=False)
        self._kept: tuple[torch.Tensor, torch.Tensor] | None = None

    def forward(
        self,
        qkv: torch.Tensor,
        kv: torch.Tensor | None = None,
        seqlen_offset: int | torch.Tensor = 0,
        max_seqlen: int | None = None,
        num_heads_q: int | None = None,
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Rotate queries and keys in place; returns ``qkv``, or both tensors with ``kv``.

        Args:
            qkv: shape (B, S, 3, H, D); or (B, S, Hq + 2 Hk, D) with ``num_heads_q``; or queries (B, S, H, D) with ``kv``.
            kv: shape (B, S, 2, Hk, D).
            seqlen_offset: the position of a sequence's first row: one number, or one for each.
            max_seqlen: how many positions there are at least.

        Raises:
            RuntimeError: shapes, dtypes or devices that do not fit, or a leaf that requires a gradient.
        """
        packed = kv is None and qkv.dim() != 4
        fitting(
            "flash_attn.layers.rotary.RotaryEmbedding", qkv=(qkv, "B S 3 H D" if packed else "B S H D"),
            kv=(kv, "B S 2 heads D"),
        )  # fmt: skip
        first = (
            int(seqlen_offset.max()) if isinstance(seqlen_offset, torch.Tensor) else seqlen_offset
        )
        cos, sin = self._waves(max(qkv.size(1) + first, max_seqlen or 0), qkv)

        def rotate(heads: torch.Tensor) -> None:
            turned = apply_rotary_emb(
                heads.flatten(2, -2), cos, sin, self.interleaved, seqlen_offsets=seqlen_offset
            )
            heads.copy_(turned.view(heads.shape))

        if kv is not None:
            rotate(qkv)
            rotate(kv[:, :, 0])
            return qkv, kv
        if packed:
            rotate(qkv[:, :, :2])
            return qkv
        if num_heads_q is None or (qkv.size(2) - num_heads_q) % 2:
            _fail(
                f"qkv has shape {tuple(qkv.shape)}; num_heads_q is needed, and as many keys as values"
            )
        rotate(qkv[:, :, : num_heads_q + (qkv.size(2) - num_heads_q) // 2])
        return qkv

    def _waves(self, positions: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cosines and sines of as many positions at least, shape (positions, dim / 2) each."""
        if self._kept is None or not _serves(self._kept[0], positions, like):
            with torch.inference_mode(False):  # what is kept may be trained with later
                steps = torch.arange(positions, device=like.device, dtype=torch.float32)
                angles = torch.outer(steps, self.inv_freq.to(like.device))
                self._kept = angles.cos().to(like.dtype), angles.sin().to(like.dtype)
        return self._kept


def _serves(kept: torch.Tensor, positions: int, like: torch.Tensor) -> bool:
    """Tell whether ``kept`` has as many positions and is of the same kind as ``like``."""
    return kept.size(0) >= positions and (kept.device, kept.dtype) == (like.device, like.dtype)
