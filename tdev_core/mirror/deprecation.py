"""Warn that a function is deprecated where torch's function of that name does."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from typing_extensions import deprecated

__all__ = ["deprecated_as"]


def deprecated_as(value: Any, original: Any) -> Any:
    """Return ``value``, which warns as ``original``, torch's own function of that name, does when it is called.

    Torch's mark (PEP 702) stands on the function that warns and on the one that it calls, which may well be the
    successor: only the former wraps another. A context manager wraps the function that warns, and is called for it.
    Torch warns with FutureWarning throughout; the mark does not keep it.
    """
    if not (isinstance(value, FunctionType) and isinstance(original, FunctionType)):
        return value  # other objects may ask a device for an attribute that they do not have
    marked = vars(original)
    wrapped = marked.get("__wrapped__")
    if wrapped is None or hasattr(wrapped, "__wrapped__") or "__deprecated__" not in marked:
        return value
    return deprecated(marked["__deprecated__"], category=FutureWarning)(value)
