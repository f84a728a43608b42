"""One step of a recurrent layer, in operators that every tensor has: for transforms, compilers and the tracer.

torch's own decomposition of ``lstm_cell`` and ``gru_cell`` asks for the device, and takes kernels that are CUDA's alone
(``_thnn_fused_lstm_cell``) everywhere but on the CPU.

Source: ``LSTMCell`` and ``GRUCell`` in ``aten/src/ATen/native/RNN.cpp``; gates lie one after the other in the weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import linear

__all__ = ["gru_cell", "lstm_cell"]


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the next hidden and cell state, (batch, hidden) each; gates are input, forget, cell, output."""
    hidden, cell = hx
    gates = linear(hidden, w_hh, b_hh) + linear(input, w_ih, b_ih)
    taken, kept, new, shown = gates.chunk(4, 1)
    cell = kept.sigmoid() * cell + taken.sigmoid() * new.tanh()
    return shown.sigmoid() * cell.tanh(), cell


def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """Return the next hidden state, (batch, hidden); gates are reset, update, new."""
    reset_i, update_i, new_i = linear(input, w_ih, b_ih).chunk(3, 1)
    reset_h, update_h, new_h = linear(hx, w_hh, b_hh).chunk(3, 1)
    new = torch.tanh(new_i + (reset_h + reset_i).sigmoid() * new_h)
    return (hx - new) * (update_h + update_i).sigmoid() + new
