"""Replaces a file so that it is always either the old one or the new one, never half of one."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import RawIOBase
from pathlib import Path
from types import FrameType

TEMPORARY_SUFFIX = ".tdev-tmp"


class NotWritten(Exception):
    """The file was left as it is; the message says why and what to do."""


def replace(path: Path, old: bytes, new: bytes) -> None:
    """Put ``new`` in the place of ``old``, which is what ``path`` held when it was read.

    The new file is written beside the old one, flushed to the disk, given its mode, owner and
    extended attributes, and renamed over it. An interrupt is held back until that is done.
    A file with further names (hard links) is written in place instead, so that it stays one file.
    A file that holds ``new`` already (another run was quicker) is left alone.

    Raises :class:`NotWritten` when the file is read-only, a symbolic link, gone, or no longer holds
    ``old``, and when the file system refuses.
    """
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            raise NotWritten("it has become a symbolic link; nothing is written through links")
        # The mode is asked as well: root may write everything, yet somebody meant it to stay.
        if not status.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
            raise NotWritten("it is read-only; make it writable to have it rewritten")
        with deferred_interrupts():
            _replace(path, status, old, new)
    except OSError as error:
        raise NotWritten(f"it cannot be written: {error.strerror or error}") from None


def _replace(path: Path, status: os.stat_result, old: bytes, new: bytes) -> None:
    handle, temporary = tempfile.mkstemp(TEMPORARY_SUFFIX, f".{path.name[:100]}.", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):  # only root may give files away; for others it is theirs already
            if hasattr(os, "chown"):
                os.chown(temporary, status.st_uid, status.st_gid)
        shutil.copystat(path, temporary)
        os.utime(temporary)
        now = path.read_bytes()
        if now == new:
            return
        if now != old:
            raise NotWritten("it changed on disk since it was read; run again")
        if status.st_nlink > 1:
            _write_in_place(path, old, new)
        else:
            os.replace(temporary, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _write_in_place(path: Path, old: bytes, new: bytes) -> None:
    """Overwrite a file under all its names; what it held is put back where that fails."""
    with open(path, "r+b", buffering=0) as file:
        try:
            _overwrite(file, new)
        except OSError:
            _overwrite(file, old)  # no longer than the room that it had
            raise


def _overwrite(file: RawIOBase, data: bytes) -> None:
    file.seek(0)
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]
    file.truncate()
    os.fsync(file.fileno())


class Terminated(KeyboardInterrupt):
    """SIGTERM came: the run ends as after Ctrl-C, its workers with it."""


@contextmanager
def terminations() -> Iterator[None]:
    """Raise :class:`Terminated` where SIGTERM arrives in the block and nobody else handles it."""

    def raise_it(number: int, frame: FrameType | None) -> None:
        raise Terminated

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, raise_it)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C and termination until the block is over; only the main thread gets either."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[tuple[int, FrameType | None]] = []
    names = [signal.SIGINT, signal.SIGTERM]
    before = {name: signal.signal(name, lambda *args: pending.append(args)) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, signal.SIG_DFL if handler is None else handler)
        for number, _ in pending:
            signal.raise_signal(number)
