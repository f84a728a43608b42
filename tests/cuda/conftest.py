"""What every test of what answers ``torch.cuda`` finds, also alone: the shims, and more memory than was freed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tdev  # noqa: F401  # torch.autocast("cuda"), for one, asks the shims
import torch


@pytest.fixture(autouse=True, scope="session")
def more_than_there_was_at_the_start() -> Iterator[torch.Tensor]:
    """Hold 16 MiB: numbers count from a baseline and are never negative, so that what is freed since would hide some."""
    yield torch.ones(16 << 20, dtype=torch.uint8)
