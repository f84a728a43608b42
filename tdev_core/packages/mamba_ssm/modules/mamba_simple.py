"""Stand in for ``mamba_ssm.modules.mamba_simple``: the block, with its parameters' names, so that a checkpoint loads."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from tdev_core.packages.lacking import attributes_of, refuse
from tdev_core.packages.mamba_ssm.ops.selective_scan_interface import mamba_inner_fn
from tdev_core.packages.shapes import fitting

__all__ = ["Mamba"]

__getattr__ = attributes_of(__name__)


class Mamba(nn.Module):
    """A block of a state-space model: (batch, length, d_model) to the same.

    Args:
        d_model: channels of input and output.
        d_state: size of a channel's state.
        d_conv: width of the causal convolution.
        expand: how many times as many channels are inside.
        dt_rank: rank of the projection that makes the steps' sizes; ``"auto"`` is a sixteenth of ``d_model``, rounded up.
        dt_min, dt_max, dt_init, dt_scale, dt_init_floor: how the steps' sizes begin.
        use_fast_path: whether one kernel does all of it; the result is the same here.
        layer_idx: the block's number, for caches.

    Raises:
        UnsupportedError: ``forward`` with ``inference_params``.
    """

    def __init__(
        self,
        d_model: int,
        d_state: int = 16,
        d_conv: int = 4,
        expand: int = 2,
        dt_rank: int | str = "auto",
        dt_min: float = 0.001,
        dt_max: float = 0.1,
        dt_init: str = "random",
        dt_scale: float = 1.0,
        dt_init_floor: float = 1e-4,
        conv_bias: bool = True,
        bias: bool = False,
        use_fast_path: bool = True,
        layer_idx: int | None = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if dt_init not in ("constant", "random"):
            raise NotImplementedError(
                f"mamba_ssm.Mamba: dt_init is {dt_init!r}; 'constant' and 'random' are known"
            )
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        inner = int(expand * d_model)
        rank = int(dt_rank) if dt_rank != "auto" else math.ceil(d_model / 16)
        self.d_model, self.d_state, self.d_conv, self.expand = d_model, d_state, d_conv, expand
        self.d_inner, self.dt_rank = inner, rank
        self.use_fast_path, self.layer_idx = use_fast_path, layer_idx
        self.in_proj = nn.Linear(d_model, inner * 2, bias=bias, **made)
        self.conv1d = nn.Conv1d(
            inner, inner, d_conv, groups=inner, padding=d_conv - 1, bias=conv_bias, **made
        )
        self.activation, self.act = "silu", nn.SiLU()
        self.x_proj = nn.Linear(inner, rank + d_state * 2, bias=False, **made)
        self.dt_proj = nn.Linear(rank, inner, bias=True, **made)
        spread = rank**-0.5 * dt_scale
        with torch.no_grad():
            if dt_init == "constant":
                self.dt_proj.weight.fill_(spread)
            else:
                self.dt_proj.weight.uniform_(-spread, spread)
            low, high = math.log(dt_min), math.log(dt_max)
            sizes = torch.exp(torch.rand(inner, **made) * (high - low) + low).clamp(
                min=dt_init_floor
            )
            self.dt_proj.bias.copy_(
                sizes + torch.log(-torch.expm1(-sizes))
            )  # softplus makes the sizes of it
        rates = torch.arange(1, d_state + 1, dtype=torch.float32, device=device)
        self.A_log = nn.Parameter(rates.log().repeat(inner, 1))
        self.D = nn.Parameter(torch.ones(inner, device=device))
        for parameter in (self.A_log, self.D):
            vars(parameter)["_no_weight_decay"] = True
        vars(self.dt_proj.bias)["_no_reinit"] = True
        self.out_proj = nn.Linear(inner, d_model, bias=bias, **made)

    def forward(self, hidden_states: torch.Tensor, inference_params: Any = None) -> torch.Tensor:
        """Return the block's output for ``hidden_states`` (batch, length, d_model)."""
        if inference_params is not None:
            refuse("mamba_ssm.Mamba", "has no state kept between calls (inference_params)")
        fitting("mamba_ssm.Mamba", hidden_states=(hidden_states, f"batch length {self.d_model}"))
        return mamba_inner_fn(
            self.in_proj(hidden_states).transpose(1, 2), self.conv1d.weight, self.conv1d.bias,
            self.x_proj.weight, self.dt_proj.weight, self.out_proj.weight, self.out_proj.bias,
            -torch.exp(self.A_log.float()), None, None, self.D.float(), self.dt_proj.bias.float(),
            delta_softplus=True,
        )  # fmt: skip
