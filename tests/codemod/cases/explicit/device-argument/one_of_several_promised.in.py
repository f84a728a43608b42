from typing import Sequence, Tuple

import torch


def validate(
    sizes: Sequence[int], dtype: torch.dtype = None, device: torch.device = None
) -> Tuple[
    Sequence[int],
    Tuple[int, ...],
    torch.dtype,
    torch.device,
]:
    return sizes, (1,), dtype, device or torch.device("cpu")


def named(sizes) -> Tuple[int, str]:
    return 1, sizes.device


def matrix(sizes, omega):
    sizes, order, dtype, device = validate(sizes, omega.dtype, omega.device)
    return torch.zeros(sizes, dtype=dtype, device=device)


def other(sizes):
    count, device = named(sizes)
    return torch.zeros(count, device=device)
