"""What programs rely on that were written for NCCL: joined collectives are done when the block ends, a timeout is told as NCCL's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.test_distributed import BACKENDS, forked

WORKER = str(Path(__file__).with_name("nccl_worker.py"))


@pytest.mark.parametrize("backend", [b for b in BACKENDS if b != "mlx"])
def test_two_ranks_go_on_as_on_nccl(backend: str) -> None:
    forked(WORKER, TDEV_BACKEND=backend)
