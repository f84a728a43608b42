"""Stand in for ``causal_conv1d.causal_conv1d_interface``: a convolution of each channel with itself that looks back only.

Source: the docstrings and reference functions of causal-conv1d 1.7. Sums are made in float32 at least, as the kernel makes them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tdev_core.packages.lacking import attributes_of, refuse
from tdev_core.packages.shapes import fitting

__all__ = ["causal_conv1d_fn", "causal_conv1d_update"]

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
        seq_idx: shape (B, L); a step sees steps of the same number only, and the output of a negative one is 0.
        initial_states: shape (B, C, W - 1), what was before x, of its first step's number; 0 where it is None.
        return_final_states: whether the last W - 1 inputs are returned, too, shape (B, C, W - 1).
        final_states_out: where those are written to.
        activation: None, ``"silu"`` or ``"swish"``, which is the same.

    Raises:
        RuntimeError: shapes that do not fit.
        NotImplementedError: another activation.
        UnsupportedError: ``return_final_states`` with ``seq_idx``.
    """
    _check("causal_conv1d_fn", activation)
    before = weight.size(-1) - 1
    state = f"B C {before}"
    fitting(
        "causal_conv1d.causal_conv1d_fn", x=(x, "B C L"), weight=(weight, "C W"), bias=(bias, "C"), seq_idx=(seq_idx, "int B L"),
        initial_states=(initial_states, state), final_states_out=(final_states_out, state),
    )  # fmt: skip
    if seq_idx is not None and return_final_states:
        refuse(
            "causal_conv1d.causal_conv1d_fn", "returns no states (return_final_states) with seq_idx"
        )
    if initial_states is None:
        whole = F.pad(x, (before, 0))
    else:
        whole = torch.cat((initial_states.to(x.dtype), x), dim=-1)
    if seq_idx is None:
        sums = _convolved(whole, weight, bias)
    else:
        first = F.pad(seq_idx, (before, 0), value=-1)
        if initial_states is not None:
            first = torch.cat((seq_idx[:, :1].expand(-1, before), seq_idx), dim=-1)
        sums = _convolved_in_sequences(whole, weight, bias, seq_idx, first)
    out = _activated(sums, activation).to(x.dtype)
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
        cache_seqlens: shape (B,), how many inputs each sequence has had; the state is then a ring, in which
            input n is at n modulo N.
        conv_state_indices: which entry is each sequence's, shape (B,); in order where it is None. The output of a
            sequence without one, which is a negative number, is 0.

    Raises:
        RuntimeError: shapes that do not fit.
        NotImplementedError: another activation.
    """
    name = "causal_conv1d.causal_conv1d_update"
    _check("causal_conv1d_update", activation)
    steps = x.unsqueeze(-1) if x.dim() == 2 else x
    fitting(
        name, x=(x, "B C" if x.dim() == 2 else "B C L"), weight=(weight, "C W"), bias=(bias, "C"),
        conv_state=(conv_state, "B C N" if conv_state_indices is None else "entries C N"),
        cache_seqlens=(cache_seqlens, "int B"), conv_state_indices=(conv_state_indices, "int B"),
    )  # fmt: skip
    before, held = weight.size(1) - 1, conv_state.size(-1)
    if held < before:
        raise RuntimeError(f"{name}: conv_state holds {held} inputs; {before} at least are needed")
    entries = conv_state_indices
    if entries is None:
        state = conv_state
    else:
        known = entries >= 0
        entries = entries.long().clamp(min=0)
        state = conv_state[entries]
    if cache_seqlens is None:
        whole = torch.cat((state.to(x.dtype), steps), dim=-1)
        kept = whole[..., whole.size(-1) - held :]
    else:
        seen, kept = _ring(state, steps, cache_seqlens, before)
        whole = torch.cat((seen.to(x.dtype), steps), dim=-1)
    with torch.no_grad():
        if entries is None:
            conv_state.copy_(kept)
        else:
            conv_state[entries[known]] = kept[known].to(conv_state.dtype)
    last = whole[..., whole.size(-1) - before - steps.size(-1) :]
    out = _activated(_convolved(last, weight, bias), activation).to(x.dtype)
    if entries is not None:
        out = out.masked_fill(~known[:, None, None], 0.0)
    return out.squeeze(-1) if x.dim() == 2 else out


def _ring(
    state: torch.Tensor, steps: torch.Tensor, had: torch.Tensor, before: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the last inputs of rings (B, C, N), shape (B, C, before), and the rings with ``steps`` in them."""
    held, channels = state.size(-1), state.size(1)

    def places(first: int, count: int) -> torch.Tensor:
        at = had.long().unsqueeze(-1) + torch.arange(first, first + count, device=had.device)
        return (at % held).unsqueeze(1).expand(-1, channels, -1)

    written = steps[..., max(steps.size(-1) - held, 0) :]  # what is behind would be written over
    where = places(steps.size(-1) - written.size(-1), written.size(-1))
    return state.gather(2, places(-before, before)), state.scatter(
        2, where, written.to(state.dtype)
    )


def _convolved(
    whole: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """Return the sums over windows of ``whole`` (B, C, W - 1 + L), shape (B, C, L), in float32 at least."""
    precision = torch.promote_types(whole.dtype, torch.float32)
    own = None if bias is None else bias.to(precision)
    return F.conv1d(
        whole.to(precision), weight.to(precision).unsqueeze(1), own, groups=weight.size(0)
    )


def _convolved_in_sequences(
    whole: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    numbers: torch.Tensor,
    all_numbers: torch.Tensor,
) -> torch.Tensor:
    """Return the sums over steps of the same number alone; 0 where it is negative.

    Args:
        numbers: each step's sequence, shape (B, L).
        all_numbers: and of what ``whole`` has before them, shape (B, W - 1 + L).
    """
    precision, width = torch.promote_types(whole.dtype, torch.float32), weight.size(1)
    windows = whole.to(precision).unfold(-1, width, 1)
    same = all_numbers.unfold(-1, width, 1) == numbers.unsqueeze(-1)
    sums = (windows * same.unsqueeze(1) * weight.to(precision)[None, :, None, :]).sum(-1)
    if bias is not None:
        sums = sums + bias.to(precision)[:, None]
    return sums.masked_fill((numbers < 0).unsqueeze(1), 0.0)


def _activated(x: torch.Tensor, activation: str | None) -> torch.Tensor:
    return x if activation is None else F.silu(x)


def _check(name: str, activation: str | None) -> None:
    if activation not in (None, "silu", "swish"):
        raise NotImplementedError(
            f"causal_conv1d.{name}: activation is {activation!r}; None, 'silu' and 'swish' are known"
        )
