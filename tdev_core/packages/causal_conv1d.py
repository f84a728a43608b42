"""Stand in for ``causal_conv1d``: a convolution of each channel with itself that looks back only.

Source: the documentation of causal-conv1d 1.7. Sums are made in float32 at least, as the kernel makes them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tdev_core.packages.lacking import attributes_of, refuse, version_of
from tdev_core.packages.shapes import fitting

__all__ = ["causal_conv1d_fn", "causal_conv1d_update"]

__version__ = version_of("causal_conv1d")
__getattr__ = attributes_of(__name__)


def causal_conv1d_fn(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    seq_idx: torch.Tensor | None = None,
    initial_states: torch.Tensor | None = None,
    return_final_states: bool = False,
    final_states_out: torch.Tensor | None = None,
    activation: str | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Convolve x (B, C, L) with weight (C, W); returns (B, C, L), and the last inputs where they are asked for.

    Args:
        seq_idx: shape (B, L); a step sees steps of the same number only.
        initial_states: shape (B, C, W - 1), what was before x; 0 where it is None.
        return_final_states: whether the last W - 1 inputs are returned, too, shape (B, C, W - 1).
        final_states_out: where those are written to.
        activation: None, ``"silu"`` or ``"swish"``, which is the same.

    Raises:
        RuntimeError: shapes that do not fit.
        NotImplementedError: another activation.
    """
    _check("causal_conv1d_fn", activation)
    before = weight.size(-1) - 1
    state = f"B C {before}"
    fitting(
        "causal_conv1d.causal_conv1d_fn", x=(x, "B C L"), weight=(weight, "C W"), bias=(bias, "C"), seq_idx=(seq_idx, "int B L"),
        initial_states=(initial_states, state), final_states_out=(final_states_out, state),
    )  # fmt: skip
    if seq_idx is not None and (initial_states is not None or return_final_states):
        refuse("causal_conv1d.causal_conv1d_fn", "takes seq_idx or states, not both")
    if seq_idx is not None and seq_idx.numel() and int(seq_idx.min()) < 0:
        refuse("causal_conv1d.causal_conv1d_fn", "has no padding (negative seq_idx)")
    if initial_states is None:
        whole = F.pad(x, (before, 0))
    else:
        whole = torch.cat((initial_states.to(x.dtype), x), dim=-1)
    out = _activated(_convolved(whole, weight, bias, seq_idx), activation).to(x.dtype)
    if not return_final_states:
        return out
    final = whole[..., whole.size(-1) - before :]
    return out, final.clone() if final_states_out is None else final_states_out.copy_(final)


def causal_conv1d_update(
    x: torch.Tensor,
    conv_state: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str | None = None,
    cache_seqlens: torch.Tensor | None = None,
    conv_state_indices: torch.Tensor | None = None,
) -> torch.Tensor:
    """Go on by the steps x (B, C) or (B, C, L); returns their outputs, and writes ``conv_state``.

    Args:
        conv_state: shape (entries, C, N), the last N ≥ W - 1 inputs, which x is appended to.
        conv_state_indices: which entry is each sequence's, shape (B,); in order where it is None.

    Raises:
        RuntimeError: shapes that do not fit.
        UnsupportedError: ``cache_seqlens``, with which the state is a ring.
    """
    name = "causal_conv1d.causal_conv1d_update"
    _check("causal_conv1d_update", activation)
    if cache_seqlens is not None:
        refuse("causal_conv1d.causal_conv1d_update", "has no ring buffer (cache_seqlens)")
    steps = x.unsqueeze(-1) if x.dim() == 2 else x
    fitting(
        name, x=(x, "B C" if x.dim() == 2 else "B C L"), weight=(weight, "C W"), bias=(bias, "C"),
        conv_state=(conv_state, "B C N" if conv_state_indices is None else "entries C N"),
        conv_state_indices=(conv_state_indices, "int B"),
    )  # fmt: skip
    before, held = weight.size(1) - 1, conv_state.size(-1)
    if held < before:
        raise RuntimeError(f"{name}: conv_state holds {held} inputs; {before} at least are needed")
    state = conv_state if conv_state_indices is None else conv_state[conv_state_indices.long()]
    whole = torch.cat((state.to(x.dtype), steps), dim=-1)
    with torch.no_grad():
        kept = whole[..., whole.size(-1) - held :].to(conv_state.dtype)
        if conv_state_indices is None:
            conv_state.copy_(kept)
        else:
            conv_state[conv_state_indices.long()] = kept
    seen = whole[..., whole.size(-1) - before - steps.size(-1) :]
    out = _activated(_convolved(seen, weight, bias, None), activation).to(x.dtype)
    return out.squeeze(-1) if x.dim() == 2 else out


def _convolved(
    whole: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    numbers: torch.Tensor | None,
) -> torch.Tensor:
    """Return the sums over windows of ``whole`` (B, C, W - 1 + L), shape (B, C, L), in float32 at least."""
    precision = torch.promote_types(whole.dtype, torch.float32)
    own = None if bias is None else bias.to(precision)
    if numbers is None:
        return F.conv1d(
            whole.to(precision), weight.to(precision).unsqueeze(1), own, groups=weight.size(0)
        )
    width = weight.size(1)
    windows = whole.to(precision).unfold(-1, width, 1)
    steps = F.pad(numbers, (width - 1, 0), value=-1).unfold(-1, width, 1)
    windows = windows * (steps == numbers.unsqueeze(-1)).unsqueeze(1)
    sums = (windows * weight.to(precision)[None, :, None, :]).sum(-1)
    return sums if own is None else sums + own[:, None]


def _activated(x: torch.Tensor, activation: str | None) -> torch.Tensor:
    return x if activation is None else F.silu(x)


def _check(name: str, activation: str | None) -> None:
    if activation not in (None, "silu", "swish"):
        raise NotImplementedError(
            f"causal_conv1d.{name}: activation is {activation!r}; None, 'silu' and 'swish' are known"
        )
