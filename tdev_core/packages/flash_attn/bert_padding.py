"""Stand in for ``flash_attn.bert_padding``: rows of a padded batch to packed ones and back."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tdev_core.packages.lacking import attributes_of
from tdev_core.packages.shapes import fitting

__all__ = ["index_first_axis", "index_put_first_axis", "pad_input", "unpad_input"]

__getattr__ = attributes_of(__name__)


def index_first_axis(input: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Return the rows ``indices`` of ``input`` (rows, …, C), in their order."""
    if input.dim() < 2:
        raise RuntimeError(
            f"flash_attn.bert_padding.index_first_axis: input has shape {tuple(input.shape)}; two dimensions at least are needed"
        )
    fitting(
        "flash_attn.bert_padding.index_first_axis",
        input=(input, _rows("rows", input)),
        indices=(indices, "int total"),
    )
    return input[indices]


def index_put_first_axis(
    values: torch.Tensor, indices: torch.Tensor, first_axis_dim: int
) -> torch.Tensor:
    """Return ``first_axis_dim`` rows: ``values`` at ``indices``, and 0 elsewhere."""
    fitting(
        "flash_attn.bert_padding.index_put_first_axis",
        values=(values, _rows("total", values)),
        indices=(indices, "int total"),
    )
    rows = values.new_zeros((first_axis_dim, *values.shape[1:]))
    return rows.index_put((indices,), values)


def unpad_input(
    hidden_states: torch.Tensor,
    attention_mask: torch.Tensor,
    unused_mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int, torch.Tensor]:
    """Pack the rows of a batch that count.

    Args:
        hidden_states: shape (B, S, …).
        attention_mask: shape (B, S), true or 1 where a row counts.
        unused_mask: shape (B, S), where a row is kept and does not count.

    Returns:
        The rows, shape (total, …); their places in (B · S); the int32 positions at which the sequences begin and end,
        shape (B + 1,); the longest one's length; how many rows count in each sequence, int32 of shape (B,).
    """
    name = "flash_attn.bert_padding.unpad_input"
    fitting(
        name, hidden_states=(hidden_states, _rows("B S", hidden_states)), attention_mask=(attention_mask, "any B S"),
        unused_mask=(unused_mask, "any B S"),
    )  # fmt: skip
    kept = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = kept.sum(dim=-1, dtype=torch.int32)
    used = attention_mask.sum(dim=-1, dtype=torch.int32)
    indices = kept.flatten().nonzero(as_tuple=False).flatten()
    positions = F.pad(torch.cumsum(lengths, dim=0, dtype=torch.int32), (1, 0))
    if int(positions[-1]) != indices.numel():
        raise RuntimeError(f"{name}: the mask has other numbers than 0 and 1")
    rows = index_first_axis(hidden_states.flatten(0, 1), indices)
    return rows, indices, positions, int(lengths.max()), used


def pad_input(
    hidden_states: torch.Tensor, indices: torch.Tensor, batch: int, seqlen: int
) -> torch.Tensor:
    """Return packed rows at their places in a batch, shape (batch, seqlen, …); 0 elsewhere."""
    rows = index_put_first_axis(hidden_states, indices, batch * seqlen)
    return rows.view(batch, seqlen, *rows.shape[1:])


def _rows(leading: str, x: torch.Tensor) -> str:
    """Return the shape ``leading`` with as many sizes behind as ``x`` has; what is in the rows is any."""
    behind = x.dim() - len(leading.split())
    return " ".join(["any", leading, *(f"d{n}" for n in range(behind))])
