"""``torch.cuda.gds``: storages to and from files, through ordinary reads and writes.

GPUDirect Storage moves data between disk and GPU without the CPU. Where the device shares the host's
memory a read into it *is* that; elsewhere the bytes take one step more and arrive the same.

Source: ``torch.cuda.gds``.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import torch

__all__ = ["GdsFile", "gds_deregister_buffer", "gds_register_buffer"]


def _storage(value: Any) -> torch.UntypedStorage:
    storage = getattr(value, "_untyped_storage", value)
    if not isinstance(storage, torch.UntypedStorage):
        raise TypeError(f"expected a storage, got {type(value).__name__}")
    return storage


def gds_register_buffer(s: Any) -> None:
    """Registration pins the buffer for the disk controller; ordinary reads need none. Checks the type."""
    _storage(s)


def gds_deregister_buffer(s: Any) -> None:
    """Undo :func:`gds_register_buffer`."""
    _storage(s)


class GdsFile(torch.cuda.gds.GdsFile):
    """A file whose contents are read into storages and written from them.

    Args:
        filename: path of the file.
        flags: for ``os.open``; ``O_DIRECT`` is not added, it would need aligned buffers.

    Raises:
        OSError: the file cannot be opened.

    Source: ``torch.cuda.gds.GdsFile``.
    """

    def __init__(self, filename: str, flags: int) -> None:
        self.handle: int | None = None
        self.filename = filename
        self.flags = flags
        self.fd = os.open(filename, flags | getattr(os, "O_BINARY", 0), 0o664)
        self.register_handle()

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)

    def register_handle(self) -> None:
        """Make the file ready for use; done at creation.

        Raises:
            AssertionError: it is registered already.
        """
        if self.handle is not None:
            raise AssertionError("the file's handle is registered already")
        self.handle = self.fd

    def deregister_handle(self) -> None:
        """End its use until it is registered again.

        Raises:
            AssertionError: it is not registered.
        """
        if self.handle is None:
            raise AssertionError("the file's handle is not registered")
        self.handle = None

    def load_storage(self, storage: Any, offset: int = 0) -> None:
        """Fill ``storage`` with the file's bytes from ``offset`` on.

        Raises:
            AssertionError: the file is not registered.
            RuntimeError: the file ends before the storage is full.
        """
        if self.handle is None:
            raise AssertionError("the file's handle is not registered")
        target = _storage(storage)
        size = target.nbytes()
        buffer = _host_storage(size)
        view = _bytes_of(buffer)
        os.lseek(self.fd, offset, os.SEEK_SET)
        done = 0
        while done < size:
            read = _read_into(self.fd, view[done:])
            if read == 0:
                raise RuntimeError(
                    f"{self.filename} ends {size - done} bytes before the storage is full "
                    f"(offset {offset}, storage {size} bytes)"
                )
            done += read
        target.copy_(buffer)

    def save_storage(self, storage: Any, offset: int = 0) -> None:
        """Write all of ``storage`` to the file from ``offset`` on.

        Raises:
            AssertionError: the file is not registered.
        """
        if self.handle is None:
            raise AssertionError("the file's handle is not registered")
        source = _host_storage(_storage(storage).nbytes())
        source.copy_(_storage(storage))
        view = _bytes_of(source)
        os.lseek(self.fd, offset, os.SEEK_SET)
        done = 0
        while done < len(view):
            done += os.write(self.fd, view[done:])


def _host_storage(size: int) -> torch.UntypedStorage:
    return torch.empty(size, dtype=torch.uint8).untyped_storage()


def _bytes_of(storage: torch.UntypedStorage) -> memoryview:
    """Return the bytes of a CPU storage; valid as long as the storage lives."""
    if storage.nbytes() == 0:
        return memoryview(b"")
    memory = (ctypes.c_ubyte * storage.nbytes()).from_address(storage.data_ptr())
    return memoryview(memory).cast("B")


def _read_into(descriptor: int, view: memoryview) -> int:
    readv = getattr(os, "readv", None)
    if readv is not None:
        return int(readv(descriptor, [view]))
    data = os.read(descriptor, len(view))
    view[: len(data)] = data
    return len(data)
