"""Compares the values that an operator gave in two runs, element by element."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch

__all__ = ["Judged", "judged"]

_INTEGERS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}


@dataclass(frozen=True)
class Judged:
    """The element that is farthest off, by its difference.

    Attributes:
        index: where it is.
        mine: the reference's value.
        other: the other's.
        ulp: how many numbers of the type lie between them; the difference where they are integers.
        again: relative error (of norms) of what the other backend makes of the reference's inputs; None where it was not tried.
        inside: the first operator before it, in the graph that gave it, that gives something else compiled; empty: none, or no graph.
    """

    index: tuple[int, ...]
    mine: float
    other: float
    ulp: float
    again: float | None
    inside: str = ""


def judged(reference: Path, other: Path, mark: str) -> Judged | None:
    """Compare what two recordings kept of one thing; None where one of them has not, or shapes differ."""
    paths = [folder / f"{mark}.whole" for folder in (reference, other)]
    if not all(path.exists() for path in paths):
        return None
    mine, theirs = (torch.load(path, weights_only=True) for path in paths)
    pairs = zip(mine["found"], theirs["found"], strict=False)
    usable = [(a, b) for a, b in pairs if a.shape == b.shape and a.numel()]
    again = _again(mine["found"], theirs["again"])
    worst = max(usable, key=lambda pair: _apart(*pair).max().item(), default=None)
    return (
        None if worst is None else replace(_judged(*worst, again), inside=theirs.get("inside", ""))
    )


def _judged(mine: torch.Tensor, other: torch.Tensor, again: float | None) -> Judged:
    if mine.is_complex():
        mine, other = torch.view_as_real(mine), torch.view_as_real(other)
    other = other.to(mine.dtype)
    apart = _apart(mine, other)
    index = tuple(int(i) for i in torch.unravel_index(apart.reshape(-1).argmax(), mine.shape))
    between = ulp(mine, other)[index].item()
    return Judged(index, mine[index].item(), other[index].item(), between, again)


def ulp(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return how many numbers of their type lie between the elements of two tensors, as float64; NaN is equal to NaN."""
    kind = _INTEGERS.get(one.dtype)
    if kind is None:
        return (one.double() - other.double()).abs()
    ordered = []
    for values in (one, other):
        bits = values.contiguous().view(kind).to(torch.int64)
        low = torch.iinfo(kind).min
        ordered.append(torch.where(bits < 0, low - bits, bits))  # the bits of negative numbers fall
    mine, theirs = ordered
    beside = (mine < 0) == (theirs < 0)  # else the difference may be none of an int64
    apart = torch.where(beside, mine - theirs, 0).abs().double()
    apart += torch.where(beside, 0.0, mine.double().abs() + theirs.double().abs())
    both = one.isnan() & other.isnan()
    return torch.where(both, 0.0, apart)


def _again(mine: list[torch.Tensor], again: list[torch.Tensor] | None) -> float | None:
    if again is None or [one.shape for one in mine] != [one.shape for one in again]:
        return None
    errors = []
    for one, other in zip(mine, again, strict=True):
        size = float(torch.linalg.vector_norm(one.double().nan_to_num(0.0, 0.0, 0.0)))
        apart = float(torch.linalg.vector_norm(_apart(one, other)))
        errors.append(apart / size if size else apart)
    return max(errors, default=None)


def _apart(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return how far elements are apart, as float64: infinitely where one of two is no number, or is infinite."""
    wide = torch.complex128 if one.is_complex() or other.is_complex() else torch.float64
    mine, theirs = one.to(wide), other.to(wide)
    same = (mine == theirs) | (mine.isnan() & theirs.isnan())
    return torch.where(same, 0.0, (mine - theirs).abs().nan_to_num(nan=torch.inf))
