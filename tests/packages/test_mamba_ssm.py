"""The stand-in for mamba_ssm: the scan one number at a time in float64, and the block of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tdev_core.errors import UnsupportedError
from tdev_core.packages import mamba_ssm
from tdev_core.packages.mamba_ssm.ops.selective_scan_interface import selective_scan_fn


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def at(matrix: torch.Tensor, b: int, d: int, n: int, t: int, dim: int) -> torch.Tensor:
    if matrix.dim() == 2:
        return matrix[d, n]
    return matrix[b, n, t] if matrix.dim() == 3 else matrix[b, d * matrix.size(1) // dim, n, t]


def defined(
    u: torch.Tensor, delta: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor,
    D: Any = None, z: Any = None, bias: Any = None, softplus: bool = False, starts: tuple[int, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    batch, dim, length = u.shape
    out, last = torch.zeros_like(u), torch.zeros(batch, dim, A.size(1), dtype=u.dtype)
    for b in range(batch):
        for d in range(dim):
            state = torch.zeros(A.size(1), dtype=u.dtype)
            for t in range(length):
                size = delta[b, d, t] + (0 if bias is None else bias[d])
                size = torch.log1p(torch.exp(size)) if softplus else size
                for n in range(A.size(1)):
                    before = 0 if t in starts else state[n].clone()
                    state[n] = (
                        torch.exp(size * A[d, n]) * before
                        + size * at(B, b, d, n, t, dim) * u[b, d, t]
                    )
                    out[b, d, t] += at(C, b, d, n, t, dim) * state[n]
                out[b, d, t] += 0 if D is None else D[d] * u[b, d, t]
                out[b, d, t] *= 1 if z is None else z[b, d, t] * torch.sigmoid(z[b, d, t])
            last[b, d] = state
    return out, last


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 2, 3, 5)])
@pytest.mark.parametrize("full", [True, False])
def test_the_scan(shape: tuple[int, ...], full: bool) -> None:
    u, delta, A = made(2, 4, 5), made(2, 4, 5, seed=1), -made(4, 3).abs()
    B, C = made(*shape, seed=2), made(*shape, seed=3)
    more = (made(4), made(2, 4, 5, seed=4), made(4, seed=5)) if full else (None, None, None)
    found = selective_scan_fn(u, delta, A, B, C, *more, delta_softplus=full, return_last_state=True)
    torch.testing.assert_close(found, defined(u, delta, A, B, C, *more, full))
    packed = torch.tensor([0, 2, 5], dtype=torch.int32)
    out = selective_scan_fn(u, delta, A, B, C, *more, full, cu_seqlens=packed)
    torch.testing.assert_close(out, defined(u, delta, A, B, C, *more, full, (0, 2, 5))[0])
    short = selective_scan_fn(*(t.bfloat16() for t in (u, delta)), A, B, C)
    assert short.dtype == torch.bfloat16
    meant, _ = defined(u.bfloat16().double(), delta.bfloat16().double(), A, B, C)
    torch.testing.assert_close(short, meant.bfloat16(), atol=1e-2, rtol=2e-2)
    inputs = [t.requires_grad_() for t in (u, delta, A, B, C)]
    assert torch.autograd.gradcheck(
        lambda *t: selective_scan_fn(*t, *more, full), inputs, fast_mode=True
    )


def test_the_block() -> None:
    """Against its formula, with its checkpoint's names; gradients reach every parameter."""
    torch.manual_seed(0)
    block = mamba_ssm.Mamba(6, d_state=3, d_conv=3).double()
    names = {
        "A_log", "D", "in_proj.weight", "conv1d.weight", "conv1d.bias", "x_proj.weight", "dt_proj.weight", "dt_proj.bias",
        "out_proj.weight",
    }  # fmt: skip
    assert set(block.state_dict()) == names and block.dt_rank == 1
    assert (
        block.state_dict()["A_log"].shape == (12, 3)
        and 1e-4 <= F.softplus(block.dt_proj.bias).min() <= 0.1
    )
    x = made(2, 5, 6)
    inside, gate = block.in_proj(x).transpose(1, 2).chunk(2, 1)
    convolved = F.silu(block.conv1d(inside)[..., :5])
    projected = block.x_proj(convolved.transpose(1, 2))
    delta = (projected[..., :1] @ block.dt_proj.weight.T).transpose(1, 2)
    B, C = projected[..., 1:4].transpose(1, 2), projected[..., 4:].transpose(1, 2)
    with torch.no_grad():
        out, _ = defined(
            convolved, delta, -torch.exp(block.A_log), B, C, block.D, gate, block.dt_proj.bias, True
        )
    torch.testing.assert_close(block(x), block.out_proj(out.transpose(1, 2)), atol=1e-6, rtol=1e-5)
    block(x).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in block.parameters())


def test_what_does_not_fit_or_is_lacking() -> None:
    u, A, B = made(2, 4, 5), made(4, 3), made(2, 3, 5)
    for wrong in (made(2, 4, 6), made(2, 4)):
        with pytest.raises(
            RuntimeError,
            match=r"selective_scan_fn: delta has shape .*; \(batch, dim, length\) is needed, batch = 2",
        ):
            selective_scan_fn(u, wrong, A, B, B)
    with pytest.raises(RuntimeError, match="4 channels make no 3 groups"):
        selective_scan_fn(u, u, A, made(2, 3, 3, 5), B)
    with pytest.raises(UnsupportedError, match="has no complex A"):
        selective_scan_fn(u, u, A.to(torch.complex128), B, B)
    with pytest.raises(UnsupportedError, match="inference_params"):
        mamba_ssm.Mamba(4)(made(1, 2, 4).float(), inference_params=object())
    with pytest.raises(NotImplementedError, match="dt_init is 'zero'"):
        mamba_ssm.Mamba(4, dt_init="zero")
    with pytest.raises(AttributeError, match="mamba_ssm.Mamba2 is not in the stand-in"):
        _ = mamba_ssm.Mamba2
