"""Check shapes, dtypes and devices of a call against the documented ones before anything is computed.

torch would broadcast what a kernel refuses, and some of its functions take tensors of two devices, one of which has no numbers.
"""

from __future__ import annotations

import functools

import torch

__all__ = ["fitting"]


def fitting(
    asked: str, error: type[Exception] = RuntimeError, /, **tensors: tuple[torch.Tensor | None, str]
) -> dict[str, int]:
    """Return the size that each letter stands for.

    Args:
        asked: the function's dotted name, for the error.
        error: what the package raises.
        tensors: each argument with its documented shape, ``"B C L"``: a letter is the same size wherever it stands, a number is
            itself, ``…`` is any number of sizes, which are the same wherever it stands. In front of it ``int`` asks for whole
            numbers and ``any`` for any; otherwise they are real floats. None has no shape.

    Raises:
        error: an argument has another shape or dtype, or is on another device than the first.
    """
    sizes: dict[str, int] = {}
    device: torch.device | None = None
    leading: tuple[int, ...] | None = None
    for name, (tensor, documented) in tensors.items():
        if tensor is None:
            continue
        kind, letters, any_leading = _parted(documented)
        shape, known = tuple(tensor.shape), len(sizes)
        own = shape
        fits = len(shape) == len(letters)
        if any_leading:
            at = len(shape) - len(letters)
            front, own = shape[: max(at, 0)], shape[max(at, 0) :]
            leading = front if leading is None else leading
            fits = at >= 0 and leading == front
        for letter, size in zip(letters, own, strict=False):
            meant = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
            fits = fits and meant == size
        if not fits:
            before = {letter: sizes[letter] for letter in list(sizes)[:known] if letter in letters}
            told = ", ".join(
                f"{letter} = {before[letter]}" for letter in letters if letter in before
            )
            raise error(
                f"{asked}: {name} has shape {shape}; {_shape(documented)} is needed"
                + (f", {told}" if told else "")
            )
        if kind == "float":
            right = tensor.is_floating_point()
        else:
            right = kind == "any" or not (tensor.is_floating_point() or tensor.is_complex())
        if not right:
            wanted = "whole numbers are" if kind == "int" else "a floating dtype is"
            raise error(f"{asked}: {name} is {tensor.dtype}; {wanted} needed")
        device = tensor.device if device is None else device
        if tensor.device != device:
            raise error(f"{asked}: {name} is on {tensor.device}; {device} is needed, as before it")
    return sizes


@functools.cache
def _parted(documented: str) -> tuple[str, tuple[str, ...], bool]:
    """Return the kind of numbers, the letters, and whether any number of sizes stands before them."""
    first, *others = documented.split()
    kind, letters = (first, others) if first in ("int", "any") else ("float", [first, *others])
    leads = letters[:1] == ["…"]
    return kind, tuple(letters[leads:]), leads


def _shape(documented: str) -> str:
    _, letters, leads = _parted(documented)
    letters = ("…",) * leads + letters
    return f"({letters[0]},)" if len(letters) == 1 else f"({', '.join(letters)})"
