"""Functions of the stand-ins, forward and backward, against the plain definition in torch that a program would write itself.

Both sides run by turns in one process, on one thread, in processor time; each turn's values are compared first.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F

from benchmarks import children
from benchmarks.rows import Row, ratio_of_medians, spread

_TURNS, _WARM_UP = 60, 5
_BATCH, _LENGTH, _HEADS, _CHANNELS = 4, 256, 8, 64
_WIDTH = _HEADS * _CHANNELS

Function = Callable[..., torch.Tensor]


def measure() -> list[Row]:
    seconds = children.run_module(
        "benchmarks.bench_packages", TDEV_BACKEND="cpu", OMP_NUM_THREADS="1"
    )
    return [
        Row(
            f"{name}, stand-in / plain torch",
            ratio_of_medians(ours, plain),
            "x",
            None,
            f"{1e3 * statistics.median(ours):.2f} ms and {1e3 * statistics.median(plain):.2f} ms, middle half of the ratio "
            f"{spread([a / b for a, b in zip(ours, plain, strict=True)])}; {_TURNS} times each, by turns",
        )
        for name, (ours, plain) in seconds.items()
    ]


def _cases() -> dict[str, tuple[Function, Function, list[torch.Tensor]]]:
    """Return each function, its plain definition, and what both are given."""
    from tdev_core.packages import causal_conv1d
    from tdev_core.packages.apex.normalization import fused_layer_norm as apex_norms
    from tdev_core.packages.flash_attn import flash_attn_func, flash_attn_varlen_func
    from tdev_core.packages.flash_attn.layers.rotary import apply_rotary_emb
    from tdev_core.packages.flash_attn.losses.cross_entropy import CrossEntropyLoss
    from tdev_core.packages.flash_attn.ops.rms_norm import dropout_add_rms_norm
    from tdev_core.packages.xformers import ops as xformers

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape)

    heads = [drawn(_BATCH, _LENGTH, _HEADS, _CHANNELS) for _ in range(3)]
    rows = [x.flatten(0, 1) for x in heads]
    bounds = torch.arange(0, _BATCH * _LENGTH + 1, _LENGTH, dtype=torch.int32)
    angles = torch.outer(torch.arange(_LENGTH).float(), torch.rand(_CHANNELS // 2))
    cos, sin = angles.cos(), angles.sin()
    hidden = drawn(_BATCH, _LENGTH, _WIDTH)
    targets = torch.randint(1000, (_BATCH * _LENGTH,))
    loss = CrossEntropyLoss()
    unseen = torch.ones(_LENGTH, _LENGTH, dtype=torch.bool).triu(1)

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    def capped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        scores = 30 * torch.tanh(q @ k.transpose(-2, -1) / _CHANNELS**0.5 / 30)
        return (scores.masked_fill(unseen, -torch.inf).softmax(-1) @ v).transpose(1, 2)

    def packed(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        parts = [attention(*(x[None] for x in three)) for three in zip(*(x.split(_LENGTH) for x in (q, k, v)), strict=True)]  # fmt: skip
        return torch.cat(parts, dim=1)[0]

    def turned(x: torch.Tensor) -> torch.Tensor:
        one, two = x.chunk(2, dim=-1)
        c, s = cos[:, None], sin[:, None]
        return torch.cat((one * c - two * s, one * s + two * c), dim=-1)

    def convolved(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        before = weight.size(1) - 1
        return F.silu(F.conv1d(F.pad(x, (before, 0)), weight[:, None], groups=weight.size(0)))

    return {
        "flash_attn_func, causal": (lambda q, k, v: flash_attn_func(q, k, v, causal=True), attention, heads),
        "flash_attn_func, soft cap": (lambda q, k, v: flash_attn_func(q, k, v, causal=True, softcap=30.0), capped, heads),
        "flash_attn_varlen_func": (
            lambda q, k, v: flash_attn_varlen_func(q, k, v, bounds, bounds, _LENGTH, _LENGTH, causal=True), packed, rows
        ),
        "apply_rotary_emb": (lambda x: apply_rotary_emb(x, cos, sin), turned, heads[:1]),
        "dropout_add_rms_norm": (
            lambda x, r, w: dropout_add_rms_norm(x, r, w, None, 0.0, 1e-5),
            lambda x, r, w: F.rms_norm(x + r, (_WIDTH,), w, 1e-5),
            [hidden, drawn(*hidden.shape), torch.ones(_WIDTH)],
        ),
        "losses.CrossEntropyLoss": (
            lambda x: loss(x, targets), lambda x: F.cross_entropy(x, targets), [drawn(len(targets), 1000)]
        ),
        "causal_conv1d_fn": (
            lambda x, w: cast(torch.Tensor, causal_conv1d.causal_conv1d_fn(x, w, activation="silu")),  # no states
            convolved,
            [drawn(_BATCH, _WIDTH, _LENGTH), drawn(_WIDTH, 4)],
        ),
        "memory_efficient_attention": (
            lambda q, k, v: xformers.memory_efficient_attention(q, k, v, xformers.LowerTriangularMask()), attention, heads
        ),
        "fused_layer_norm_affine": (
            lambda x, w, b: apex_norms.fused_layer_norm_affine(x, w, b, _WIDTH, 1e-5),
            lambda x, w, b: F.layer_norm(x, (_WIDTH,), w, b, 1e-5),
            [hidden, torch.ones(_WIDTH), torch.zeros(_WIDTH)],
        ),
    }  # fmt: skip


def _alternate(ours: Function, plain: Function, given: list[torch.Tensor]) -> tuple[Any, Any]:
    """Return the seconds of both, forward and backward.

    Raises:
        AssertionError: their outputs or gradients differ by more than float32 rounds.
    """
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(_WARM_UP + _TURNS):
        results: dict[int, list[torch.Tensor]] = {}
        for who in (turn % 2, 1 - turn % 2):
            own = [x.detach().clone().requires_grad_() for x in given]
            begun = time.process_time()
            out = (ours, plain)[who](*own)
            out.backward(torch.ones_like(out))
            if turn >= _WARM_UP:
                seconds[who].append(time.process_time() - begun)
            results[who] = [out.detach(), *(x.grad for x in own if x.grad is not None)]
        if not turn:
            torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-4)
    return seconds


def main() -> None:
    """Print the seconds of every function and its definition."""
    torch.manual_seed(0)
    print(json.dumps({name: _alternate(*case) for name, case in _cases().items()}))


if __name__ == "__main__":
    main()
