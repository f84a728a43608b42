"""Tests of the ``sim`` device itself. A process has one PrivateUse1 device, so they run in their own.

    TDEV_BACKEND=sim TDEV_SIM_DEVICES=2 pytest tests/accelerators/sim/suite

Without TDEV_BACKEND=sim nothing here is collected. The device is tested without tdev's shims, as a library
sees it that knows nothing of tdev; a test that is of both asks for the fixture ``shims``.
"""

from __future__ import annotations

import gc
import os
import tempfile
import traceback
from collections.abc import Generator, Iterator

import pytest

if os.environ.get("TDEV_BACKEND") == "sim":
    import hypothesis.configuration

    os.environ.setdefault("TDEV_SIM_DEVICES", "2")  # before the device is made
    for _name in ("TDEV_SIM_MEMORY", "TDEV_SIM_RNG"):
        os.environ.pop(_name, None)
    import tdev

    hypothesis.configuration.set_hypothesis_home_dir(tempfile.gettempdir() + "/tdev-hypothesis")
    tdev.shims.uninstall()
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def _modules_are_no_garbage() -> None:
    """Many tests here collect garbage; what collecting the tests has made, torch's databases too, stays."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def shims() -> Iterator[None]:
    """Methods and constructors of torch take ``"cuda"``, as after ``import tdev``."""
    tdev.shims.install()
    yield
    tdev.shims.uninstall()


@pytest.fixture(autouse=True)
def _device_zero() -> Iterator[None]:
    """Every test starts on device 0 with the same seed."""
    import torch

    torch.sim.set_device(0)  # type: ignore[attr-defined]
    torch.manual_seed(0)
    yield
    torch.sim.set_device(0)  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Skip what older torches cannot do, where it was told in these words: a device of Python's cannot resize."""
    try:
        return (yield)
    except RuntimeError as error:
        from tdev_core.release import torch_release

        if torch_release < (2, 13) and "needs torch 2.13 or newer" in str(error):
            # pytest keeps the error, and what the test had made would die in the next one's count of bytes.
            traceback.clear_frames(error.__traceback__)
            pytest.skip(str(error).partition(":")[0])
        raise
