"""What holds for the tests of every folder."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests that have Inductor build for the CPU need a torch that its compiler can find."""
    if item.get_closest_marker("inductor") is not None:
        torch = find_spec("torch")
        if torch is not None and " " in str(torch.origin):
            pytest.skip(
                "torch's Inductor cannot link where its own path has a space, in stock torch either"
            )
