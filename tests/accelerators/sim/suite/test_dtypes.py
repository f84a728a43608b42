"""Types that CUDA has and the CPU's kernels lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

CASES: dict[str, tuple[Callable[[torch.Tensor], Any], torch.dtype, torch.dtype]] = {
    "abs": (lambda x: x.abs(), torch.bool, torch.uint8),
    "abs_": (lambda x: x.clone().abs_(), torch.bool, torch.uint8),
    "abs out": (
        lambda x: torch.abs(x, out=torch.empty(0, dtype=x.dtype, device=x.device)),
        torch.bool,
        torch.uint8,
    ),
    "histc": (lambda x: torch.histc(x, 4), torch.int64, torch.float64),
    "histc int32": (lambda x: torch.histc(x, 4), torch.int32, torch.float64),
    "avg_pool3d": (lambda x: F.avg_pool3d(x.view(1, 1, 2, 2, 2), 2), torch.float16, torch.float32),
    "prod dtype": (
        lambda x: torch.prod(x.view(2, 4), 0, dtype=x.dtype),
        torch.complex32,
        torch.complex64,
    ),
    "exp": (lambda x: torch.exp(x), torch.complex32, torch.complex64),
}


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("name", CASES)
def test_computed_in_a_wider_type(name: str) -> None:
    operation, narrow, wide = CASES[name]
    x = torch.tensor([1, 2, 3, 4, 1, 2, 3, 4]).to(narrow)
    with pytest.raises(RuntimeError, match="not implemented for|not supported"):
        operation(x)
    result = operation(x.to("sim"))
    expected = operation(x.to(wide)).to(narrow)
    assert torch.equal(result.cpu().to(wide), expected.to(wide))
    assert result.dtype == narrow and result.device.type == "sim"


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_the_dtype_that_is_asked_for_decides_alone() -> None:
    """Nothing else in the call has it; and what CUDA widens itself stays wide."""
    product = torch.prod(torch.full((3,), 2 + 0j, device="sim"), 0, dtype=torch.complex32)
    assert product.dtype == torch.complex32 and product.item() == 8
    trace = torch.trace(torch.eye(3, dtype=torch.bool, device="sim"))
    assert trace.dtype == torch.int64 and trace.item() == 3


def test_gradients_in_a_wider_type() -> None:
    x = torch.arange(8.0).half().view(1, 1, 2, 2, 2).to("sim").requires_grad_()
    F.avg_pool3d(x, 2).sum().backward()
    assert (
        x.grad is not None and x.grad.dtype == torch.float16 and x.grad.unique().tolist() == [0.125]
    )


def test_what_cuda_lacks_too_stays_refused() -> None:
    with pytest.raises(RuntimeError, match="not implemented for 'Bool'"):
        torch.ones(2, dtype=torch.bool, device="sim").cumsum_(0, dtype=torch.bool)
