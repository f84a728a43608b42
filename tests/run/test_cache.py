"""Compiled code on disk."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from types import CodeType

import pytest

from tdev_core import caches
from tdev_core.run import cache
from tdev_core.run.cache import CodeCache
from tests.run.conftest import Run

SOURCE = b"x = 1\n"


def code(text: str = "x = 1") -> CodeType:
    return compile(text, "file.py", "exec")


@pytest.fixture
def where(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache"


def test_what_was_put_is_got_for_the_same_source_only(where: Path) -> None:
    kept = CodeCache(where)
    assert kept.get("a.py", SOURCE) is None
    kept.put("a.py", SOURCE, code())
    assert kept.get("a.py", SOURCE) == code()
    assert kept.get("a.py", SOURCE + b"#") is None
    assert kept.get("b.py", SOURCE) is None
    assert CodeCache(where, "pytest").get("a.py", SOURCE) is None
    kept.put("a.py", b"x = 2\n", code("x = 2"))
    assert kept.get("a.py", SOURCE) is None and len(list(where.iterdir())) == 1


def test_another_version_of_the_rules_is_another_entry(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CodeCache(where).put("a.py", SOURCE, code())
    monkeypatch.setattr(cache, "fingerprint", lambda: "newer")
    assert CodeCache(where).get("a.py", SOURCE) is None


def test_optimized_code_is_another_entry(
    app: Path, python: Run, environment: dict[str, str]
) -> None:
    """``python -O`` compiles no ``assert``, and takes out what stands below ``if __debug__``."""
    (app / "main.py").write_text("import torch\nassert not torch.cuda.synchronize()\nprint('on')\n")
    arguments = ("-m", "tdev_core.run", "../app/main.py")
    for _ in range(2):
        assert python("-O", *arguments).stdout == "on\n"
        assert "AssertionError" in python(*arguments).stderr
    assert len(list(Path(environment["TDEV_CACHE_DIR"]).rglob("*.code"))) == 2


def test_the_cache_stays_small(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was used longest ago goes; what is used stays, however long ago it was written."""
    monkeypatch.setattr(cache, "FILES", 20)
    monkeypatch.setattr(cache, "_OFTEN", 5)
    kept = CodeCache(where)
    now = time.time()
    most = 0
    for number in range(300):
        kept.put(f"{number}.py", SOURCE, code())
        path = where / kept._name(f"{number}.py")
        os.utime(path, (now - 100_000 + number,) * 2)  # as if a second had passed
        assert kept.get("0.py", SOURCE) is not None
        most = max(most, len(list(where.iterdir())))
    assert 20 <= most <= 25
    assert kept.get("299.py", SOURCE) is not None and kept.get("1.py", SOURCE) is None
    monkeypatch.setattr(cache, "BYTES", 3000)
    CodeCache(where).put("new.py", SOURCE, code())
    assert sum(entry.stat().st_size for entry in where.iterdir()) <= 3000
    assert kept.get("new.py", SOURCE) is not None


def test_many_starts_leave_no_more_than_one(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FILES", 4)
    for number in range(30):
        CodeCache(where).put(f"{number}.py", SOURCE, code())
    assert len(list(where.iterdir())) == 4


def test_damage_is_no_entry(where: Path) -> None:
    kept = CodeCache(where)
    kept.put("a.py", SOURCE, code())
    [entry] = where.iterdir()
    whole = entry.read_bytes()
    for end in range(len(whole)):
        entry.write_bytes(whole[:end])
        assert kept.get("a.py", SOURCE) is None
        entry.write_bytes(whole[:end] + bytes([whole[end] ^ 1]) + whole[end + 1 :])
        assert kept.get("a.py", SOURCE) is None
    entry.write_bytes(whole)
    assert kept.get("a.py", SOURCE) == code()


def test_a_place_that_cannot_be_used_is_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "below", None):
        kept = CodeCache(place)
        kept.put("a.py", SOURCE, code())
        assert kept.get("a.py", SOURCE) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no such permissions on this system")
def test_a_directory_that_cannot_be_written_is_tolerated(
    app: Path, run: Run, environment: dict[str, str]
) -> None:
    """Root may write everywhere, so the directory is one where nobody can: below ``/proc``."""
    (app / "main.py").write_text("import torch\nprint(torch.cuda.synchronize())\n")
    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc here")
    done = run("../app/main.py", env={**environment, "TDEV_CACHE_DIR": "/proc/self/nowhere"})
    assert (done.stdout, done.stderr) == ("mirrored\n", "")


def test_the_second_start_needs_neither_the_rules_nor_the_parser(
    app: Path, run: Run, environment: dict[str, str]
) -> None:
    (app / "main.py").write_text(
        "import sys, torch, beside\n"
        "torch.cuda.synchronize()\n"
        "rules = [n for n in sys.modules if n.startswith('tdev_core.codemod.engine.')]\n"
        "print('libcst' in sys.modules, bool(rules), 'ast' in sys.modules)\n"
    )
    (app / "beside.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    assert run("../app/main.py").stdout == "True True True\n"
    assert run("../app/main.py").stdout.split()[:2] == ["False", "False"]
    entries = sorted(Path(environment["TDEV_CACHE_DIR"]).rglob("*.code"))
    assert len(entries) == 2
    for entry in entries:
        entry.write_bytes(b"tdev\x01\n" + b"damaged" * 20)
    assert run("../app/main.py").stdout == "True True True\n"
    (app / "beside.py").write_text("import torch\ntorch.cuda.synchronize()  # newer\n")
    assert run("../app/main.py").stdout == "True True True\n"
    assert run("../app/main.py").stdout.split()[:2] == ["False", "False"]


def test_without_a_cache_nothing_is_kept(app: Path, run: Run, environment: dict[str, str]) -> None:
    (app / "main.py").write_text("import torch\nprint(torch.cuda.synchronize())\n")
    assert run("--no-cache", "../app/main.py").stdout == "mirrored\n"
    assert not Path(environment["TDEV_CACHE_DIR"]).exists()


def test_the_users_directory_is_used_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TDEV_CACHE_DIR", raising=False)
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
        assert caches.directory("run") == Path("/somewhere/tdev/run")
    monkeypatch.setenv("TDEV_CACHE_DIR", "/given")
    assert caches.directory("run") == Path("/given/run")


def test_what_the_rules_failed_on_runs_as_it_is_and_is_tried_again(
    app: Path, python: Run, environment: dict[str, str]
) -> None:
    (app / "main.py").write_text("import torch\nprint(torch.cuda.synchronize())\n")
    failing = (
        "import sys\nimport tdev_core.codemod.engine as engine\n"
        "def rewrite(*a, **k): raise RuntimeError('a fault of the rules')\n"
        "engine.rewrite = rewrite\n"
        "from tdev_core.run import main\nsys.exit(main(['../app/main.py']))\n"
    )
    done = python("-c", failing)
    assert done.stdout == "not mirrored\n"
    assert "main.py runs as it is, the rules failed on it (RuntimeError: a fault" in done.stderr
    assert not list(Path(environment["TDEV_CACHE_DIR"]).rglob("*.code"))
    assert python("-m", "tdev_core.run", "../app/main.py").stdout == "mirrored\n"


def test_a_cache_that_another_could_write_to_is_given_up_with_a_word(
    where: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where.mkdir(parents=True)
    where.chmod(0o777)
    kept = CodeCache(where)
    for _ in range(2):  # said once
        kept.put("a.py", SOURCE, code())
        assert kept.get("a.py", SOURCE) is None
    assert capsys.readouterr().err.count("nothing is remembered for the next start") == 1
    assert not list(where.iterdir())
