"""The methods of ``torch.UntypedStorage`` that must know a Python device.

torch's own implementations read the storage's memory or ask C++ hooks that a Python device cannot
provide: some raise, some return garbage, ``UntypedStorage(n, device=…)`` crashes the process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol, cast

import torch

__all__ = ["Storages", "install"]

_UntypedStorage: Any = torch.UntypedStorage


class Storages(Protocol):
    """Makes, reads, writes and resizes the storages of a device. Sizes are in bytes."""

    def new(self, nbytes: int, index: int | None) -> torch.UntypedStorage:
        """Make a storage with undefined contents; None means the current device."""
        ...

    def nbytes(self, storage: torch.UntypedStorage) -> int:
        """Return its size now."""
        ...

    def host(self, storage: torch.UntypedStorage) -> torch.UntypedStorage:
        """Return a CPU storage with the same bytes, to be read only: shared memory where that is possible."""
        ...

    def write(self, storage: torch.UntypedStorage, source: torch.UntypedStorage) -> None:
        """Overwrite the bytes with those of the CPU storage ``source``, which has as many."""
        ...

    def resize(self, storage: torch.UntypedStorage, nbytes: int) -> None:
        """Change the size in place, keeping the common prefix; all tensors over it see the change."""
        ...


def install(name: str, storages: Storages) -> None:
    """Route storages of device type ``name`` to ``storages``; all others keep torch's methods."""
    if not hasattr(storages, "part"):
        storages = _Parts(storages)
    cls: Any = torch.UntypedStorage
    original_new = cls.__new__

    @functools.wraps(original_new)
    def new(kind: Any, *args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == name:
            return _construct(storages, torch.device(device).index, args)
        return original_new(kind, *args, **kwargs)

    cls.__new__ = new
    routed: dict[str, Callable[..., Any]] = {
        "nbytes": lambda self: storages.nbytes(self),
        "size": lambda self: storages.nbytes(self),
        "__len__": lambda self: storages.nbytes(self),
        "cpu": lambda self: storages.host(self).clone(),
        "clone": lambda self: _clone(storages, self),
        "resize_": lambda self, size: _resize(storages, self, size),
        "tolist": lambda self: storages.host(self).tolist(),
        "__getitem__": lambda self, key: _getitem(storages, self, key),
        "__setitem__": lambda self, key, value: _setitem(storages, self, key, value),
        "fill_": lambda self, value: _setitem(storages, self, slice(None), value),
        "is_shared": lambda self: bool(getattr(storages, "is_shared", lambda _: False)(self)),
        "share_memory_": lambda self: _share_memory(name, storages, self),
        "is_pinned": lambda self, device=None: False,
        "_set_from_file": lambda self, *args: _set_from_file(storages, self, args),
        "_write_file": lambda self, *args: storages.host(self)._write_file(*args),
    }
    for method, ours in routed.items():
        original = getattr(cls, method, None)
        if original is not None:  # two of them are private to torch, for files alone
            setattr(cls, method, _route(name, original, ours))
    original_copy = cls.copy_

    @functools.wraps(original_copy)
    def copy_(self: Any, source: Any, non_blocking: bool | None = None) -> Any:
        if self.device.type != name and source.device.type != name:
            return original_copy(self, source, non_blocking)
        return _copy(name, storages, self, source)

    cls.copy_ = copy_
    share = getattr(cls, "_share_cuda_", None)
    if share is not None:
        cls._share_cuda_ = _share_by_cuda(name, share)


def _share_by_cuda(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Say of a storage elsewhere what torch says where there is CUDA: a build without it speaks of the build alone."""

    @functools.wraps(original)
    def _share_cuda_(self: Any, *args: Any) -> Any:
        where = self.device.type
        if where == name:
            raise RuntimeError(
                f"a storage on the '{name}' device has no handle of CUDA's for another process; send a CPU tensor"
            )
        if where != "cuda":
            raise RuntimeError("_share_cuda_: only available on CUDA")
        return original(self, *args)

    return _share_cuda_


def _route(name: str, original: Any, ours: Callable[..., Any]) -> Any:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.device.type == name:
            return ours(self, *args, **kwargs)
        return original(self, *args, **kwargs)

    return method


def _construct(storages: Storages, index: int | None, args: tuple[Any, ...]) -> Any:
    if not args:
        return storages.new(0, index)
    if len(args) == 1 and isinstance(args[0], int):
        if args[0] < 0:
            raise RuntimeError(f"UntypedStorage: size must not be negative, got {args[0]}")
        return storages.new(args[0], index)
    source = _UntypedStorage(*args)  # a sequence of byte values
    storage = storages.new(source.nbytes(), index)
    storages.write(storage, source)
    return storage


def _clone(storages: Storages, storage: torch.UntypedStorage) -> torch.UntypedStorage:
    return cast(torch.UntypedStorage, _new_like(storages, storage, storages.host(storage)))


def _resize(storages: Storages, storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
    if size < 0:
        raise RuntimeError(f"resize_: size must not be negative, got {size}")
    storages.resize(storage, size)
    return storage


def _share_memory(name: str, storages: Any, storage: torch.UntypedStorage) -> torch.UntypedStorage:
    share = getattr(storages, "share_memory", None)
    if share is None:
        raise RuntimeError(
            f"a storage on the '{name}' device cannot be moved to shared memory; share a CPU tensor"
        )
    share(storage)
    return storage


def _getitem(storages: Storages, storage: torch.UntypedStorage, key: Any) -> Any:
    if not isinstance(key, slice):
        return storages.host(storage)[key]
    host: Any = storages.host(storage)
    share = getattr(storages, "part", None)
    if share is not None:
        return share(storage, host[key])
    result: Any = _new_like(storages, storage, _UntypedStorage(host[key]))
    result._tdev_part = storage, key
    return result


def _new_like(storages: Storages, storage: torch.UntypedStorage, source: Any) -> Any:
    copy = storages.new(source.nbytes(), storage.device.index)
    storages.write(copy, source)
    return copy


class _Parts:
    """Reads and writes the slices of a storage, which torch has over the same memory, in the storage that they are of.

    For a device whose memory cannot be shared in part. A tensor over such a slice has the bytes as they were.
    """

    def __init__(self, storages: Storages) -> None:
        self._storages = storages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storages, name)

    def host(self, storage: Any) -> Any:
        whole, key = getattr(storage, "_tdev_part", (None, None))
        if whole is None:
            return self._storages.host(storage)
        return _UntypedStorage(cast("Any", self.host(whole))[key])

    def resize(self, storage: Any, nbytes: int) -> None:
        if hasattr(storage, "_tdev_part"):
            raise RuntimeError("Trying to resize storage that is not resizable")
        self._storages.resize(storage, nbytes)

    def write(self, storage: Any, source: Any) -> None:
        whole, key = getattr(storage, "_tdev_part", (None, None))
        if whole is not None:
            changed: Any = cast("Any", self.host(whole)).clone()
            changed[key].copy_(source)
            self.write(whole, changed)
        self._storages.write(storage, source)


def _set_from_file(storages: Storages, storage: torch.UntypedStorage, args: Any) -> Any:
    read = _UntypedStorage(storages.nbytes(storage))
    read._set_from_file(*args)
    storages.write(storage, read)
    return storage


def _setitem(storages: Storages, storage: torch.UntypedStorage, key: Any, value: Any) -> Any:
    changed: Any = cast("Any", storages.host(storage)).clone()
    changed[key] = value
    storages.write(storage, changed)
    return storage


def _copy(name: str, storages: Storages, target: Any, source: Any) -> Any:
    if target.nbytes() != source.nbytes():
        raise RuntimeError(
            f"size does not match, self was {target.nbytes()} bytes but src was {source.nbytes()} bytes"
        )
    bytes_ = storages.host(source) if source.device.type == name else source
    if target.device.type == name:
        storages.write(target, bytes_ if bytes_.device.type == "cpu" else bytes_.cpu())
    else:
        target.copy_(bytes_)
    return target
