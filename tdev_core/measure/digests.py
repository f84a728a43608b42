"""Digests of tensors: a few numbers of which two say how far two tensors are apart, without either.

A digest has the Euclidean norm, the largest magnitude, how many elements are NaN or infinite, and the sums of the elements
under four fixed patterns of signs. A random pattern of signs turns the difference of two tensors into a number whose square
is, on average, the squared norm of the difference (Alon, Matias and Szegedy 1996, "The space complexity of approximating
the frequency moments"), so that four of them tell the distance within a factor that matters to nobody here.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import torch

__all__ = ["Digest", "digest", "distance", "epsilon"]

_PATTERNS = 4
_CHUNK = 1 << 14  # elements that one pattern of signs is made for; chunks have signs of their own


@dataclass(frozen=True)
class Digest:
    """A digest, which is what stays of a tensor.

    Attributes:
        dtype: torch's word for it, without ``torch.``.
        shape: its sizes.
        odd: how many elements are NaN, and how many infinite.
        largest: the largest magnitude of a finite element.
        norm: the Euclidean norm of the finite elements.
        sums: their sums under each pattern of signs.
    """

    dtype: str
    shape: tuple[int, ...]
    odd: tuple[int, int]
    largest: float
    norm: float
    sums: tuple[float, ...]

    def packed(self) -> list[Any]:
        """Return it as JSON has it."""
        return [self.dtype, list(self.shape), list(self.odd), self.largest, self.norm, *self.sums]

    @classmethod
    def unpacked(cls, body: list[Any]) -> Digest:
        """Return what :meth:`packed` was made of."""
        dtype, shape, odd, largest, norm, *sums = body
        return cls(dtype, tuple(shape), (odd[0], odd[1]), largest, norm, tuple(sums))


def digest(tensor: torch.Tensor) -> Digest | None:
    """Return the digest of a tensor on any device; None for one without values to read (meta, sparse, nested, quantized)."""
    if tensor.device.type == "meta" or tensor.layout is not torch.strided:
        return None
    if tensor.is_nested or tensor.is_quantized:
        return None
    shape, dtype = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
    values = tensor.detach().resolve_conj().resolve_neg().to("cpu")
    if values.is_complex():
        values = torch.view_as_real(values)
    values = values.reshape(-1).to(torch.float64)
    finite = values.isfinite()
    odd = (0, 0)
    if not finite.all():
        odd = (int(values.isnan().sum()), int(values.isinf().sum()))
        values = torch.where(finite, values, 0.0)
    largest = float(values.abs().max()) if len(values) else 0.0
    norm = float(torch.linalg.vector_norm(values))
    return Digest(dtype, shape, odd, largest, norm, _sums(values))


def _sums(values: torch.Tensor) -> tuple[float, ...]:
    """Return the sums of float64 ``values`` under each pattern of signs."""
    signs = _signs()
    whole, rest = divmod(len(values), _CHUNK)
    found = torch.zeros(_PATTERNS, dtype=torch.float64)
    if whole:
        chunks = values[: whole * _CHUNK].view(whole, _CHUNK)
        each = chunks @ signs.T  # chunks x patterns
        # A chunk's place decides over its signs, so that chunks that change places are no equals.
        turns = _drawn((whole, _PATTERNS), whole)
        found += (turns * each).sum(0)
    if rest:
        found += signs[:, :rest] @ values[whole * _CHUNK :]
    return tuple(found.tolist())


@functools.lru_cache(maxsize=1)
def _signs() -> torch.Tensor:
    return _drawn((_PATTERNS, _CHUNK), 0)


def _drawn(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Return 1 and -1, the same for a shape and a seed."""
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.randint(0, 2, shape, generator=generator) - 1).to(torch.float64)


def distance(one: Digest, other: Digest) -> float:
    """Return the norm of the difference of two tensors, about; infinity where shapes or odd elements differ."""
    if one.shape != other.shape or one.odd != other.odd:
        return math.inf
    squares = [(a - b) ** 2 for a, b in zip(one.sums, other.sums, strict=True)]
    return max(math.sqrt(sum(squares) / len(squares)), abs(one.norm - other.norm))


def epsilon(dtype: str) -> float:
    """Return the distance from 1 to the next number of a floating-point type; 0 for others."""
    found = getattr(torch, dtype)
    if found.is_complex:
        found = found.to_real()
    return float(torch.finfo(found).eps) if found.is_floating_point else 0.0
