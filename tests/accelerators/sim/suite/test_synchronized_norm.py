"""What ``SyncBatchNorm`` is made of: two ranks' statistics are those of one batch, and so is the gradient."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

aten: Any = torch.ops.aten
DTYPES = [torch.float32, torch.float64, torch.float16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(6, 3), (6, 3, 4, 2)], ids=str)
def test_two_parts_are_normalized_as_one(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    wide = torch.float32 if dtype is torch.float16 else dtype
    whole = torch.randn(shape, dtype=dtype)
    weight, bias = torch.rand(3, dtype=wide) + 0.5, torch.randn(3, dtype=wide)
    running = torch.zeros(3, dtype=wide), torch.ones(3, dtype=wide)
    moved = [value.to("sim") for value in running]
    x = whole.to(wide).requires_grad_()
    weight.requires_grad_()
    bias.requires_grad_()
    expected = F.batch_norm(x, *running, weight, bias, True, 0.1, 1e-5)
    up = torch.randn(shape, dtype=dtype)
    expected.backward(up.to(wide))

    parts = [part.to("sim") for part in whole.split([2, 4])]
    of_parts = [torch.batch_norm_stats(part, 1e-5) for part in parts]
    means, deviations = (torch.stack(each) for each in zip(*of_parts, strict=True))
    each = whole[0].numel() // 3
    counts = torch.tensor([2 * each, 4 * each], device="sim", dtype=wide)
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        parts[0], means, deviations, moved[0], moved[1], 0.1, 1e-5, counts
    )
    scale, shift = weight.detach().to("sim"), bias.detach().to("sim")
    results = [torch.batch_norm_elemt(part, scale, shift, mean, invstd, 1e-5) for part in parts]
    near = 2e-3 if dtype is torch.float16 else 1e-5

    def same(ours: torch.Tensor, theirs: torch.Tensor) -> None:
        torch.testing.assert_close(ours.cpu().to(wide), theirs.detach(), rtol=near, atol=near)

    assert results[0].dtype is dtype and mean.dtype is wide and mean.device.type == "sim"
    same(torch.cat(results), expected)
    same(moved[0], running[0])
    same(moved[1], running[1])
    ups = [part.to("sim") for part in up.split([2, 4])]
    sums = [
        aten.batch_norm_backward_reduce(g, part, mean, invstd, scale, True, True, True)
        for g, part in zip(ups, parts, strict=True)
    ]
    sum_dy, sum_dy_xmu, of_weight, of_bias = (sum(each) for each in zip(*sums, strict=True))
    same(of_weight, weight.grad)  # type: ignore[arg-type]
    same(of_bias, bias.grad)  # type: ignore[arg-type]
    gradients = [
        aten.batch_norm_backward_elemt(
            g, part, mean, invstd, scale, sum_dy, sum_dy_xmu, counts.int()
        )
        for g, part in zip(ups, parts, strict=True)
    ]
    same(torch.cat(gradients), x.grad)  # type: ignore[arg-type]


def test_equal_parts_and_what_is_not_asked_for() -> None:
    x = torch.randn(4, 3, device="sim")
    halves = [torch.batch_norm_stats(part, 1e-5) for part in x.split(2)]
    means, deviations = (torch.stack(each) for each in zip(*halves, strict=True))
    joined = torch.batch_norm_gather_stats(x, means, deviations, None, None, 0.1, 1e-5, 2)
    for ours, whole in zip(joined, torch.batch_norm_stats(x, 1e-5), strict=True):
        torch.testing.assert_close(ours, whole)
    out = torch.empty(0, device="sim")
    torch.batch_norm_elemt(x, None, None, *joined, 1e-5, out=out)
    torch.testing.assert_close(out.cpu(), F.batch_norm(x.cpu(), None, None, training=True))
    reduce = aten.batch_norm_backward_reduce
    assert reduce(x, x, *joined, None, True, True, True)[2:] == (None, None)
    assert reduce(x, x, *joined, x[0], False, False, False) == (None, None, None, None)
