"""Tests of the ``sim`` device itself. A process has one PrivateUse1 device, so they run in their own.

    TDEV_BACKEND=sim TDEV_SIM_DEVICES=2 pytest tests/sim/suite

Without those settings nothing here is collected; ``tests/sim/test_suite.py`` runs them as children.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

if os.environ.get("TDEV_BACKEND") == "sim":
    import hypothesis.configuration

    import tdev_core.accelerators.sim

    hypothesis.configuration.set_hypothesis_home_dir(tempfile.gettempdir() + "/tdev-hypothesis")

    tdev_core.accelerators.sim.activate()
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def _device_zero() -> Iterator[None]:
    """Every test starts on device 0 with the same seed."""
    import torch

    torch.sim.set_device(0)  # type: ignore[attr-defined]
    torch.manual_seed(0)
    yield
    torch.sim.set_device(0)  # type: ignore[attr-defined]
