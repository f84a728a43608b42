"""The stand-in for causal_conv1d: sums over what came before, written out in float64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tdev_core.errors import UnsupportedError
from tdev_core.packages.causal_conv1d import causal_conv1d_fn, causal_conv1d_update


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def defined(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    numbers: torch.Tensor | None = None,
) -> torch.Tensor:
    """One number at a time; what was before the first step is 0."""
    width = weight.size(1)
    out = torch.zeros_like(x)
    for b, c, t in torch.cartesian_prod(*map(torch.arange, x.shape)).tolist():
        for w in range(width):
            at = t - (width - 1) + w
            if at >= 0 and (numbers is None or numbers[b, at] == numbers[b, t]):
                out[b, c, t] += weight[c, w] * x[b, c, at]
        out[b, c, t] += 0 if bias is None else bias[c]
    return out


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("activation", [None, "silu", "swish"])
def test_values_and_gradients(width: int, activation: str | None) -> None:
    x, weight, bias = made(2, 3, 5), made(3, width), made(3)
    numbers = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 2, 2, 3]], dtype=torch.int32)
    for own in (None, bias):
        for packed in (None, numbers):
            meant = defined(x, weight, own, packed)
            found = causal_conv1d_fn(x, weight, own, packed, activation=activation)
            torch.testing.assert_close(found, F.silu(meant) if activation else meant)
    short = causal_conv1d_fn(
        x.bfloat16(), weight.bfloat16(), bias.bfloat16(), activation=activation
    )
    meant = defined(x.bfloat16().double(), weight.bfloat16().double(), bias.bfloat16().double())
    torch.testing.assert_close(short, (F.silu(meant) if activation else meant).bfloat16())
    inputs = [t.requires_grad_() for t in (x, weight, bias)]
    assert torch.autograd.gradcheck(
        lambda *t: causal_conv1d_fn(*t, numbers, activation=activation), inputs, fast_mode=True
    )


@pytest.mark.parametrize("held", [3, 5])
def test_steps_go_on_where_the_whole_went(held: int) -> None:
    x, weight, bias = made(2, 3, 7), made(3, 4), made(3)
    meant = defined(x, weight, bias)
    first, state = causal_conv1d_fn(x[..., :3], weight, bias, return_final_states=True)
    rest = causal_conv1d_fn(x[..., 3:], weight, bias, initial_states=state)
    torch.testing.assert_close(torch.cat((first, rest), -1), meant)
    written = torch.empty_like(state)
    _, same = causal_conv1d_fn(
        x[..., :3], weight, bias, return_final_states=True, final_states_out=written
    )
    assert same is written and torch.equal(written, state)
    cache = torch.zeros(4, 3, held, dtype=torch.float64)
    cache[[3, 1], :, held - 3 :] = state
    entries = torch.tensor([3, 1], dtype=torch.int32)
    one = causal_conv1d_update(x[..., 3], cache, weight, bias, conv_state_indices=entries)
    more = causal_conv1d_update(x[..., 4:], cache, weight, bias, conv_state_indices=entries)
    torch.testing.assert_close(torch.cat((first, one.unsqueeze(-1), more), -1), meant)
    torch.testing.assert_close(cache[[3, 1], :, held - 3 :], x[..., 4:])
    assert not cache[[0, 2]].any()
    alone = torch.zeros(2, 3, held, dtype=torch.float64)
    stepped = [causal_conv1d_update(x[..., t], alone, weight, bias) for t in range(7)]
    torch.testing.assert_close(torch.stack(stepped, -1), meant)


def test_what_does_not_fit_or_is_lacking_is_said() -> None:
    x, weight = made(2, 3, 5), made(3, 4)
    with pytest.raises(NotImplementedError, match="causal_conv1d_fn: activation is 'relu'"):
        causal_conv1d_fn(x, weight, activation="relu")
    with pytest.raises(RuntimeError, match=r"weight has shape \(2, 4\); \(C, W\) is needed, C = 3"):
        causal_conv1d_fn(x, made(2, 4))
    with pytest.raises(RuntimeError, match=r"bias has shape \(2,\)"):
        causal_conv1d_fn(x, weight, made(2))
    with pytest.raises(RuntimeError, match="initial_states has shape"):
        causal_conv1d_fn(x, weight, initial_states=made(2, 3, 4))
    with pytest.raises(RuntimeError, match="conv_state holds 2 inputs; 3 at least"):
        causal_conv1d_update(x[..., 0], made(2, 3, 2), weight)
    numbers = torch.zeros(2, 5, dtype=torch.int32)
    with pytest.raises(UnsupportedError, match="causal_conv1d_fn takes seq_idx or states"):
        causal_conv1d_fn(x, weight, seq_idx=numbers, return_final_states=True)
    with pytest.raises(UnsupportedError, match="has no padding"):
        causal_conv1d_fn(x, weight, seq_idx=numbers - 1)
    with pytest.raises(UnsupportedError, match="no ring buffer"):
        causal_conv1d_update(x[..., 0], made(2, 3, 3), weight, cache_seqlens=numbers[:, 0])
