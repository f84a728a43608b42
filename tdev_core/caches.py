"""Caches of what tdev worked out and could work out again, with one way in and out of them.

What always holds:

- Nothing is read that another user could have written, because what is read may be run: a cached file, its folder
  and the folder above it belong to the user that this process runs as, nobody else may write to them, and none
  of them is a symbolic link. Root is another user to everybody else.
- What is judged is what is used: folders and files are opened once, each below the descriptor of the last one, and
  judged by ``fstat``. No name is looked up a second time, so that there is nothing to win by a quick rename.
- What is written appears whole or not at all, in files of mode 0600 and folders of mode 0700.

Windows has neither such descriptors nor these modes. There the user's own cache directory is closed to others by its
access list, which new files inherit; links and junctions are refused by name, and owners are not looked at.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = [
    "Refused",
    "claim",
    "directory",
    "holds",
    "loading",
    "ours",
    "read",
    "release",
    "trim",
    "write",
]

_BY_DESCRIPTOR = sys.platform != "win32"
_CLOSE = getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | _CLOSE | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
# Without O_NONBLOCK a pipe in the place of a file would be waited for.
_FILE = os.O_RDONLY | _CLOSE | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FILE |= getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSE | getattr(os, "O_BINARY", 0)
_UNFINISHED = ".new"
_HOUR = 3600.0


class Refused(OSError):
    """A cache that another user could have written to; the message says where, why and what to do.

    Attributes:
        what: the first half of that, for those whose remedy is another one.
    """

    def __init__(self, path: str | Path, why: str) -> None:
        self.what = f"{path} is not used: {why}, and what is kept there may be run"
        super().__init__(errno.EPERM, self.what)

    def __str__(self) -> str:
        return f"{self.what}. Set TDEV_CACHE_DIR to a folder that only you can write to"


def directory(what: str) -> Path | None:
    """Return the folder for ``what`` in ``TDEV_CACHE_DIR``, or in the user's cache directory; None where there is neither."""
    given = os.environ.get("TDEV_CACHE_DIR")
    if given:
        return Path(given) / what
    try:
        from platformdirs import user_cache_dir

        return Path(user_cache_dir("tdev", appauthor=False)) / what
    except (ImportError, RuntimeError):  # RuntimeError: no home directory
        return None


def read(path: Path) -> bytes:
    """Return what the file holds, and note for :func:`trim` that it is in use.

    Raises:
        Refused: another user could have written it.
        OSError: it is not there, or cannot be read.
    """
    with _file(path) as handle:
        info = os.fstat(handle)
        if os.utime in os.supports_fd and time.time() - info.st_mtime > _HOUR:
            with suppress(OSError):  # a disk that is only read
                os.utime(handle)
        parts = []
        while part := os.read(handle, max(info.st_size, 1 << 16)):
            parts.append(part)
        return b"".join(parts)


def holds(path: Path) -> bool:
    """Tell whether the file is there.

    Raises:
        Refused: it is, or its folder, and another user could have written it.
    """
    try:
        with _file(path):
            return True
    except Refused:
        raise
    except OSError:
        return False


def write(path: Path, data: bytes) -> None:
    """Put ``data`` into the file, in place of what it held; makes the folders that are not there.

    Raises:
        Refused: another user could write to the folder.
        OSError: the system does not let it be written.
    """
    _make(path.parent)
    with _folder(path.parent) as folder:
        new = _within(path.parent, f".{path.name}.{os.urandom(8).hex()}{_UNFINISHED}", folder)
        handle = os.open(new, _NEW, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            target = _within(path.parent, path.name, folder)
            os.replace(new, target, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(new, dir_fd=folder)
            raise


def claim(path: Path, *, seconds: float) -> bool:
    """Make an empty file for work of which one process is enough; tells whether this process is the one.

    A claim that is older than ``seconds`` is taken over: who made it may have been killed. Where two do
    that in the same moment both may be told yes, so that the work must be such as may be done twice.

    Raises:
        Refused: another user could write to the folder.
        OSError: the system does not let it be written.
    """
    _make(path.parent)
    with _folder(path.parent) as folder:
        name = _within(path.parent, path.name, folder)
        for last in (False, True):
            try:
                os.close(os.open(name, _NEW, 0o600, dir_fd=folder))
                return True
            except FileExistsError:
                with suppress(FileNotFoundError):
                    made = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
                    if last or time.time() - made < seconds:
                        return False
                    os.unlink(name, dir_fd=folder)
    return False


def release(path: Path) -> None:
    """Take back what :func:`claim` made, if it is there and the folder lets it."""
    with suppress(OSError), _folder(path.parent) as folder:
        os.unlink(_within(path.parent, path.name, folder), dir_fd=folder)


def trim(where: Path, suffix: str, *, files: int, size: int | None = None) -> None:
    """Delete what was used longest ago, until at most ``files`` files of ``size`` bytes in all end with ``suffix``.

    What a process that was killed has left half written goes too, an hour later. A folder that is not there,
    or that cannot be changed, is left as it is.
    """
    with suppress(OSError), _folder(where) as folder:
        found = []
        with os.scandir(where if folder is None else folder) as entries:
            for entry in entries:
                if not entry.name.endswith((suffix, _UNFINISHED)):
                    continue
                with suppress(OSError):  # another process is at the same work
                    info = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(suffix):
                        found.append((info.st_mtime, entry.name, info.st_size))
                    elif time.time() - info.st_mtime > _HOUR:
                        os.unlink(_within(where, entry.name, folder), dir_fd=folder)
        total = 0
        for place, (_, name, length) in enumerate(sorted(found, reverse=True)):
            total += length
            if place >= files or (size is not None and total > size):
                with suppress(OSError):
                    os.unlink(_within(where, name, folder), dir_fd=folder)


@contextmanager
def loading(path: Path) -> Iterator[str]:
    """Give the name by which the system's loader finds the very file that was judged here.

    A loader takes names only. Linux has one for what a descriptor stands for; that descriptor stays open once
    the file is loaded, because a loader takes what has the same name for the same library. Elsewhere
    it is the path, if nobody else can change a folder that leads to it.

    Raises:
        Refused: another user could have written the file, or could put another in its place.
        OSError: it is not there, or cannot be read.
    """
    with _file(path) as handle:
        if not os.path.exists(f"/proc/self/fd/{handle}"):
            yield _path_of(path, handle)
            return
        kept = os.dup(handle)
        try:
            yield f"/proc/self/fd/{kept}"
        except BaseException:
            os.close(kept)
            raise


def ours(folder: Path, *, by_path: bool = False) -> None:
    """Make a folder for the user alone where there is none yet, and see that it is the user's.

    With ``by_path`` for other people's code, which finds it by its name: that must be safe too.

    Raises:
        Refused: it is there, and another user could have written to it.
        OSError: it cannot be made.
    """
    _make(folder)
    with _opened(folder, None) as handle:
        if by_path and handle is not None:
            _path_of(folder, handle)


def _make(folder: Path) -> None:
    """Make a folder and those above it, for the user alone; ``os.makedirs`` has its mode for the last one only."""
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            with suppress(FileExistsError):  # another process was quicker
                os.mkdir(each, 0o700)


@contextmanager
def _folder(path: Path) -> Iterator[int | None]:
    """Open a cache's folder below the one above it, and judge both; gives its descriptor."""
    with _opened(path.parent, None) as above, _opened(path, above) as folder:
        yield folder


@contextmanager
def _opened(path: Path, above: int | None) -> Iterator[int | None]:
    """Open a folder by its name in the folder ``above``, or by its path, and judge it; gives its descriptor."""
    if not _BY_DESCRIPTOR:
        _refuse_link(path)
        yield None
        return
    try:
        handle = os.open(path if above is None else path.name, _FOLDER, dir_fd=above)
    except OSError as error:
        _tell_link(path, error)
        raise
    try:
        _judge(path, os.fstat(handle))
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _file(path: Path) -> Iterator[int]:
    """Open a file in its folder, and judge both; gives its descriptor."""
    with _folder(path.parent) as folder:
        try:
            if folder is None:
                _refuse_link(path)
            handle = os.open(_within(path.parent, path.name, folder), _FILE, dir_fd=folder)
        except OSError as error:
            _tell_link(path, error)
            raise
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise Refused(path, "it is not a plain file")
        _judge(path, info)
        yield handle
    finally:
        os.close(handle)


def _within(folder: Path, name: str, opened: int | None) -> str:
    """Name a file of a folder: relative to its descriptor, where it has one."""
    return name if opened is not None else str(folder / name)


def _judge(path: Path, info: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    if info.st_uid != os.geteuid():
        raise Refused(path, f"it belongs to user {info.st_uid}, not to you ({os.geteuid()})")
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(info.st_mode)
        why = f"others than you may write to it (its mode is {mode:04o}; chmod go-w ends that)"
        raise Refused(path, why)


def _path_of(path: Path, handle: int) -> str:
    """Return the path of an open file if nobody else can have it lead to another one."""
    real = Path(os.path.realpath(path))
    if sys.platform == "win32":
        return str(real)
    for each in real.parents:
        info = os.stat(each)
        shared = info.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not info.st_mode & stat.S_ISVTX
        if shared or info.st_uid not in (0, os.geteuid()):
            raise Refused(path, f"others than you may rename what is in {each}, above it")
    if not os.path.samestat(os.stat(real), os.fstat(handle)):
        raise Refused(path, "it has been replaced while it was looked at")
    return str(real)


def _refuse_link(path: Path) -> None:
    """Refuse links, and Windows' junctions, by name."""
    info = os.lstat(path)
    attributes: int = getattr(info, "st_file_attributes", 0)
    if stat.S_ISLNK(info.st_mode) or attributes & stat.FILE_ATTRIBUTE_REPARSE_POINT:
        raise Refused(path, "it is a symbolic link")


def _tell_link(path: Path, error: OSError) -> None:
    """Say in plain words that opening failed because the name is a link; systems have three codes for it."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK) and os.path.islink(path):
        raise Refused(path, "it is a symbolic link") from error
