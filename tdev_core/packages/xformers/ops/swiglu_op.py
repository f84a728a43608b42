"""Stand in for ``xformers.ops.swiglu_op``: three linear layers with a gate between them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tdev_core.packages.lacking import attributes_of
from tdev_core.packages.shapes import fitting

__all__ = ["SwiGLU", "swiglu"]

__getattr__ = attributes_of(__name__)


def swiglu(
    x: torch.Tensor,
    w1: torch.Tensor,
    b1: torch.Tensor | None,
    w2: torch.Tensor,
    b2: torch.Tensor | None,
    w3: torch.Tensor,
    b3: torch.Tensor | None,
    *,
    op: object = None,
) -> torch.Tensor:
    """Return ``linear(silu(linear(x, w1, b1)) * linear(x, w2, b2), w3, b3)``, shape (…, out).

    Args:
        x: shape (…, in).
        w1, w2: shape (hidden, in).
        b1, b2: shape (hidden,), or None.
        w3: shape (out, hidden).
        b3: shape (out,), or None.
        op: which of the package's kernels is asked for; torch's own functions compute for each.

    Raises:
        ValueError: shapes that do not fit.
    """
    fitting(
        "xformers.ops.swiglu", ValueError, x=(x, "… in"), w1=(w1, "hidden in"), b1=(b1, "hidden"), w2=(w2, "hidden in"), b2=(b2, "hidden"),
        w3=(w3, "out hidden"), b3=(b3, "out"),
    )  # fmt: skip
    return F.linear(F.silu(F.linear(x, w1, b1)) * F.linear(x, w2, b2), w3, b3)


class SwiGLU(nn.Module):
    """Holds the weights of :func:`swiglu`: ``w12``, the first two in one (or ``w1`` and ``w2``), and ``w3``.

    Args:
        in_features: the input's channels.
        hidden_features: channels of the gate; as many as the input has where it is 0.
        out_features: the output's channels; the input's where it is None.
        bias: whether the linear layers have biases.
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int,
        out_features: int | None = None,
        bias: bool = True,
        *,
        _pack_weights: bool = True,
    ) -> None:
        super().__init__()
        hidden, out = hidden_features or in_features, out_features or in_features
        self.w12: nn.Linear | None = None
        if _pack_weights:
            self.w12 = nn.Linear(in_features, 2 * hidden, bias=bias)
        else:
            self.w1 = nn.Linear(in_features, hidden, bias=bias)
            self.w2 = nn.Linear(in_features, hidden, bias=bias)
        self.w3 = nn.Linear(hidden, out, bias=bias)
        self.in_features, self.hidden_features, self.out_features = in_features, hidden, out
        self.op: object = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return :func:`swiglu` of ``x`` (…, in_features), shape (…, out_features)."""
        b1: torch.Tensor | None
        b2: torch.Tensor | None
        if self.w12 is None:
            w1, w2, b1, b2 = self.w1.weight, self.w2.weight, self.w1.bias, self.w2.bias
        else:
            w1, w2 = self.w12.weight.chunk(2)
            b1, b2 = (None, None) if self.w12.bias is None else self.w12.bias.chunk(2)
        return swiglu(x, w1, b1, w2, b2, self.w3.weight, self.w3.bias, op=self.op)
