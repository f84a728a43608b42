"""Threads and memory: a few seconds of what `stress.py` does for as long as it is asked to."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from tests.forkserver import COMPILER, environment, python

FILE = Path(__file__).with_name("stress.py")
HAS_MLX = importlib.util.find_spec("mlx") is not None
BACKENDS = [
    "cpu",
    "sim",
    pytest.param(
        "mlx",
        marks=pytest.mark.skipif(
            not HAS_MLX, reason="MLX is not installed: pip install 'tdev[mlx]'"
        ),
    ),
]
linux = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")


def run(
    backend: str, *arguments: str, seconds: str = "1", compiled: str = "0", timeout: float = 200
) -> str:
    env = environment(
        TDEV_BACKEND=backend,
        TDEV_STRESS_SECONDS=seconds,
        TDEV_STRESS_COMPILED=compiled,
    )
    done = python(str(FILE), *arguments, env=env, preload=COMPILER, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_that_do_everything_at_once(backend: str) -> None:
    assert "nothing lost" in run(backend)


ASK_AT_ONCE = """
import sys, threading
import tdev as torch

torch.zeros(1, device="cuda")
library = torch.library.Library("asked", "DEF")
names = [f"operator{number}" for number in range(300)]
for name in names:
    library.define(name + "(Tensor x) -> Tensor")
found = {name: set() for name in names}
together = threading.Barrier(8)

def ask():
    for name in names:
        together.wait()
        packet = getattr(torch.ops.asked, name)
        found[name].add((packet, packet.default))  # alive, or another could have the same address

sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(sum(len(objects) > 1 for objects in found.values()))
"""


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_threads_that_ask_for_an_operator_at_once_get_one_object(backend: str) -> None:
    # torch's C++ keeps the object it was given first without a reference: the one that another replaces dies under it.
    done = python("-c", ASK_AT_ONCE, env=environment(TDEV_BACKEND=backend))
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr[-2000:]


FORK = """
import os, signal, threading, torch, tdev
from tdev_core.accelerators.privateuse import operators

held, done = threading.Event(), threading.Event()
def hold():
    with operators._making:
        held.set()
        done.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
if not (child := os.fork()):
    signal.alarm(20)
    torch.ops.aten.FloatImplicit  # which nobody has asked for
    os._exit(0)
print(os.waitpid(child, 0)[1])
done.set()
"""


@linux
def test_a_child_forked_while_an_operator_is_made_can_make_others() -> None:
    done = python("-c", FORK, env=environment(TDEV_BACKEND="sim"))
    assert (done.returncode, done.stdout.strip()) == (0, "0"), done.stderr[-2000:]


@linux
@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_is_level_while_shapes_change(backend: str) -> None:
    run(backend, "800")


@pytest.mark.deep
@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_that_compile_too(backend: str) -> None:
    assert "nothing lost" in run(backend, seconds="30", compiled="1", timeout=400)


@linux
@pytest.mark.deep
@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_is_level_after_a_hundred_thousand_steps(backend: str) -> None:
    run(backend, "100000", timeout=900)
