"""LSTM and GRU cells as torch's generic recurrent layers call them. Gates are stored in torch's order."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.activation import floating, wide
from tdev_core.accelerators.mlx.registry import op

Array = Any


def _sum(a: Array, b: Array, *biases: Array | None) -> Array:
    total = wide(a) + wide(b)
    for bias in biases:
        if bias is not None:
            total = total + wide(bias)
    return total


@op("_thnn_fused_lstm_cell", mlx="mx.sigmoid, mx.tanh")
def lstm_cell(
    input_gates: Array,
    hidden_gates: Array,
    cx: Array,
    input_bias: Array | None = None,
    hidden_bias: Array | None = None,
) -> tuple[Array, Array, Array]:
    dtype = floating(input_gates, hidden_gates, cx)
    i, f, g, o = mx.split(_sum(input_gates, hidden_gates, input_bias, hidden_bias), 4, axis=1)
    i, f, g, o = mx.sigmoid(i), mx.sigmoid(f), mx.tanh(g), mx.sigmoid(o)
    cy = f * wide(cx) + i * g
    hy = o * mx.tanh(cy)
    return hy.astype(dtype), cy.astype(dtype), mx.concatenate([i, f, g, o], axis=1).astype(dtype)


@op("_thnn_fused_lstm_cell_backward_impl", mlx="mx.multiply, mx.tanh")
def lstm_cell_backward(
    grad_hy: Array | None,
    grad_cy: Array | None,
    cx: Array,
    cy: Array,
    workspace: Array,
    has_bias: bool,
) -> tuple[Any, Any, Any]:
    dtype = workspace.dtype
    i, f, g, o = mx.split(wide(workspace), 4, axis=1)
    t = mx.tanh(wide(cy))
    dh = mx.zeros_like(t) if grad_hy is None else wide(grad_hy)
    dc = dh * o * (1 - t * t)
    if grad_cy is not None:
        dc = dc + wide(grad_cy)
    gates = mx.concatenate(
        [
            dc * g * i * (1 - i),
            dc * wide(cx) * f * (1 - f),
            dc * i * (1 - g * g),
            dh * t * o * (1 - o),
        ],
        axis=1,
    )
    bias = sums.total(gates, axis=0).astype(dtype) if has_bias else None
    return gates.astype(dtype), (dc * f).astype(dtype), bias


@op("_thnn_fused_gru_cell", mlx="mx.sigmoid, mx.tanh")
def gru_cell(
    input_gates: Array,
    hidden_gates: Array,
    hx: Array,
    input_bias: Array | None = None,
    hidden_bias: Array | None = None,
) -> tuple[Array, Array]:
    dtype = floating(input_gates, hidden_gates, hx)
    a, b = wide(input_gates), wide(hidden_gates)
    if input_bias is not None and hidden_bias is not None:
        a, b = a + wide(input_bias), b + wide(hidden_bias)
    ir, iz, in_ = mx.split(a, 3, axis=1)
    hr, hz, hn = mx.split(b, 3, axis=1)
    r, z = mx.sigmoid(ir + hr), mx.sigmoid(iz + hz)
    n = mx.tanh(in_ + r * hn)
    h = wide(hx)
    hy = n + z * (h - n)
    return hy.astype(dtype), mx.concatenate(
        [r, z, n, mx.broadcast_to(h, n.shape), hn], axis=1
    ).astype(dtype)


@op("_thnn_fused_gru_cell_backward", mlx="mx.multiply")
def gru_cell_backward(
    grad_hy: Array, workspace: Array, has_bias: bool
) -> tuple[Any, Any, Any, Any, Any]:
    dtype = workspace.dtype
    r, z, n, h, hn = mx.split(wide(workspace), 5, axis=1)
    g = wide(grad_hy)
    dz = g * (h - n) * z * (1 - z)
    dn = g * (1 - z) * (1 - n * n)
    dr = dn * hn * r * (1 - r)
    gi = mx.concatenate([dr, dz, dn], axis=1).astype(dtype)
    gh = mx.concatenate([dr, dz, dn * r], axis=1).astype(dtype)
    if not has_bias:
        return gi, gh, (g * z).astype(dtype), None, None
    return gi, gh, (g * z).astype(dtype), sums.total(gi, axis=0), sums.total(gh, axis=0)
