"""Stand in for ``mamba_ssm.ops.selective_scan_interface``.

The state of each channel follows ``x[t] = exp(delta[t] A) x[t - 1] + delta[t] B[t] u[t]``, and the output is ``C[t] x[t] + D u[t]``,
computed in float32 at least, one step after the other.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tdev_core.packages.causal_conv1d import causal_conv1d_fn
from tdev_core.packages.lacking import attributes_of, refuse
from tdev_core.packages.shapes import fitting

__all__ = ["mamba_inner_fn", "mamba_inner_ref", "selective_scan_fn", "selective_scan_ref"]

__getattr__ = attributes_of(__name__)


def selective_scan_fn(
    u: torch.Tensor,
    delta: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor | None = None,
    z: torch.Tensor | None = None,
    delta_bias: torch.Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
    cu_seqlens: torch.Tensor | None = None,
) -> Any:
    """Return the scan's output, shape (batch, dim, length) and of u's dtype, and the last state where it is asked for.

    Args:
        u: shape (batch, dim, length).
        delta: the steps' sizes, of u's shape.
        A: shape (dim, N).
        B, C: shape (dim, N); or (batch, N, length); or (batch, groups, N, length).
        D: shape (dim,).
        z: a gate of u's shape: the output is multiplied by silu(z).
        delta_bias: shape (dim,), added to ``delta``.
        delta_softplus: whether ``delta`` becomes softplus(delta).
        return_last_state: whether the state after the last step is returned, too, shape (batch, dim, N).
        cu_seqlens: where packed sequences begin and end; the state begins anew at each.

    Raises:
        RuntimeError: shapes that do not fit.
        UnsupportedError: a complex A.
    """
    if A.is_complex():
        refuse("mamba_ssm.ops.selective_scan_interface.selective_scan_fn", "has no complex A")
    matrices = {2: "dim N", 3: "batch N length"}
    name = "mamba_ssm.selective_scan_fn"
    sizes_of = fitting(
        name, u=(u, "batch dim length"), delta=(delta, "batch dim length"), A=(A, "dim N"),
        B=(B, matrices.get(B.dim(), "batch groups N length")), C=(C, matrices.get(C.dim(), "batch channels N length")),
        D=(D, "dim"), z=(z, "batch dim length"), delta_bias=(delta_bias, "dim"), cu_seqlens=(cu_seqlens, "int sequences"),
    )  # fmt: skip
    for groups in ("groups", "channels"):
        if groups in sizes_of and sizes_of["dim"] % max(sizes_of[groups], 1):
            raise RuntimeError(
                f"{name}: {sizes_of['dim']} channels make no {sizes_of[groups]} groups of one size"
            )
    precision = torch.promote_types(u.dtype, torch.float32)
    steps, sizes, rates = (t.to(precision) for t in (u, delta, A))
    if delta_bias is not None:
        sizes = sizes + delta_bias.to(precision).unsqueeze(-1)
    if delta_softplus:
        sizes = F.softplus(sizes)
    ins, outs = (_along(t.to(precision), u) for t in (B, C))  # (batch or 1, dim, N, length or 1)
    kept = torch.exp(sizes.unsqueeze(2) * rates.unsqueeze(-1))  # (batch, dim, N, length)
    added = (sizes * steps).unsqueeze(2) * ins
    starts = set() if cu_seqlens is None else set(cu_seqlens.tolist())
    state = steps.new_zeros((u.size(0), *A.shape))
    states = []
    for step in range(u.size(-1)):
        before = torch.zeros_like(state) if step in starts else state
        state = kept[..., step] * before + added[..., step]
        states.append(state)
    every = torch.stack(states, dim=-1) if states else added
    out = (every * outs).sum(2)
    if D is not None:
        out = out + steps * D.to(precision).unsqueeze(-1)
    if z is not None:
        out = out * F.silu(z.to(precision))
    out = out.to(u.dtype)
    return (out, state) if return_last_state else out


selective_scan_ref = selective_scan_fn


def mamba_inner_fn(
    xz: torch.Tensor,
    conv1d_weight: torch.Tensor,
    conv1d_bias: torch.Tensor | None,
    x_proj_weight: torch.Tensor,
    delta_proj_weight: torch.Tensor,
    out_proj_weight: torch.Tensor,
    out_proj_bias: torch.Tensor | None,
    A: torch.Tensor,
    B: torch.Tensor | None = None,
    C: torch.Tensor | None = None,
    D: torch.Tensor | None = None,
    delta_bias: torch.Tensor | None = None,
    B_proj_bias: torch.Tensor | None = None,
    C_proj_bias: torch.Tensor | None = None,
    delta_softplus: bool = True,
    cu_seqlens: torch.Tensor | None = None,
    seq_idx: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return a Mamba block's output (batch, length, channels) for the input and gate ``xz``, shape (batch, 2 dim, length).

    Args:
        conv1d_weight: shape (dim, 1, width).
        x_proj_weight: shape (rank + 2 N, dim), which makes delta, B and C of the convolved input.
        delta_proj_weight: shape (dim, rank).
        out_proj_weight: shape (channels, dim).
        B, C: as in :func:`selective_scan_fn`, where the input does not make them.
    """
    x, z = xz.chunk(2, dim=1)
    convolved = causal_conv1d_fn(
        x, conv1d_weight.squeeze(1), conv1d_bias, seq_idx, activation="silu"
    )
    assert isinstance(convolved, torch.Tensor)
    rank, states = delta_proj_weight.size(1), A.size(1)
    made = F.linear(convolved.transpose(1, 2), x_proj_weight)  # (batch, length, rank + 2 N)
    delta = F.linear(made[..., :rank], delta_proj_weight).transpose(1, 2)
    if B is None:
        B = _with(made[..., rank : rank + states], B_proj_bias)
    if C is None:
        C = _with(made[..., -states:], C_proj_bias)
    out = selective_scan_fn(
        convolved, delta, A, B, C, D, z, delta_bias, delta_softplus, cu_seqlens=cu_seqlens
    )
    return F.linear(out.transpose(1, 2), out_proj_weight, out_proj_bias)


mamba_inner_ref = mamba_inner_fn


def _with(made: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return what the input makes of B or C, shape (batch, N, length)."""
    return (made if bias is None else made + bias).transpose(1, 2)


def _along(matrix: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Return B or C for each channel and step, shape (batch or 1, dim, N, length or 1)."""
    if matrix.dim() == 2:
        return matrix[None, :, :, None]
    if matrix.dim() == 3:
        return matrix.unsqueeze(1)
    return matrix.repeat_interleave(u.size(1) // matrix.size(1), dim=1)
