"""Remembers which tensors have been moved to the accelerator, on the CPU backend, where nothing else tells.

On CUDA a second move of a tensor gives that tensor, and ``y.to(x.device)`` goes where ``x`` went. Here both lie
on the CPU and say so. What a move has given is therefore marked: it is not copied again, and its ``device`` is
:data:`tdev_core.devices.THERE`, by which the next move knows where to. What is computed from it is not marked.

A mark holds no tensor, and is no attribute of one: pickles and copies are as torch makes them.
"""

from __future__ import annotations

import copy
import copyreg
import threading
import weakref
from collections.abc import Callable, Iterable
from types import GetSetDescriptorType
from typing import Any

import torch
import torch.utils.dlpack

from tdev_core.devices import APART, THERE, moves_copy, translate
from tdev_core.shims import calls

__all__ = [
    "from_dlpack",
    "get_default_device",
    "install",
    "is_marked",
    "mark",
    "mark_all",
    "marks",
    "move",
    "set_default_device",
    "uninstall",
]

marks: dict[int, weakref.ref[torch.Tensor]] = {}
"""The marked tensors, by ``id``. One that has died stays until another has its ``id``, or until :func:`_sweep`."""

_Tensor, _reference = torch.Tensor, weakref.ref  # each move uses them

_FEWEST_SWEPT = 1024
_sweep_at = [_FEWEST_SWEPT]


def mark(tensor: torch.Tensor) -> torch.Tensor:
    """Remember that ``tensor`` has been moved, and return it: whatever it is, if an override has made it."""
    if isinstance(tensor, _Tensor):
        marks[id(tensor)] = _reference(tensor)
        if len(marks) > _sweep_at[0]:
            _sweep()
    return tensor


def move(to: Callable[..., Any], tensor: torch.Tensor, there: torch.device) -> Any:
    """Move ``tensor`` by ``to``, ``Tensor.to``, which copies it, and mark what that gives.

    What has been moved before is not copied, nor is a leaf that requires grad: the program wants to find the
    gradient on the very object that it holds.
    """
    known = marks.get(id(tensor))
    if (known is not None and known() is tensor) or (tensor.requires_grad and tensor.is_leaf):
        return mark(to(tensor, there))
    # By their places, to(device, dtype, non_blocking, copy): torch takes 190 ns longer to read a name.
    result = to(tensor, there, None, False, True)
    if result.__class__ is not _Tensor or len(marks) >= _sweep_at[0]:
        return mark(result)
    marks[id(result)] = _reference(result)  # as mark() does, without a call more
    return result


def _sweep() -> None:
    for key, reference in list(marks.items()):
        if reference() is None:
            marks.pop(key, None)
    _sweep_at[0] = max(_FEWEST_SWEPT, 2 * len(marks))


def mark_all(tensors: Iterable[torch.Tensor], moved: bool) -> None:
    """Remember of each that it has been moved to the accelerator, or forget it: it is back on the CPU."""
    for tensor in tensors:
        if moved:
            mark(tensor)
        else:
            marks.pop(id(tensor), None)


def is_marked(tensor: torch.Tensor) -> bool:
    """Tell whether ``tensor`` is what a move to the accelerator has given."""
    reference = marks.get(id(tensor))
    return reference is not None and reference() is tensor


class _Device:
    """``Tensor.device`` in Python, for where the module in C is missing."""

    def __init__(self, original: Any, of: object, there: torch.device) -> None:
        self._original, self._there = original, there
        self.__doc__ = original.__doc__

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is None:
            return self
        device = self._original.__get__(tensor, owner)
        return self._there if is_marked(tensor) else device

    def __set__(self, tensor: Any, value: Any) -> None:
        self._original.__set__(tensor, value)  # raises torch's own error

    def __getattribute__(self, name: str) -> Any:
        # Lazy parameters, among others, know torch's getters by the class of this method.
        original = object.__getattribute__(self, "_original")
        return original.__get__ if name == "__get__" else object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


_default = threading.local()


def set_default_device(device: Any) -> None:
    """``torch.set_default_device`` on the translated device, which keeps the value of a device and not the object."""
    where = translate(device)
    torch.set_default_device(where)
    _default.there = where is THERE


def get_default_device() -> torch.device:
    """``torch.get_default_device``, from which a move knows whether it was the CPU that was meant."""
    device = torch.get_default_device()
    return THERE if getattr(_default, "there", False) and device == THERE else device


def from_dlpack(ext_tensor: Any, device: Any, copy: bool | None) -> torch.Tensor:
    """``torch.from_dlpack`` on the translated device, where the accelerator's has a copy: unless that was refused."""
    where = translate(device)
    tensor = torch.utils.dlpack.from_dlpack(ext_tensor, device=where, copy=copy)
    if where is not THERE or copy is not None or not moves_copy():
        return tensor
    return mark(tensor.clone())


def _reduce_device(device: torch.device) -> Any:
    # A pickle holds the value alone: without this a move to what is read from one would no longer copy.
    return (APART if device is THERE else device).__reduce__()


def _itself(device: torch.device, memo: Any = None) -> torch.device:
    return device


# What copy and deepcopy do with immutable objects; they would go by the above. Private to Python's copy.
_COPIERS: list[dict[type, Any]] = [
    getattr(copy, name, {}) for name in ("_copy_dispatch", "_deepcopy_dispatch")
]


def install() -> None:
    """Let ``x.device`` of a moved tensor say so, and let the accelerator's device survive in pickles."""
    if moves_copy() and torch.device not in copyreg.dispatch_table:
        copyreg.pickle(torch.device, _reduce_device)
        for copiers in _COPIERS:
            copiers[torch.device] = _itself
    if moves_copy() and "device" not in vars(torch.Tensor):
        original: GetSetDescriptorType = torch.Tensor.device  # type: ignore[assignment]  # of its base, in C
        getter = (calls.device_getter() or _Device)(original, marks, THERE)
        torch.Tensor.device = getter  # type: ignore[assignment]


def uninstall() -> None:
    """Take it back, unless somebody else has put something in its place."""
    if copyreg.dispatch_table.get(torch.device) is _reduce_device:
        del copyreg.dispatch_table[torch.device]
        for copiers in _COPIERS:
            copiers.pop(torch.device, None)
    found = vars(torch.Tensor).get("device")
    if isinstance(found, (_Device, calls.device_getter() or _Device)):
        del torch.Tensor.device
