"""Arrays that repeat one number, and numbers where a tensor is meant: MLX stores neither as an array of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

_IMAGES: dict[str, Callable[..., Tensor]] = {
    "zeros": lambda *shape, device: torch.zeros(shape, device=device),
    "full": lambda *shape, device: torch.full(shape, 2.0, device=device),
    "expanded": lambda *shape, device: torch.full((1,) * len(shape), 3.0, device=device).expand(
        shape
    ),
    "expanded rows": lambda *shape, device: torch.arange(float(shape[-1]), device=device).expand(
        shape
    ),
}


@pytest.mark.parametrize("settings", [{}, {"stride": 2}, {"padding": 1}], ids=str)
@pytest.mark.parametrize("image", _IMAGES)
@pytest.mark.parametrize("space", [1, 2, 3])
def test_convolutions_of_constants(space: int, image: str, settings: dict[str, int]) -> None:
    conv = (F.conv1d, F.conv2d, F.conv3d)[space - 1]
    weight = torch.linspace(-1, 1, 16 * 3 * 3**space).reshape(16, 3, *(3,) * space)
    found, expected = (
        conv(_IMAGES[image](2, 3, *(5,) * space, device=device), weight.to(device), **settings)
        for device in ("mlx", "cpu")
    )
    torch.testing.assert_close(found.cpu(), expected)


def test_the_bytes_of_a_constant_seen_as_another_type() -> None:
    found, expected = (
        torch.full((4, 3), 1.0, device=device).view(torch.int32).t().contiguous()
        for device in ("mlx", "cpu")
    )
    assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize("number", [3, True, 2.5, 1j], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64, torch.float64])
def test_a_number_is_copied_in(number: complex, dtype: torch.dtype) -> None:
    if isinstance(number, complex) and not dtype.is_complex:
        pytest.skip("torch discards the imaginary part, with a warning")
    found, expected = torch.zeros(3, device="mlx", dtype=dtype), torch.zeros(3, dtype=dtype)
    assert found.copy_(number) is found  # type: ignore[arg-type]  # torch takes it
    found[1:].copy_(number)  # type: ignore[arg-type]
    expected.copy_(number)  # type: ignore[arg-type]
    assert torch.equal(found.cpu(), expected)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a @ b,
        lambda a, b: a + b,
        lambda a, b: a.add_(b),
        lambda a, b: torch.cat([a, b]),
        lambda a, b: torch.add(a, a, out=b),
        lambda a, b: F.conv1d(a[None], b[None]),
        lambda a, b: torch.addmm(a, a, b),
    ],
    ids=["matmul", "add", "add_", "cat", "out", "conv1d", "addmm"],
)
def test_a_meeting_of_devices_is_refused_alone(call: Callable[[Tensor, Tensor], Tensor]) -> None:
    with pytest.raises(RuntimeError, match="same device|cpu") as refused:
        call(torch.ones(2, 2, device="mlx"), torch.ones(2, 2))
    error: BaseException | None = refused.value
    assert error is not None and error.__context__ is None and error.__cause__ is None
