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
) -> Any:
    """Return the scan's output, shape (batch, dim, length) and of u's dtype, and the last state where it is asked for.

    The last state has no gradient, as its documentation says; that of :func:`selective_scan_ref` has one.

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

    Raises:
        RuntimeError: shapes that do not fit.
        UnsupportedError: a complex A.
    """
    found = _scanned("selective_scan_fn", u, delta, A, B, C, D, z, delta_bias, delta_softplus)
    return (found[0], found[1].detach()) if return_last_state else found[0]


def selective_scan_ref(
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
) -> Any:
    """:func:`selective_scan_fn` with the gradient of the last state."""
    found = _scanned("selective_scan_ref", u, delta, A, B, C, D, z, delta_bias, delta_softplus)
    return found if return_last_state else found[0]


def _scanned(
    function: str,
    u: torch.Tensor,
    delta: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor | None,
    z: torch.Tensor | None,
    delta_bias: torch.Tensor | None,
    delta_softplus: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the output and the last state; see :func:`selective_scan_fn`."""
    if A.is_complex():
        refuse(f"mamba_ssm.ops.selective_scan_interface.{function}", "has no complex A")
    matrices = {2: "dim N", 3: "batch N length"}
    name = f"mamba_ssm.{function}"
    sizes_of = fitting(
        name, u=(u, "batch dim length"), delta=(delta, "batch dim length"), A=(A, "dim N"),
        B=(B, matrices.get(B.dim(), "batch groups N length")), C=(C, matrices.get(C.dim(), "batch channels N length")),
        D=(D, "dim"), z=(z, "batch dim length"), delta_bias=(delta_bias, "dim"),
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
    state = steps.new_zeros((u.size(0), *A.shape))
    states = []
    for step in range(u.size(-1)):
        state = kept[..., step] * state + added[..., step]
        states.append(state)
    every = torch.stack(states, dim=-1) if states else added
    out = (every * outs).sum(2)
    if D is not None:
        out = out + steps * D.to(precision).unsqueeze(-1)
    if z is not None:
        out = out * F.silu(z.to(precision))
    return out.to(u.dtype), state


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
    checkpoint_lvl: int = 1,
    b_rms_weight: torch.Tensor | None = None,
    c_rms_weight: torch.Tensor | None = None,
    dt_rms_weight: torch.Tensor | None = None,
    b_c_dt_rms_eps: float = 1e-6,
) -> torch.Tensor:
    """Return a Mamba block's output (batch, length, channels) for the input and gate ``xz``, shape (batch, 2 dim, length).

    Args:
        conv1d_weight: shape (dim, 1, width).
        x_proj_weight: shape (rank + 2 N, dim), which makes delta, B and C of the convolved input.
        delta_proj_weight: shape (dim, rank).
        out_proj_weight: shape (channels, dim).
        B, C: as in :func:`selective_scan_fn`, where the input does not make them.
        checkpoint_lvl: 0 or 1, what a kernel keeps for the backward pass; the values are the same.
        b_rms_weight, c_rms_weight: shape (N,); with one, B or C is normalized before the scan.
        dt_rms_weight: shape (dim,); with it, delta is normalized before the scan.
        b_c_dt_rms_eps: what these norms add to the mean of the squares.

    Raises:
        RuntimeError: shapes, dtypes or devices that do not fit.
        ValueError: another ``checkpoint_lvl``.
    """
    if checkpoint_lvl not in (0, 1):
        raise ValueError(
            f"mamba_ssm.mamba_inner_fn: checkpoint_lvl is {checkpoint_lvl}; 0 and 1 are known"
        )
    sizes = fitting(
        "mamba_ssm.mamba_inner_fn", xz=(xz, "batch both length"), conv1d_weight=(conv1d_weight, "dim 1 width"),
        conv1d_bias=(conv1d_bias, "dim"), x_proj_weight=(x_proj_weight, "made dim"),
        delta_proj_weight=(delta_proj_weight, "dim rank"), out_proj_weight=(out_proj_weight, "channels dim"),
        out_proj_bias=(out_proj_bias, "channels"), A=(A if not A.is_complex() else None, "dim N"),
        B_proj_bias=(B_proj_bias, "N"), C_proj_bias=(C_proj_bias, "N"), b_rms_weight=(b_rms_weight, "N"),
        c_rms_weight=(c_rms_weight, "N"), dt_rms_weight=(dt_rms_weight, "dim"),
    )  # fmt: skip
    if sizes["both"] != 2 * sizes["dim"]:
        raise RuntimeError(
            f"mamba_ssm.mamba_inner_fn: xz has shape {tuple(xz.shape)}; twice as many channels as dim = {sizes['dim']} are needed"
        )
    x, z = xz.chunk(2, dim=1)
    convolved = causal_conv1d_fn(x, conv1d_weight.squeeze(1), conv1d_bias, activation="silu")
    assert isinstance(convolved, torch.Tensor)
    rank, states = delta_proj_weight.size(1), A.size(1)
    made = F.linear(convolved.transpose(1, 2), x_proj_weight)  # (batch, length, rank + 2 N)
    delta = F.linear(made[..., :rank], delta_proj_weight).transpose(1, 2)
    if B is None:
        B = _with(made[..., rank : rank + states], B_proj_bias)
    if C is None:
        C = _with(made[..., -states:], C_proj_bias)
    B, C, delta = (
        _normalized(made, weight, b_c_dt_rms_eps)
        for made, weight in ((B, b_rms_weight), (C, c_rms_weight), (delta, dt_rms_weight))
    )
    out = selective_scan_fn(convolved, delta, A, B, C, D, z, delta_bias, delta_softplus)
    return F.linear(out.transpose(1, 2), out_proj_weight, out_proj_bias)


def mamba_inner_ref(
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
) -> torch.Tensor:
    """:func:`mamba_inner_fn` without the norms."""
    return mamba_inner_fn(
        xz, conv1d_weight, conv1d_bias, x_proj_weight, delta_proj_weight, out_proj_weight, out_proj_bias,
        A, B, C, D, delta_bias, B_proj_bias, C_proj_bias, delta_softplus,
    )  # fmt: skip


def _normalized(x: torch.Tensor, weight: torch.Tensor | None, eps: float) -> torch.Tensor:
    """Return the RMS norm of ``x`` (batch, channels, length) over its channels, where there is a weight."""
    if weight is None:
        return x
    wide = x.transpose(-1, -2).to(torch.promote_types(x.dtype, torch.float32))
    out = F.rms_norm(wide, weight.shape, weight.to(wide.dtype), eps)
    return out.to(x.dtype).transpose(-1, -2)


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
