"""The stand-in for mamba_ssm: the scan one number at a time in float64, and the block of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tdev_core.errors import UnsupportedError
from tdev_core.packages import mamba_ssm
from tdev_core.packages.mamba_ssm.ops.selective_scan_interface import (
    mamba_inner_ref,
    selective_scan_fn,
    selective_scan_ref,
)


def made(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def at(matrix: torch.Tensor, b: int, d: int, n: int, t: int, dim: int) -> torch.Tensor:
    if matrix.dim() == 2:
        return matrix[d, n]
    return matrix[b, n, t] if matrix.dim() == 3 else matrix[b, d * matrix.size(1) // dim, n, t]


def defined(
    u: torch.Tensor, delta: torch.Tensor, A: torch.Tensor, B: torch.Tensor, C: torch.Tensor,
    D: Any = None, z: Any = None, bias: Any = None, softplus: bool = False,
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
                    state[n] = (
                        torch.exp(size * A[d, n]) * state[n].clone()
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
    short = selective_scan_fn(*(t.bfloat16() for t in (u, delta)), A, B, C)
    assert short.dtype == torch.bfloat16
    meant, _ = defined(u.bfloat16().double(), delta.bfloat16().double(), A, B, C)
    torch.testing.assert_close(short, meant.bfloat16(), atol=1e-2, rtol=2e-2)
    inputs = [t.requires_grad_() for t in (u, delta, A, B, C)]
    assert torch.autograd.gradcheck(
        lambda *t: selective_scan_fn(*t, *more, full), inputs, fast_mode=True
    )


def inner(*names: str) -> dict[str, torch.Tensor]:
    """Arguments of mamba_inner_fn for 4 channels, 3 states and a rank of 2; those of ``names`` beside the needed ones."""
    every = {
        "xz": made(2, 8, 5), "conv1d_weight": made(4, 1, 3), "conv1d_bias": made(4), "x_proj_weight": made(8, 4),
        "delta_proj_weight": made(4, 2), "out_proj_weight": made(6, 4), "out_proj_bias": made(6), "A": -made(4, 3).abs(),
        "D": made(4, seed=1), "delta_bias": made(4, seed=2), "B_proj_bias": made(3), "C_proj_bias": made(3, seed=1),
        "b_rms_weight": made(3, seed=2), "c_rms_weight": made(3, seed=3), "dt_rms_weight": made(4, seed=3),
        "B": made(2, 3, 5), "C": made(2, 3, 5, seed=1),
    }  # fmt: skip
    needed = list(every)[:8]
    return {name: every[name] for name in (*needed, *names)}


def normalized(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x / torch.sqrt((x**2).mean(1, keepdim=True) + 1e-3) * weight[:, None]


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("D", "delta_bias", "B_proj_bias", "C_proj_bias"),
        ("b_rms_weight", "c_rms_weight", "dt_rms_weight"),
        ("B", "C"),
    ],
    ids=str,
)
def test_the_inside_of_a_block(names: tuple[str, ...]) -> None:
    """Convolution, projections, norms, scan, projection, each written out; gradients of all of it."""
    given = inner(*names)
    x, z = given["xz"].chunk(2, 1)
    padded = F.pad(x, (2, 0))
    x = sum(padded[..., t : t + 5] * given["conv1d_weight"][:, 0, t, None] for t in range(3))
    x = F.silu(x + given["conv1d_bias"][:, None])
    projected = given["x_proj_weight"] @ x
    delta = given["delta_proj_weight"] @ projected[:, :2]
    B, C = projected[:, 2:5], projected[:, 5:]
    if "B_proj_bias" in names:
        B, C = B + given["B_proj_bias"][:, None], C + given["C_proj_bias"][:, None]
    B, C = given.get("B", B), given.get("C", C)
    if "b_rms_weight" in names:
        B, C = normalized(B, given["b_rms_weight"]), normalized(C, given["c_rms_weight"])
        delta = normalized(delta, given["dt_rms_weight"])
    with torch.no_grad():
        out, _ = defined(
            x, delta, given["A"], B, C, given.get("D"), z, given.get("delta_bias"), True
        )
    meant = out.transpose(1, 2) @ given["out_proj_weight"].T + given["out_proj_bias"]
    options: dict[str, Any] = {"b_c_dt_rms_eps": 1e-3} if "b_rms_weight" in names else {}
    torch.testing.assert_close(mamba_ssm.mamba_inner_fn(**given, **options), meant)
    if not options:
        torch.testing.assert_close(mamba_inner_ref(**given), meant)
    inputs = [t.requires_grad_() for t in given.values()]

    def found(*tensors: torch.Tensor) -> torch.Tensor:
        named = dict(zip(given, tensors, strict=True))
        return mamba_ssm.mamba_inner_fn(**named, **options)

    assert torch.autograd.gradcheck(found, inputs, fast_mode=True)


def test_the_last_state_has_a_gradient_in_the_reference_alone() -> None:
    u = made(1, 2, 3).requires_grad_()
    given = (u, made(1, 2, 3, seed=1), -made(2, 2).abs(), made(1, 2, 3), made(1, 2, 3))
    out, state = selective_scan_fn(*given, return_last_state=True)
    assert out.requires_grad and not state.requires_grad
    _, same = selective_scan_ref(*given, return_last_state=True)
    assert same.requires_grad and torch.equal(same, state)


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
    with pytest.raises(RuntimeError, match="mamba_inner_fn: xz has shape .*twice as many channels"):
        mamba_ssm.mamba_inner_fn(**{**inner(), "xz": made(2, 7, 5)})
    with pytest.raises(
        RuntimeError, match=r"b_rms_weight has shape \(4,\); \(N,\) is needed, N = 3"
    ):
        mamba_ssm.mamba_inner_fn(**inner(), b_rms_weight=made(4))
    with pytest.raises(ValueError, match="checkpoint_lvl is 2; 0 and 1 are known"):
        mamba_ssm.mamba_inner_fn(**inner(), checkpoint_lvl=2)
    with pytest.raises(RuntimeError, match=r"hidden_states has shape \(1, 2, 5\)"):
        mamba_ssm.Mamba(4)(made(1, 2, 5).float())
    with pytest.raises(UnsupportedError, match="inference_params"):
        mamba_ssm.Mamba(4)(made(1, 2, 4).float(), inference_params=object())
    with pytest.raises(NotImplementedError, match="dt_init is 'zero'"):
        mamba_ssm.Mamba(4, dt_init="zero")
    with pytest.raises(AttributeError, match="mamba_ssm.Mamba2 is not in the stand-in"):
        _ = mamba_ssm.Mamba2
