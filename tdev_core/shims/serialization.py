"""Place loaded storages: ``map_location`` with device translation."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch

from tdev_core.backend import current
from tdev_core.devices import ACCELERATORS, translate

__all__ = ["device", "map_location", "register", "translated_tags"]

_OURS = frozenset({"mlx", "sim"})
"""Device types that no torch knows by itself."""

Storage = Any
Locate = Callable[[Storage, str], Any]


def map_location(spec: Any) -> Any:
    """Return a ``map_location`` for :func:`torch.load` that means here what ``spec`` means on CUDA.

    Strings and devices are translated, the values of a dictionary likewise (in a copy); its keys, and what a callable is
    told, are CUDA's names also for files of ``sim`` and ``mlx``. With
    ``None``, and for tags that a dictionary or a callable leaves open, storages that were saved from
    an accelerator this process lacks go to the active backend's device.

    Source: ``torch.load`` documentation, "map_location".
    """
    if spec is None:
        return _by_tag
    if isinstance(spec, (str, torch.device)):
        return translate(spec)
    if isinstance(spec, Mapping):
        return _by_table(spec)
    if callable(spec):
        return _by_callable(spec)
    return spec


def _by_tag(storage: Storage, tag: str) -> Any:
    """Restore by the tag in the file; None leaves it to torch."""
    if tag.partition(":")[0] not in ACCELERATORS:
        return None
    target = translate(tag)
    if str(target) == tag:
        return None
    if target.type == "cpu":
        return storage  # torch reads every storage into host memory first
    return torch.serialization.default_restore_location(storage, str(target))


def _by_table(table: Mapping[str, Any]) -> Locate:
    def locate(storage: Storage, tag: str) -> Any:
        wanted = translate(table.get(tag, table.get(_told(tag), tag)))
        return _restored(storage, str(wanted))

    return locate


def _by_callable(function: Locate) -> Locate:
    def locate(storage: Storage, tag: str) -> Any:
        result = function(storage, _told(tag))
        return _by_tag(storage, tag) if result is None else result

    return locate


def _told(tag: str) -> str:
    """Return the tag that a program knows: a file that was saved on ``sim:1`` was written as one of ``cuda:1``."""
    kind, colon, index = tag.partition(":")
    return "cuda" + colon + index if kind in _OURS else tag


def _restored(storage: Storage, tag: str) -> Any:
    result = _by_tag(storage, tag)
    if result is None:
        return torch.serialization.default_restore_location(storage, tag)
    return result


_translating = ContextVar("translating", default=False)


@contextmanager
def translated_tags() -> Iterator[None]:
    """Inside, in this thread, loads that torch makes itself and without a ``map_location`` restore
    storages as :func:`map_location` of None does."""
    register()
    token = _translating.set(True)
    try:
        yield
    finally:
        _translating.reset(token)


@cache
def register() -> None:
    """Have torch restore storages of the ``sim`` and ``mlx`` devices where there is none: on the active backend's device.

    ``pickle.loads``, ``copy`` and ``torch.load`` of a library get here; :func:`map_location` is for ``tdev.load``. torch
    alone would refuse such a storage; those of CUDA are left to it, which other libraries may rely on.

    Source: ``torch.serialization.register_package`` documentation.
    """
    # Before CUDA's (20), which raises. Two of one priority would be compared, and functions cannot be.
    torch.serialization.register_package(19, lambda storage: None, _restore)
    torch.serialization.add_safe_globals([device])
    if current().value in _OURS:
        copyreg.pickle(torch.device, _reduced)


def _restore(storage: Storage, tag: str) -> Any:
    ours = tag.partition(":")[0] in _OURS
    return _by_tag(storage, tag) if ours or _translating.get() else None


def device(kind: str, index: int | None) -> torch.device:
    """Make the device that a ``sim`` or ``mlx`` device in a file means here; files name this function."""
    if kind == current().value:
        return torch.device(kind) if index is None else torch.device(kind, index)
    where = translate(kind if index is None else f"{kind}:{index}")
    if not isinstance(where, torch.device):
        raise ValueError(f"{kind!r} in a file is no device")
    return where


def _reduced(value: torch.device) -> Any:
    # torch's own way names the type, which a torch without that device refuses.
    return (device, (value.type, value.index)) if value.type in _OURS else value.__reduce__()
