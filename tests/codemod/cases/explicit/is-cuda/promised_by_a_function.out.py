import functools
from contextlib import contextmanager
from typing import Iterator

import tdev
import torch


def basis(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.eye(n), torch.ones(n)


def table(n: int) -> torch.Tensor:
    return torch.ones(n)


def size(n: int) -> tuple[int, int]:
    return n, n


@contextmanager
def scope(n: int) -> Iterator[torch.Tensor]:
    yield table(n)


@functools.cache
def cached(n: int) -> torch.Tensor:
    return table(n)


def use(n, table_of):
    found = basis(n)
    both = (table(n), table(n + 1))
    if (
        tdev.is_accelerator(found[0])
        or tdev.is_accelerator(both[1])
        or tdev.is_accelerator(table(n))
    ):
        return found
    return size(n)[0].is_cuda, scope(n).is_cuda


def shadowed(table, n):
    return table(n).is_cuda
