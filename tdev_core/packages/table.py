"""Lists the packages that have a stand-in, and what each stands for.

Whoever only asks whether a source names one of them imports this file alone: it needs neither torch nor a backend.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["STAND_INS", "StandIn"]


@dataclass(frozen=True)
class StandIn:
    """What a program names, and how it gets the package itself.

    Attributes:
        install: the name of the distribution.
        like: the release whose documented signatures the stand-in has.
        instead: what does the same in torch, for what the stand-in lacks.
    """

    install: str
    like: str
    instead: str


STAND_INS = {
    "apex": StandIn(
        "apex from https://github.com/NVIDIA/apex",
        "0.1",
        "torch.amp, torch.optim.AdamW and torch.nn's norms and parallel modules",
    ),
    "causal_conv1d": StandIn(
        "causal-conv1d", "1.7.0", "torch.nn.functional.conv1d with padding and groups"
    ),
    "flash_attn": StandIn(
        "flash-attn",
        "2.8.3",
        "torch.nn.functional.scaled_dot_product_attention, or torch.nn.attention.varlen",
    ),
    "pynvml": StandIn("nvidia-ml-py", "13.615.71", "torch.cuda's functions of the same meaning"),
}
"""By the name that is imported. Its module is the one of that name in this room."""
