"""Nothing is read from a cache that another user could have written; what is written is the user's alone.

Files of another user are made by root, who gives them to ``nobody``: tests that need it skip for everybody else.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tdev_core import caches
from tdev_core.run.cache import CodeCache

NOBODY = 65534
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither owners nor modes")
root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can make files of another user",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A cached file as tdev writes it, in two folders that tdev has made."""
    path = tmp_path / "base" / "what" / "file"
    caches.write(path, b"kept")
    return path


def test_what_is_written_is_read_and_is_the_users_alone(file: Path) -> None:
    assert caches.read(file) == b"kept" and caches.holds(file)
    caches.write(file, b"x" * 200_000)
    assert caches.read(file) == b"x" * 200_000
    assert [entry.name for entry in file.parent.iterdir()] == ["file"]
    if sys.platform != "win32":
        modes = [stat.S_IMODE(os.stat(each).st_mode) for each in (file, *list(file.parents)[:2])]
        assert modes == [0o600, 0o700, 0o700]


@posix
def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        caches.write(tmp_path / "a" / "b" / "c" / "file", b"")
    finally:
        os.umask(before)
    for made in (tmp_path / "a").rglob("*"):
        assert stat.S_IMODE(made.stat().st_mode) & 0o077 == 0, made


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "such" / "file", tmp_path / "file"):
        assert not caches.holds(path)
        with pytest.raises(FileNotFoundError):
            caches.read(path)
    assert list(tmp_path.iterdir()) == []


def readers(file: Path) -> list[Callable[[], object]]:
    def load() -> None:
        with caches.loading(file):
            pass

    return [lambda: caches.read(file), lambda: caches.holds(file), load]


def refused(file: Path, where: Path, why: str, *, writing: bool = True) -> None:
    """Every way in and out says where, why and what to do."""
    ways = readers(file)
    if writing:
        ways.append(lambda: caches.write(file, b"new"))
    for way in ways:
        with pytest.raises(caches.Refused) as caught:
            way()
        said = str(caught.value)
        assert said.startswith(f"{where} is not used: {why}"), said
        assert "TDEV_CACHE_DIR" in said and "\n" not in said


@root
@pytest.mark.parametrize("level", [0, 1, 2], ids=["file", "folder", "folder above"])
def test_what_belongs_to_another_user_is_refused(file: Path, level: int) -> None:
    where = [file, *file.parents][level]
    os.chown(where, NOBODY, NOBODY)
    refused(file, where, f"it belongs to user {NOBODY}, not to you (0)", writing=level > 0)


@posix
@pytest.mark.parametrize("level", [0, 1, 2], ids=["file", "folder", "folder above"])
@pytest.mark.parametrize("mode", [0o020, 0o002], ids=["group", "others"])
def test_what_others_may_write_to_is_refused(file: Path, level: int, mode: int) -> None:
    where = [file, *file.parents][level]
    where.chmod(0o700 | mode)
    refused(
        file,
        where,
        f"others than you may write to it (its mode is {0o700 | mode:04o}; chmod go-w",
        writing=level > 0,
    )


@posix
@pytest.mark.parametrize("by_descriptor", [True, False], ids=["descriptor", "as on Windows"])
@pytest.mark.parametrize("level", [0, 1, 2], ids=["file", "folder", "folder above"])
def test_links_are_refused(
    file: Path, level: int, by_descriptor: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "_BY_DESCRIPTOR", by_descriptor)
    where = [file, *file.parents][level]
    moved = where.with_name("moved")
    where.rename(moved)
    where.symlink_to(moved)
    refused(file, where, "it is a symbolic link", writing=level > 0)


@posix
def test_a_link_in_the_place_of_a_file_is_replaced_not_followed(file: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"precious")
    file.unlink()
    file.symlink_to(theirs)
    caches.write(file, b"new")
    assert theirs.read_bytes() == b"precious"
    assert not file.is_symlink() and caches.read(file) == b"new"


@posix
def test_a_pipe_is_not_waited_for(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)
    refused(file, file, "it is not a plain file", writing=False)


@posix
@pytest.mark.parametrize("level", [1, 2], ids=["folder", "folder above"])
def test_a_folder_that_is_swapped_while_it_is_opened_is_not_entered(
    file: Path, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judgement is of what was opened: another folder under the same name is not looked into."""
    folder = [file, *file.parents][level]
    other = folder.with_name("other")
    planted = other / file.relative_to(folder)
    planted.parent.mkdir(parents=True)
    planted.write_bytes(b"planted")
    judge = caches._judge

    def swap(path: Path, info: os.stat_result) -> None:
        judge(path, info)
        if path == folder and other.exists():
            folder.rename(folder.with_name("gone"))
            other.rename(folder)

    monkeypatch.setattr(caches, "_judge", swap)
    assert caches.read(file) == b"kept"
    assert file.read_bytes() == b"planted"


@posix
def test_as_on_windows_files_are_read_and_written_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "_BY_DESCRIPTOR", False)
    file = tmp_path / "a" / "b" / "file"
    caches.write(file, b"kept")
    assert caches.read(file) == b"kept" and caches.holds(file)
    caches.trim(file.parent, "file", files=0)
    assert not caches.holds(file)


def test_a_failed_write_leaves_what_was_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        caches.write(file, b"new")
    assert [entry.name for entry in file.parent.iterdir()] == ["file"]
    assert caches.read(file) == b"kept"


def test_what_was_used_last_stays(file: Path) -> None:
    folder = file.parent
    for age, name in enumerate(("a.x", "b.x", "c.x", "d.x", "e.y")):
        caches.write(folder / name, b"1234")
        os.utime(folder / name, (0, time.time() - 10_000 * (age + 1)))
    caches.trim(folder, ".x", files=3)
    assert sorted(e.name for e in folder.iterdir()) == ["a.x", "b.x", "c.x", "e.y", "file"]
    if os.utime in os.supports_fd:
        caches.read(folder / "c.x")  # is the youngest from now on
        caches.trim(folder, ".x", files=2)
        assert sorted(e.name for e in folder.iterdir()) == ["a.x", "c.x", "e.y", "file"]
    caches.trim(folder, ".x", files=9, size=4)
    assert len(list(folder.glob("*.x"))) == 1


def test_halves_of_writes_go_after_an_hour(file: Path) -> None:
    for name, age in {".file.1.new": 4000, ".file.2.new": 3000}.items():
        (file.parent / name).write_bytes(b"")
        os.utime(file.parent / name, (0, time.time() - age))
    caches.trim(file.parent, "file", files=1)
    assert sorted(e.name for e in file.parent.iterdir()) == [".file.2.new", "file"]


@root
def test_a_folder_of_another_user_is_not_tidied(file: Path) -> None:
    os.chown(file.parent, NOBODY, NOBODY)
    caches.trim(file.parent, "file", files=0)
    assert file.exists()


# --- libraries, which are loaded by name -----------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a name for a descriptor")
def test_a_library_is_loaded_from_the_file_that_was_judged(file: Path) -> None:
    with caches.loading(file) as name:
        file.rename(file.with_name("gone"))
        file.write_bytes(b"planted")
        assert Path(name).read_bytes() == b"kept"
    assert Path(name).read_bytes() == b"kept"  # nothing else gets this name
    with pytest.raises(ImportError), caches.loading(file) as name:
        raise ImportError
    assert not Path(name).exists()


@pytest.fixture
def without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, which has no name for what a descriptor stands for."""
    exists = os.path.exists
    monkeypatch.setattr(
        os.path, "exists", lambda path: not str(path).startswith("/proc") and exists(path)
    )


@posix
def test_elsewhere_the_path_must_be_safe(file: Path, without_proc: None) -> None:
    with caches.loading(file) as name:
        assert name == os.path.realpath(file)
    above = file.parents[2]
    above.chmod(0o777)  # no sticky bit: everybody may rename what is in it
    assert caches.read(file) == b"kept"
    with pytest.raises(caches.Refused, match="may rename what is in"), caches.loading(file):
        pass
    with pytest.raises(caches.Refused, match="may rename what is in"):
        caches.ours(file.parent, by_path=True)
    above.chmod(0o1777)
    with caches.loading(file) as name:
        assert name == os.path.realpath(file)


@root
def test_elsewhere_a_folder_above_must_not_be_another_users(file: Path, without_proc: None) -> None:
    os.chown(file.parents[2], NOBODY, NOBODY)
    with pytest.raises(caches.Refused, match="may rename what is in"), caches.loading(file):
        pass


# --- the caches that there are ---------------------------------------------------------------------------------------


@root
def test_code_of_another_user_is_not_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole way of a planted entry: made by the rules of the cache, in a folder where everybody may write."""
    where = tmp_path / "shared" / "run"
    planted = compile("raise SystemExit('planted')", "a.py", "exec")
    CodeCache(where).put("a.py", b"x = 1\n", planted)
    assert CodeCache(where).get("a.py", b"x = 1\n") == planted
    [entry] = where.iterdir()
    os.chown(entry, NOBODY, NOBODY)
    where.chmod(0o777)
    for _ in range(2):
        cache = CodeCache(where)
        assert cache.get("a.py", b"x = 1\n") is None
        said = capsys.readouterr().err
        cache.put("a.py", b"x = 1\n", planted)
        assert cache.get("a.py", b"x = 1\n") is None
        assert capsys.readouterr().err == ""
        CodeCache(where).put("new.py", b"x = 1\n", planted)
        assert f"{where} is not used" in capsys.readouterr().err
        assert said.count("\n") == 1 and f"{where} is not used" in said, said
        where.chmod(0o700)  # now only the file is nobody's
        os.chown(where, NOBODY, NOBODY)
    assert entry.stat().st_uid == NOBODY


@root
def test_what_the_generator_remembers_is_refused_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from generator.running import caches as remembered
    from generator.running.memo import Memo

    path = tmp_path / "generator" / "formatted.json"
    memo = Memo(path)
    memo.get("key", lambda: "import planted")
    memo.save()
    assert Memo(path).get("key", lambda: "") == "import planted"
    os.chown(path, NOBODY, NOBODY)
    remembered._tell.cache_clear()
    assert Memo(path).get("key", lambda: "made anew") == "made anew"
    assert Memo(path).get("key", lambda: "made anew") == "made anew"
    assert capsys.readouterr().err.count(f"{path} is not used: it belongs to user {NOBODY}") == 1
