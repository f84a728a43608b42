"""What torch refuses of scaled_dot_product_attention, the device refuses in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention


def _x(device: str, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(shape or (1, 2, 4, 8), device=device, dtype=dtype)


def _with(kernels: list[SDPBackend] | SDPBackend, device: str) -> Tensor:
    with sdpa_kernel(kernels):
        return attention(_x(device), _x(device), _x(device))


def _masked(device: str, mask: Tensor) -> Tensor:
    return attention(_x(device), _x(device), _x(device), attn_mask=mask.to(device))


_REFUSED: dict[str, Callable[[str], Tensor]] = {
    "types": lambda d: attention(_x(d), _x(d, dtype=torch.float16), _x(d)),
    "mask of integers": lambda d: _masked(d, torch.ones(4, 4, dtype=torch.int64)),
    "narrow mask": lambda d: _masked(d, torch.ones(4, 4, dtype=torch.float16)),
    "mask of another shape": lambda d: _masked(d, torch.ones(3, 5)),
    "no kernel": lambda d: _with([], d),
    "the kernel ERROR": lambda d: _with(SDPBackend.ERROR, d),
    "one dimension": lambda d: attention(_x(d, 8), _x(d, 8), _x(d, 8)),
    "widths": lambda d: attention(_x(d), _x(d, 1, 2, 4, 6), _x(d)),
    "heads": lambda d: attention(_x(d), _x(d, 1, 3, 4, 8), _x(d, 1, 3, 4, 8)),
}


def _words(error: BaseException) -> str:
    """The message without the names of types, which C++ and Python write differently."""
    return re.sub(r"(?<=dtype: )[\w.: ]+?(?= key| and| +instead)", "…", str(error))


@pytest.mark.parametrize("name", _REFUSED)
def test_refused_as_on_the_cpu(name: str) -> None:
    words = []
    for device in ("cpu", "mlx"):
        with pytest.raises(RuntimeError) as refused:
            _REFUSED[name](device)
        words.append(_words(refused.value))
    assert words[0] == words[1]


@pytest.mark.parametrize("mask", [torch.ones(4, 4, dtype=torch.bool), torch.zeros(1, 1, 4, 4)])
def test_masks_that_torch_takes(mask: Tensor) -> None:
    torch.testing.assert_close(_masked("mlx", mask).cpu(), _masked("cpu", mask))
