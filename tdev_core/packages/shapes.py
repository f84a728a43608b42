"""Check the shapes of a call against the documented ones before anything is computed: torch would broadcast what a kernel refuses."""

from __future__ import annotations

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
        error: an argument has another shape or dtype.
    """
    sizes: dict[str, int] = {}
    leading: tuple[int, ...] | None = None
    for name, (tensor, documented) in tensors.items():
        if tensor is None:
            continue
        kind, letters = _parted(documented)
        shape = tuple(tensor.shape)
        if letters[:1] == ["…"]:
            letters = letters[1:]
            at = len(shape) - len(letters)
            front, shape = shape[: max(at, 0)], shape[max(at, 0) :]
            leading = front if leading is None else leading
            fits = at >= 0 and leading == front
        else:
            fits = True
        fits = fits and len(shape) == len(letters)
        before = dict(sizes)
        for letter, size in zip(letters, shape, strict=False):
            meant = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
            fits = fits and meant == size
        if not fits:
            known = ", ".join(f"{x} = {before[x]}" for x in letters if x in before)
            raise error(
                f"{asked}: {name} has shape {tuple(tensor.shape)}; {_shape(documented)} is needed"
                + (f", {known}" if known else "")
            )
        if kind == "int":
            right = not tensor.is_floating_point() and not tensor.is_complex()
        else:
            right = kind == "any" or tensor.is_floating_point()
        if not right:
            wanted = "whole numbers are" if kind == "int" else "a floating dtype is"
            raise error(f"{asked}: {name} is {tensor.dtype}; {wanted} needed")
    return sizes


def _parted(documented: str) -> tuple[str, list[str]]:
    first, *others = documented.split()
    return (first, others) if first in ("int", "any") else ("float", [first, *others])


def _shape(documented: str) -> str:
    _, letters = _parted(documented)
    return f"({letters[0]},)" if len(letters) == 1 else f"({', '.join(letters)})"
