"""The device exists once in a process; tests of it need MLX and run where `pip install mlx` has been done."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.accelerators.mlx import kernel_compiler

pytest.importorskip("mlx.core", reason="MLX is not installed: pip install 'tdev[mlx]'")


CACHE = Path(
    os.environ.get("TDEV_TEST_CACHE") or Path(__file__).resolve().parents[3] / "build" / "cache"
)
"""Outlives the run, so that the next one need not compile the same again."""

CACHE.mkdir(
    mode=0o700, parents=True, exist_ok=True
)  # whatever the umask: libraries are loaded from it
kernel_compiler.put_first(CACHE / "mlx-kernels")

NATIVE = "test_native.py"
"""Its tests need the native kernels, which take a core for a minute: built beside the others, it comes last."""
_BUILD = """
import sys
from pathlib import Path
from tdev_core.accelerators.mlx import native
from tests.accelerators.mlx.programs import locked
with locked(Path(sys.argv[1])):
    native.LIBRARY.build()
"""
_building = pytest.StashKey["subprocess.Popen[bytes]"]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the native kernels last."""
    items.sort(key=lambda item: item.path.name == NATIVE)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to build the native kernels, in the first of pytest's processes; who needs them waits for the lock."""
    first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    controls = session.config.getoption("numprocesses", None)
    asked = any(item.path.name == NATIVE for item in session.items)
    if first and not controls and asked and not session.config.option.collectonly:
        session.config.stash[_building] = subprocess.Popen(
            [sys.executable, "-c", _BUILD, str(CACHE / "native.lock")],
            env={**os.environ, "TDEV_CACHE_DIR": str(CACHE)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # where it fails, the tests' own build says why
        )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave no compiler behind."""
    building = config.stash.get(_building, None)
    if building is not None and building.poll() is None:
        building.terminate()


@pytest.fixture(scope="session", autouse=True)
def device() -> Iterator[None]:
    """Register the device; tests of another PrivateUse1 backend need another process."""
    import torch

    taken = torch._C._get_privateuse1_backend_name()
    if taken not in ("privateuseone", "mlx"):
        pytest.skip(f"this process has the device '{taken}'; run tests/accelerators/mlx by itself")
    import tdev_core.accelerators.mlx

    tdev_core.accelerators.mlx.activate()
    yield


@pytest.fixture(autouse=True)
def nothing_compiled(device: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each test as in a program that has compiled nothing, whatever ran before."""
    from tdev_core.accelerators.mlx import runtime

    monkeypatch.setattr(runtime, "compiles", False)


@pytest.fixture
def fallbacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Counts the operators that leave the device during the test."""
    from tdev_core.accelerators.mlx.dispatch import fallback

    monkeypatch.delenv("TDEV_STRICT", raising=False)
    monkeypatch.setattr(fallback, "quiet", 1)
    fallback.counts.clear()
    yield fallback.counts
    fallback.counts.clear()
