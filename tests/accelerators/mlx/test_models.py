"""Whole models train on the device like on the CPU, without one operator leaving it; and the same under torch.compile."""

from __future__ import annotations

import pytest
import torch

from tests.accelerators.mlx.models import MODELS, losses


@pytest.mark.parametrize("fused", [False, True], ids=["foreach", "fused"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_trains_without_leaving_the_device(
    name: str, fused: bool, fallbacks: dict[str, int]
) -> None:
    expected = losses(name, "cpu")
    fallbacks.clear()
    found = losses(name, "mlx", fused=fused)
    assert not fallbacks
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-4, atol=1e-5)


# Each of these kinds has g++ compile thirty kernels or more: one with attention and one with convolutions in every run.
DEEP = {"diffusion"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.deep] if n in DEEP else []) for n in MODELS]
)
def test_a_compiled_model_has_the_same_losses(name: str, fallbacks: dict[str, int]) -> None:
    expected = losses(name, "mlx")
    found = losses(name, "mlx", compiled=True)
    assert not fallbacks
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_casts_products_and_keeps_losses_wide(dtype: torch.dtype) -> None:
    x, w = torch.randn(4, 8, device="mlx"), torch.randn(8, 8, device="mlx")
    with torch.autocast("mlx", dtype=dtype):
        y = x @ w
        assert y.dtype is dtype
        assert torch.nn.functional.mse_loss(y, y.detach() + 1).dtype is torch.float32
        with torch.autocast("mlx", enabled=False):
            assert (x @ w).dtype is torch.float32
    assert (x @ w).dtype is torch.float32


def test_grad_scaler_skips_a_step_with_infinities() -> None:
    p = torch.nn.Parameter(torch.ones(3, device="mlx"))
    optimizer = torch.optim.SGD([p], lr=0.5)
    scaler = torch.amp.GradScaler("mlx", init_scale=4.0)
    scaler.scale((p * 2).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.0, 0.0, 0.0]
    optimizer.zero_grad()
    scaler.scale((p * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.0, 0.0, 0.0] and scaler.get_scale() == 2.0


def test_grad_scaler_grows_after_its_interval() -> None:
    p = torch.nn.Parameter(torch.ones(3, device="mlx"))
    optimizer = torch.optim.SGD([p], lr=0.1)
    scaler = torch.amp.GradScaler("mlx", init_scale=4.0, growth_interval=3)
    found = []
    for _ in range(4):
        scaler.scale(p.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append(scaler.get_scale())
    assert found == [4.0, 4.0, 8.0, 8.0]


def test_batch_norm_keeps_running_statistics() -> None:
    found = []
    for device in ("cpu", "mlx"):
        layer = torch.nn.BatchNorm2d(3, momentum=0.3).to(device)
        for step in range(3):
            layer((torch.arange(48.0).reshape(2, 3, 2, 4) * (step + 1)).to(device))
        layer.eval()
        out = layer(torch.ones(1, 3, 2, 2, device=device))
        found.append(
            [
                t.detach().cpu()
                for t in (layer.running_mean, layer.running_var, out)
                if t is not None
            ]
        )
    for ours, theirs in zip(found[1], found[0], strict=True):
        torch.testing.assert_close(ours, theirs)
