"""Replacing files."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tdev_core.codemod.files import write


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "größe mit leer.py"
    path.write_bytes(b"old")
    yield path
    assert [p.name for p in tmp_path.iterdir() if p.suffix == write.TEMPORARY_SUFFIX] == []


def test_contents_change_and_the_rest_stays(file: Path) -> None:
    file.chmod(0o754)
    os.setxattr(file, "user.note", b"kept")
    before = file.stat()
    os.utime(file, (1, 1))
    write.replace(file, b"old", b"new")
    after = file.stat()
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(after.st_mode) == 0o754
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert os.getxattr(file, "user.note") == b"kept"
    assert after.st_mtime > 1_000_000  # build tools see that it changed


@pytest.mark.parametrize("new", [b"n", b"new and longer"])
def test_hard_links_stay_one_file(file: Path, new: bytes) -> None:
    other = file.with_name("other.py")
    os.link(file, other)
    write.replace(file, b"old", new)
    assert file.read_bytes() == other.read_bytes() == new
    assert file.stat().st_nlink == 2 and file.samefile(other)


def test_a_hard_link_that_cannot_be_written_gets_its_contents_back(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(file, file.with_name("other.py"))
    overwrite, asked = write._overwrite, []

    def full(handle: Any, data: bytes) -> None:
        asked.append(data)
        overwrite(handle, data[:2] if len(asked) == 1 else data)
        if len(asked) == 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_overwrite", full)
    with pytest.raises(write.NotWritten, match="No space left"):
        write.replace(file, b"old", b"newer")
    assert file.read_bytes() == b"old" and asked == [b"newer", b"old"]


def test_read_only_files_are_left_alone(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(write.NotWritten, match="read-only"):
        write.replace(file, b"old", b"new")
    assert file.read_bytes() == b"old"


def test_a_file_that_changed_meanwhile_is_left_alone(file: Path) -> None:
    file.write_bytes(b"edited")
    with pytest.raises(write.NotWritten, match="changed on disk"):
        write.replace(file, b"old", b"new")
    assert file.read_bytes() == b"edited"


def test_a_file_that_another_run_wrote_is_fine(file: Path) -> None:
    file.write_bytes(b"new")
    inode = file.stat().st_ino
    write.replace(file, b"old", b"new")
    assert file.stat().st_ino == inode


def test_a_file_that_became_a_link_or_went_away(file: Path) -> None:
    target = file.with_name("target.py")
    file.rename(target)
    with pytest.raises(write.NotWritten, match="No such file"):
        write.replace(file, b"old", b"new")
    file.symlink_to(target)
    with pytest.raises(write.NotWritten, match="link"):
        write.replace(file, b"old", b"new")
    assert target.read_bytes() == b"old" and file.is_symlink()


def test_a_full_disk_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(write.NotWritten, match="No space left"):
        write.replace(file, b"old", b"new")
    assert file.read_bytes() == b"old"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_for_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    fsync = os.fsync

    def interrupted(handle: int) -> None:
        signal.raise_signal(number)
        fsync(handle)

    seen: list[bytes] = []
    before = signal.signal(number, lambda *_: seen.append(file.read_bytes()))
    monkeypatch.setattr(os, "fsync", interrupted)
    try:
        write.replace(file, b"old", b"new")
    finally:
        signal.signal(number, before)
    assert seen == [b"new"]
