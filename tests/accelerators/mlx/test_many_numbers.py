"""What adds up many numbers is as exact on the device as on the CPU: MLX's own sums on a processor are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

MANY = 300_007  # a prime: in no blocks of one size
ROUNDING = (
    2e-6  # relative; a sum of blocks stays below, one of a million numbers in a row is at 5e-3
)


def positive(*shape: int) -> Tensor:
    # So close together that the roundings of a long sum all go one way.
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0)) * 0.02 + 0.98


OF_ALL: dict[str, Callable[[Tensor], Any]] = {
    "sum": lambda x: x.sum(), "mean": lambda x: x.mean(), "nansum": lambda x: x.nansum(),
    "last": lambda x: x[None].sum(-1, keepdim=True), "first": lambda x: x[:, None].expand(-1, 3).contiguous().sum(0),
    "two axes": lambda x: x[None, 7:].reshape(3, -1, 2).mean((1, 2)),
    "axes apart": lambda x: x[7:].reshape(3, 4, -1).sum((0, 2)), "transposed": lambda x: x[7:].reshape(2, -1, 4).mT.sum((0, 2)),
    "norm": lambda x: torch.linalg.vector_norm(x), "norm of order 3": lambda x: torch.linalg.vector_norm(x, 3),
    "var": lambda x: x.var(), "std and mean": lambda x: torch.std_mean(x),
    "a loss": lambda x: F.mse_loss(x, torch.zeros_like(x)), "a sum of losses": lambda x: F.l1_loss(x, -x, reduction="sum"),
    "cross entropy": lambda x: F.nll_loss(-x[:, None].expand(-1, 2), torch.zeros(len(x), dtype=torch.long, device=x.device)),
    "the norm of gradients": lambda x: torch.nn.utils.get_total_norm([x, x]),
    "complex": lambda x: torch.view_as_real(torch.complex(x, x).sum()),
    "running": lambda x: torch.stack([x, x], 1).cumsum(0), "softmax": lambda x: x.softmax(0)[:9],
    "its logarithm": lambda x: x[None].log_softmax(1)[:, :9], "logsumexp": lambda x: x.logsumexp(0),
    "dot": lambda x: x @ x, "matrices": lambda x: torch.stack([x, x]) @ torch.stack([x, x]).T,
    "batches of matrices": lambda x: (x[7:].view(2, 2, -1) @ x[7:].view(2, 2, -1).mT),
    "covariance": lambda x: torch.cov(torch.stack([x, x * x])),
}  # fmt: skip
NORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "batch": lambda x: F.batch_norm(x, None, None, training=True), "instance": lambda x: F.instance_norm(x),
    "channels last": lambda x: F.batch_norm(x.to(memory_format=torch.channels_last), None, None, training=True),
    "group": lambda x: F.group_norm(x, 2), "layer": lambda x: F.layer_norm(x, x.shape[1:]), "rms": lambda x: F.rms_norm(x, x.shape[1:]),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ALL)
def test_a_result_of_many_numbers(name: str) -> None:
    x, f = positive(MANY), OF_ALL[name]
    expected, got = f(x.double()), f(x.to("mlx"))
    for wide, narrow in zip(
        *((r if isinstance(r, tuple) else (r,)) for r in (expected, got)), strict=True
    ):
        torch.testing.assert_close(narrow.cpu().double(), wide, rtol=ROUNDING, atol=0)


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_over_many_numbers(name: str) -> None:
    x = torch.randn(2, 4, 256, 256, generator=torch.Generator().manual_seed(0)) + 3
    torch.testing.assert_close(
        NORMS[name](x.to("mlx")).cpu().double(), NORMS[name](x.double()), rtol=0, atol=5e-6
    )


@pytest.mark.parametrize("special", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize(
    "name",
    ["sum", "mean", "axes apart", "transposed", "running", "softmax", "its logarithm", "logsumexp"],
)
def test_what_is_not_finite_among_many_numbers_stays_so(name: str, special: float) -> None:
    x = positive(MANY)
    x[MANY // 2] = special
    torch.testing.assert_close(
        OF_ALL[name](x.to("mlx")).cpu(), OF_ALL[name](x), rtol=1e-4, atol=0, equal_nan=True
    )


LAYERS: dict[str, Callable[[], torch.nn.Module]] = {
    "linear": lambda: torch.nn.Linear(2, 3), "layer norm": lambda: torch.nn.LayerNorm(2), "rms norm": lambda: torch.nn.RMSNorm(2),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_parameters_that_many_rows_share(name: str) -> None:
    layer = LAYERS[name]()
    grads = []
    for device, dtype in (("cpu", torch.float64), ("mlx", torch.float32)):
        layer.zero_grad()
        layer.to(device, dtype)
        y = layer((positive(MANY, 2) * torch.tensor([1.0, 3.0])).to(device, dtype))
        (y * positive(*y.shape).to(device, dtype)).sum().backward()
        grads.append([p.grad.cpu().double() for p in layer.parameters() if p.grad is not None])
    for wide, narrow in zip(*grads, strict=True):
        torch.testing.assert_close(narrow, wide, rtol=2e-4, atol=0)
