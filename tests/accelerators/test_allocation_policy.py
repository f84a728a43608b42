"""What a device frees is kept for the next array, where the C library would give its pages back to the system."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import pytest

from tdev_core.accelerators import allocation_policy
from tests.accelerators.mlx.programs import run

PROGRAM = """
import torch, tdev
from tdev_core.accelerators import {device} as device
from tdev_core.accelerators.cpu import heap
device.activate()
before = heap.read().large_blocks
kept = [torch.empty(24 << 20, dtype=torch.uint8) for _ in range(3)]
print(heap.source(), heap.read().large_blocks - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there MLX takes its arrays from malloc")
@pytest.mark.parametrize("device", ["mlx", "sim"])
@pytest.mark.parametrize(
    "chosen", ["", pytest.param("MALLOC_TRIM_THRESHOLD_", marks=pytest.mark.deep)]
)
def test_blocks_come_from_the_heap_unless_the_user_has_said_otherwise(
    device: str, chosen: str
) -> None:
    """A block that has a mapping of its own has its pages zeroed and mapped anew each time."""
    if device == "mlx":
        pytest.importorskip("mlx.core", reason="MLX is an extra")
    settings: dict[str, Any] = {chosen: "131072"} if chosen else {}
    done = run(PROGRAM.format(device=device), fresh=True, TDEV_BACKEND=device, **settings)
    assert done.returncode == 0, done.stderr
    source, blocks = done.stdout.split()
    if source != "mallinfo2":
        pytest.skip("this C library does not tell")
    assert blocks == ("3" if chosen else "0")


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not allocation_policy.keep_what_is_freed()
