"""The native kernels of ``sim``: they are built, and the device's suite passes with them, in processes of their own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdev_core.accelerators.privateuse.native import Library
from tests.accelerators.mlx.programs import locked, run, run_module

ROOT = Path(__file__).resolve().parents[3]
CACHE = Path(os.environ.get("TDEV_TEST_CACHE") or ROOT / "build" / "cache")
SUITE = "tests/accelerators/sim/suite"
SIM = {"TDEV_BACKEND": "sim", "TDEV_SIM_DEVICES": "2", "TDEV_NATIVE": "1"}

needs_compiler = pytest.mark.skipif(
    sys.platform == "win32" or not any(map(shutil.which, ("c++", "g++", "clang++"))),
    reason="the native kernels are built with a C++ compiler",
)


@pytest.fixture(scope="module")
def cache() -> Iterator[dict[str, str]]:
    """Settings with which the built kernels are found; they outlive the run."""
    CACHE.mkdir(mode=0o700, parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TDEV_CACHE_DIR", str(CACHE))
        with locked(CACHE / "sim.lock"):
            Library("sim").build()
    yield {**SIM, "TDEV_CACHE_DIR": str(CACHE)}


def _passes(cache: dict[str, str], *arguments: str) -> str:
    done = run_module(
        "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *arguments, timeout=1500, **cache
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@needs_compiler
@pytest.mark.timeout(600)  # a compiler beside other tests
def test_they_do_what_pythons_do(cache: dict[str, str]) -> None:
    assert "skipped" not in _passes(cache, f"{SUITE}/test_native.py")


@pytest.mark.deep  # two minutes
@needs_compiler
@pytest.mark.timeout(1800)
def test_the_whole_suite_passes_with_them(cache: dict[str, str]) -> None:
    _passes(cache, "-m", "deep or not deep", SUITE)


PROGRAM = """
import torch, tdev
from tdev_core.accelerators.sim import native
print(torch.ones(3, device="sim").add(1).tolist(), native.answered() > 0, native.state())
"""


def test_one_of_other_sources_is_not_found_and_python_answers(tmp_path: Path) -> None:
    """The name holds what the library was made of: an old one lies there and is no more."""
    folder = tmp_path / "native"
    folder.mkdir(mode=0o700)
    (folder / "tdev_sim_native-0123456789abcdef.so").write_bytes(b"of other sources")
    done = run(PROGRAM, **SIM, TDEV_CACHE_DIR=str(tmp_path))
    assert (
        done.stdout == "[2.0, 2.0, 2.0] False Python kernels; faster: python -m tdev native sim\n"
    )
    assert done.stderr == ""


def test_a_damaged_one_is_told_once_and_python_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDEV_CACHE_DIR", str(tmp_path))
    made = Library("sim").location()
    made.parent.mkdir(mode=0o700)
    made.write_bytes(b"not a library")
    done = run(PROGRAM, **SIM)
    assert done.stdout.startswith("[2.0, 2.0, 2.0] False"), done.stderr
    assert done.stderr.count("could not be loaded") == 1
    assert "python -m tdev native sim --force" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="CC and CXX name no compiler there")
def test_without_a_compiler_the_command_says_so_once(tmp_path: Path) -> None:
    done = run_module(
        "tdev", "native", "sim", CC="/nowhere/c++", CXX="/nowhere/c++", TDEV_CACHE_DIR=str(tmp_path)
    )
    assert done.returncode == 2 and done.stderr.count("Is there a C++ compiler") == 1
    assert "device sim" in done.stdout


GENERIC = """
import torch, tdev
device = torch.ones(1, device="sim").device
one, other = torch.Stream(), torch.Stream(device)
before = torch.accelerator.current_stream()
print(len({one.stream_id, other.stream_id, before.stream_id}), one.device == other.device == device)
with other:
    print(torch.accelerator.current_stream() == other == tdev.cuda.current_stream())
    event = torch.Event()
    event.record(other)
print(torch.accelerator.current_stream() == before, event.query(), one.query())
torch.accelerator.set_stream(one)
print(torch.accelerator.current_stream() == one == tdev.cuda.current_stream())
torch.accelerator.empty_host_cache()
"""


@needs_compiler
@pytest.mark.timeout(600)  # a compiler beside other tests
def test_streams_of_the_generic_api(cache: dict[str, str]) -> None:
    """As a library makes them that is not rewritten, on one device."""
    done = run(GENERIC, **cache | {"TDEV_SIM_DEVICES": "1"})
    assert done.stdout.split() == ["3", *["True"] * 6], done.stderr
