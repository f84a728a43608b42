"""Compares device types as the instrumented program asks: CUDA's name also means the accelerator.

The type of tdev's accelerator and ``"cuda"`` are two spellings of one here; everything else compares
as Python does. :mod:`.instrumentation` puts the calls into a program.

torch and what needs it are imported in the functions: a program may be instrumented and never ask,
or ask before it imports torch itself.
"""

from __future__ import annotations

from collections.abc import KeysView, ValuesView
from typing import Any

__all__ = [
    "begins",
    "contained",
    "equal",
    "equal_operands",
    "is_cuda",
    "lookup",
    "membership_operands",
]

_COLLECTIONS = (set, frozenset, list, tuple)
_CONTAINERS = (*_COLLECTIONS, dict, KeysView, ValuesView)


def equal(left: Any, right: Any) -> Any:
    """``left == right``, where the accelerator's type or device text also equals CUDA's."""
    plainly = left == right
    if plainly is not False or type(left) is not type(right):
        return plainly
    if isinstance(left, str):
        told = left.startswith("cuda") or right.startswith("cuda")
        return told and type(left) is str and _as_cuda(left) == _as_cuda(right)
    if type(left) in _COLLECTIONS:
        return _all_as_cuda(left) == _all_as_cuda(right)
    return False


def begins(text: Any, start: Any) -> Any:
    """``text.startswith(start)``, where the accelerator's type or device text also begins as CUDA's."""
    plainly = text.startswith(start)
    if plainly is not False or type(text) is not str:
        return plainly
    starts = start if isinstance(start, tuple) else (start,)
    return _as_cuda(text).startswith(tuple(one for one in starts if one.startswith("cuda")))


def contained(item: Any, container: Any) -> Any:
    """``item in container``; a container that names CUDA also holds the device that stands for it."""
    return membership_operands(item, container)[0] in container


def equal_operands(left: Any, right: Any) -> tuple[Any, Any]:
    """``left`` and ``right``, equal where :func:`equal` says that they are."""
    return (right, right) if equal(left, right) is True else (left, right)


def membership_operands(item: Any, container: Any) -> tuple[Any, Any]:
    """``item`` and ``container``, with ``item`` in CUDA's spelling where only that one is in it.

    MPS keeps its own: whoever lists accelerators knows of it.
    """
    if type(item) is not str or not isinstance(container, _CONTAINERS) or item in container:
        return item, container  # what is no container may be asked once only
    if item.partition(":")[0] not in ("sim", "mlx"):
        return item, container
    other = _as_cuda(item)
    return (other, container) if other in container else (item, container)


def lookup(table: Any, key: Any) -> Any:
    """``table[key]``; of a dictionary that lacks the accelerator, the row of CUDA."""
    if type(key) is str and isinstance(table, dict) and not hasattr(table, "__missing__"):
        if key not in table and (other := _as_cuda(key)) in table:
            return table[other]
    return table[key]


def is_cuda(thing: Any) -> Any:
    """``thing.is_cuda``, which of torch's own things is also true of what lies on the accelerator."""
    told = thing.is_cuda
    if told is not False:
        return told
    import torch

    from tdev_core.devices import is_accelerator

    if isinstance(thing, torch.nn.utils.rnn.PackedSequence):
        thing = thing.data
    held = isinstance(thing, (torch.Tensor, torch.UntypedStorage, torch.TypedStorage))
    return held and is_accelerator(thing)


def _all_as_cuda(several: Any) -> Any:
    return type(several)(_as_cuda(x) if type(x) is str else x for x in several)


def _as_cuda(text: str) -> str:
    from tdev_core.backend import Backend, current

    kind, colon, index = text.partition(":")
    if current() is not Backend.CPU and kind == current().value:
        kind = "cuda"
    return kind + colon + index
