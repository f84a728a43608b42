"""Group norm in either order of memory."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tdev_core.accelerators.mlx import layout
from tdev_core.accelerators.mlx.storage.contents import array_of

SHAPES = [((4, 8, 5, 6), 4), ((4, 8), 2), ((2, 6, 7), 3), ((3, 8, 4, 4, 2), 8), ((3, 8, 4, 4), 1)]
TOLERANCE = {torch.float32: 1e-3, torch.float16: 0.1, torch.bfloat16: 0.8}


def normed(x: Tensor, groups: int, weight: Tensor, bias: Tensor, last: bool) -> Tensor:
    if last and x.dim() > 2:
        eye = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
        kernel = eye.reshape(*eye.shape, *[1] * (x.dim() - 2))
        x = (F.conv1d, F.conv2d, F.conv3d)[x.dim() - 3](x, kernel)
    return F.group_norm(x, groups, weight, bias)


@pytest.mark.parametrize("last", [False, True], ids=["channels first", "from a convolution"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(("shape", "groups"), SHAPES)
def test_values_and_gradients_are_those_of_float64(
    shape: tuple[int, ...], groups: int, dtype: torch.dtype, last: bool
) -> None:
    """Far from a mean of zero, where a difference of two sums would leave no digits."""
    torch.manual_seed(0)
    given = [torch.randn(shape) * 2 + 30, torch.randn(shape[1]), torch.randn(shape[1])]
    given, g = [x.to(dtype) for x in given], torch.randn(shape).to(dtype)
    found = []
    for device, kind in (("cpu", torch.float64), ("mlx", dtype)):
        inputs = [x.to(device, kind).requires_grad_() for x in given]
        out = normed(inputs[0], groups, inputs[1], inputs[2], last)
        out.backward(g.to(device, kind))
        found.append([out.detach(), *(x.grad for x in inputs)])
    for ours, theirs in zip(found[1], found[0], strict=True):
        assert ours is not None and theirs is not None and ours.dtype == dtype
        assert (ours.cpu().double() - theirs).abs().max() < TOLERANCE[dtype]


def test_what_a_convolution_has_given_stays_channels_last() -> None:
    """An array in groups would be a copy of it, and the next convolution would copy it back."""
    x = torch.randn(2, 8, 6, 6, device="mlx", requires_grad=True)
    y = F.conv2d(x, torch.randn(8, 8, 3, 3, device="mlx"))
    out = F.group_norm(y, 4)
    assert id(array_of(out)) in layout.below
    (dy,) = torch.autograd.grad(out.sum(), y)
    assert id(array_of(dy)) in layout.below
