"""Building the native kernels: what is said, what is left behind, and what happens without them."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tdev_core import caches
from tdev_core.accelerators.mlx import native, runtime
from tdev_core.accelerators.mlx.compiler import backend
from tdev_core.accelerators.mlx.native import fused
from tdev_core.accelerators.privateuse import native as building
from tests.accelerators.mlx.programs import run, run_module

PROGRAM = """
import torch, tdev_core.accelerators.mlx
tdev_core.accelerators.mlx.activate()
from tdev_core.accelerators.mlx import native
print((torch.ones(3, device="mlx") + 1).tolist(), native.answered(), native.start())
"""

# What a shell runs in the background has SIGINT ignored and hands that on to what it starts, these tests among it.
HEARS_CTRL_C = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[1:] = ["native"]
runpy.run_module("tdev", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "with a space and ü"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))  # of the processes that build
    monkeypatch.setenv("TDEV_CACHE_DIR", str(place))
    monkeypatch.delenv("TDEV_NATIVE", raising=False)
    return place


def build(*options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return run_module("tdev", "native", *options, **settings)


def program() -> subprocess.CompletedProcess[str]:
    return run(PROGRAM)


@pytest.mark.skipif(sys.platform == "win32", reason="CC and CXX name no compiler there")
def test_without_a_compiler_it_says_so_and_leaves_nothing(cache: Path) -> None:
    done = build(CC="/nowhere/c++", CXX="/nowhere/c++")
    assert done.returncode == 2
    assert "Is there a C++ compiler" in done.stderr and "/nowhere/c++" in done.stderr
    assert "Traceback (most recent call last)" not in done.stderr.partition("It said:")[0]
    assert list((cache / "native").iterdir()) == []
    assert list((cache.parent / "scratch").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="a process group cannot be sent Ctrl-C there")
def test_ctrl_c_leaves_nothing(cache: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HEARS_CTRL_C],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("building the native kernels")
    while not list(cache.parent.glob("scratch/tdev-building-*/setup.py")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert (process.returncode, said) == (130, "tdev native: stopped\n")
    assert list((cache / "native").iterdir()) == []
    assert list((cache.parent / "scratch").iterdir()) == []


def test_a_directory_that_cannot_be_written_is_named(cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    done = build()
    assert done.returncode == 2
    assert str(cache / "native") in done.stderr and "TDEV_CACHE_DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_place_to_keep_them_it_says_what_to_set(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(caches, "directory", lambda what: None)
    assert building.main([]) == 2
    assert "set TDEV_CACHE_DIR" in capsys.readouterr().err
    assert "set TDEV_CACHE_DIR" in native.state()


def test_what_has_been_built_is_not_built_again(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = native.LIBRARY.location()
    made.parent.mkdir(parents=True)
    made.write_bytes(b"")
    assert building.main([]) == 0
    assert capsys.readouterr().out == f"built before: {made}\n"
    assert native.state() == "native kernels"


def test_the_library_belongs_to_one_torch(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    one = native.LIBRARY.location()
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    assert native.LIBRARY.location() != one


@pytest.mark.parametrize(
    ("arguments", "status"), [(["--help"], 0), (["-x"], 2), (["--force", "more"], 2)]
)
def test_usage(arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert building.main(arguments) == status
    said = capsys.readouterr()
    assert (said.err if status else said.out).startswith("usage: python -m tdev native")


def test_a_damaged_library_is_told_once_and_python_answers(cache: Path) -> None:
    made = native.LIBRARY.location()
    made.parent.mkdir(parents=True)
    made.write_bytes(b"not a library")
    done = program()
    assert done.stdout == "[2.0, 2.0, 2.0] 0 False\n"
    assert done.stderr.count("could not be loaded") == 1
    assert "python -m tdev native --force" in done.stderr


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can make files of another user",
)
def test_a_library_of_another_user_is_neither_loaded_nor_replaced(cache: Path) -> None:
    made = native.LIBRARY.location()
    caches.write(made, b"not a library")  # would be told if anybody tried to load it
    os.chown(made, 65534, 65534)
    why = f"{made} is not used: it belongs to user 65534, not to you (0)"
    done = program()
    assert done.stdout == "[2.0, 2.0, 2.0] 0 False\n"
    assert done.stderr.count(why) == 1 and "could not be loaded" not in done.stderr
    assert why in native.state()
    os.chown(made.parent, 65534, 65534)
    for options in ((), ("--force",)):
        done = build(*options, CC="/nowhere/c++", CXX="/nowhere/c++")
        assert done.returncode == 2 and "TDEV_CACHE_DIR" in done.stderr
        assert done.stderr.startswith(f"tdev: {made.parent} is not used: it belongs to user 65534")
    assert made.read_bytes() == b"not a library"


FUSED = """
import mlx.core as mx, numpy as np
from tdev_core.accelerators.mlx.native import fused
print(fused.guard())
f = mx.compile(lambda x: mx.sin(mx.exp(x) * 2 + 1))
np.testing.assert_allclose(np.array(f(mx.ones(3))), np.sin(np.exp(np.ones(3)) * 2 + 1), rtol=1e-5)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere MLX keeps no libraries in files")
@pytest.mark.skipif(
    shutil.which("g++") is None, reason="MLX compiles them with g++, and interprets without"
)
def test_what_mlx_compiles_and_keeps_is_the_users(tmp_path: Path) -> None:
    """Somebody else may have put a library where MLX will look for the kernel that it is to compile."""

    def compiled() -> subprocess.CompletedProcess[str]:
        return run(FUSED, TMPDIR=str(tmp_path))

    done = compiled()
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
    libraries = list(tmp_path.glob("mlx/*/cpu/*.so"))
    assert libraries, "MLX keeps its kernels elsewhere: look up where, and mend native/fused.py"
    folder = libraries[0].parent
    assert [stat.S_IMODE(p.stat().st_mode) for p in list(folder.parents)[:2]] == [0o700, 0o700]
    for library in libraries:
        library.write_bytes(b"planted")
    assert compiled().returncode != 0, "it loads what lies there"
    folder.chmod(0o777)
    done = compiled()
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr
    assert f"{folder} is not used: others than you may write to it" in done.stderr
    assert "TMPDIR" in done.stderr


def test_that_is_seen_to_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "guard", lambda: 1 / 0)
    monkeypatch.setattr(runtime, "compiles", False)
    with pytest.raises(ZeroDivisionError):
        backend.backend(None, [])
    assert not runtime.compiles


def test_python_answers_where_none_has_been_built(cache: Path) -> None:
    done = program()
    assert (done.stdout, done.stderr) == ("[2.0, 2.0, 2.0] 0 False\n", "")
    assert native.state() == "Python kernels; faster: python -m tdev native"


def test_the_setting_leaves_them_out(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDEV_NATIVE", "0")
    made = native.LIBRARY.location()
    made.parent.mkdir(parents=True)
    made.write_bytes(b"not a library")  # would be told if anybody tried to load it
    done = program()
    assert (done.stdout, done.stderr) == ("[2.0, 2.0, 2.0] 0 False\n", "")
    assert native.state() == "Python kernels (TDEV_NATIVE=0)"


def test_a_python_without_its_lock_has_none(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "supported", lambda: False)
    with pytest.raises(building.BuildError, match="global interpreter lock"):
        native.LIBRARY.build()
    assert native.state() == "Python kernels (this Python cannot have native ones)"
