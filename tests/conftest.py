"""What holds for the tests of every folder."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

# Whether somebody has built the native kernels of device mlx on this machine must not decide what is tested:
# tests/mlx/test_native.py turns them on. `TDEV_NATIVE=1 pytest tests/mlx` runs all the others with them.
os.environ.setdefault("TDEV_NATIVE", "0")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that have Inductor build for the CPU need a torch that its compiler can find."""
    if item.get_closest_marker("inductor") is not None:
        torch = find_spec("torch")
        if torch is not None and " " in str(torch.origin):
            pytest.skip(
                "torch's Inductor cannot link where its own path has a space, in stock torch either"
            )
