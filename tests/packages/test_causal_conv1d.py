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


@pytest.mark.parametrize("activation", [None, "silu"])
def test_sequences_with_a_state_before_them_and_padding_between(activation: str | None) -> None:
    """The state is of the first step's sequence, and a negative number is no sequence: its output is 0."""
    x, weight, bias, state = made(2, 3, 5), made(3, 4), made(3), made(2, 3, 3)
    numbers = torch.tensor([[0, 0, 1, 1, 1], [-1, 2, 2, -1, -1]], dtype=torch.int32)
    before = numbers[:, :1].expand(-1, 3)
    meant = defined(torch.cat((state, x), -1), weight, bias, torch.cat((before, numbers), -1))
    meant = F.silu(meant) if activation else meant
    meant = torch.where((numbers >= 0).unsqueeze(1), meant[..., 3:], 0.0)
    found = causal_conv1d_fn(x, weight, bias, numbers, state, activation=activation)
    torch.testing.assert_close(found, meant)
    inputs = [t.requires_grad_() for t in (x, weight, bias, state)]
    assert torch.autograd.gradcheck(
        lambda x, w, b, s: causal_conv1d_fn(x, w, b, numbers, s, activation=activation), inputs,
        fast_mode=True,
    )  # fmt: skip


@pytest.mark.parametrize("held", [3, 5])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_a_ring_holds_the_last_inputs(held: int, steps: int) -> None:
    """Input n of a sequence is at n modulo the ring's length; each sequence has had as many as it has."""
    x, weight, bias = made(2, 3, 14), made(3, 4), made(3)
    meant = defined(x, weight, bias)
    had = torch.tensor([4, 6], dtype=torch.int32)
    ring = torch.zeros(2, 3, held, dtype=torch.float64)
    for b, count in enumerate(had.tolist()):
        for n in range(count):
            ring[b, :, n % held] = x[b, :, n]
    given = torch.stack([x[b, :, n : n + steps] for b, n in enumerate(had.tolist())])
    found = causal_conv1d_update(given, ring, weight, bias, cache_seqlens=had)
    for b, count in enumerate(had.tolist()):
        torch.testing.assert_close(found[b], meant[b, :, count : count + steps])
        for n in range(max(count + steps - held, 0), count + steps):
            torch.testing.assert_close(ring[b, :, n % held], x[b, :, n])


def test_a_sequence_without_an_entry_is_padding() -> None:
    x, weight = made(3, 3), made(3, 4)
    cache = made(2, 3, 3)
    kept = cache.clone()
    entries = torch.tensor([-1, 0, -1], dtype=torch.int32)
    found = causal_conv1d_update(x, cache, weight, conv_state_indices=entries)
    meant = causal_conv1d_update(x[1:2], kept[:1].clone(), weight)
    torch.testing.assert_close(found, torch.stack((0 * x[0], meant[0], 0 * x[0])))
    assert torch.equal(cache[1], kept[1]) and torch.equal(cache[0, :, -1], x[1])


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
    with pytest.raises(UnsupportedError, match="causal_conv1d_fn returns no states"):
        causal_conv1d_fn(x, weight, seq_idx=numbers, return_final_states=True)
    with pytest.raises(
        RuntimeError, match=r"cache_seqlens has shape \(5,\); \(B,\) is needed, B = 2"
    ):
        causal_conv1d_update(x[..., 0], made(2, 3, 3), weight, cache_seqlens=numbers[0])
