"""A rank's end waits until gloo's threads have let go of what they carried."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.forkserver import environment, python

pytestmark = pytest.mark.skipif(
    sys.platform != "linux",
    reason="elsewhere nobody tells what a thread does, and the end waits a fixed time",
)

# What stands for gloo's thread computes without Python's lock for a while, and then needs it.
PROGRAM = """
import hashlib
import sys
import threading

import tdev as torch
from tdev import distributed as dist

dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
dist.destroy_process_group()
begun = threading.Event()


def carry(times):
    open(f"/proc/self/task/{threading.get_native_id()}/comm", "w").write("pt_gloo_runloop")
    begun.set()
    for _ in range(times):
        hashlib.sha256(bytes(20_000_000))
    open(sys.argv[1], "w").write("let go")


threading.Thread(target=carry, args=[int(sys.argv[2])], daemon=True).start()
begun.wait()
"""


def test_the_end_waits_for_who_is_at_work(tmp_path: Path) -> None:
    end = tmp_path / "end"
    done = python("-c", PROGRAM, str(end), "1", env=environment(TDEV_BACKEND="cpu"), fresh=True)
    assert done.returncode == 0, done.stderr
    assert end.read_text(encoding="utf-8") == "let go"


def test_nobody_waits_for_one_that_does_not_end(tmp_path: Path) -> None:
    end = tmp_path / "end"
    done = python("-c", PROGRAM, str(end), "9999", env=environment(TDEV_BACKEND="cpu"), fresh=True)
    assert done.returncode == 0, done.stderr
    assert not end.exists()
