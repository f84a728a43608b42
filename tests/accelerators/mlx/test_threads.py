"""Several threads on the device: MLX crashes when two evaluate at once, so nothing may evaluate outside the lock."""

from __future__ import annotations

import pytest

from tests.accelerators.mlx.programs import run

SETUP = """
import threading, warnings
import torch, tdev_core.accelerators.mlx
warnings.simplefilter("ignore")  # one of the reads is a fallback
tdev_core.accelerators.mlx.activate()
from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.accelerator import MlxAccelerator
shared = torch.randn(32, 32, device="mlx")
stop = threading.Event()
"""

COMPUTE = """
def once(x):
    for _ in range(8):
        x = (x @ shared + x).softmax(-1)
    READ
    shared.mul_(1.0)
    return x

def repeat():
    x = torch.ones(32, 32, device="mlx")
    while not stop.is_set():
        x = once(x)

def main(rounds):
    x = torch.ones(32, 32, device="mlx")
    for _ in range(rounds):
        x = once(x)
    return x
"""

ROUNDS = 60
"""Ten times as many as a process outlives without the lock."""

READS = {
    "multinomial": "torch.multinomial(x, 1)",
    "bernoulli": "torch.bernoulli(x.clamp(0, 1))",
    "normal": "torch.normal(x, x)",
    "masked_select": "x[x > 0.5]",
    "masked_scatter": "x.masked_scatter(x > 0.5, x)",
    "equal": "torch.equal(x, shared)",
    "item": "x.sum().item()",
    "cpu": "x.cpu()",
    "index": "x[(x.sum(-1) > 0).long()]",
    "repeat_interleave": "torch.repeat_interleave((x.sum(-1) > 0).long())",
    "mode": "x.mode(-1)",
    "fallback": "torch.linalg.eigvals(x)",
}


@pytest.mark.parametrize("name", READS)
def test_two_threads_compute_on_one_tensor(name: str) -> None:
    code = COMPUTE.replace("READ", READS[name])
    done = run(f"""{SETUP}{code}
threads = [threading.Thread(target=repeat) for _ in range(2)]
for t in threads: t.start()
total = main({ROUNDS}).sum().item()
stop.set()
for t in threads: t.join()
print(abs(total - 32) < 1e-2)
""")
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr[-2000:]


@pytest.mark.parametrize("call", ["allocated", "peak", "free", "synchronize"])
def test_a_thread_that_watches_the_device_does_not_disturb_it(call: str) -> None:
    code = COMPUTE.replace("READ", READS["multinomial"])
    done = run(f"""{SETUP}{code}
device = MlxAccelerator()
def watch():
    while not stop.wait(0.0005):
        device.{call}(0)
thread = threading.Thread(target=watch)
thread.start()
total = main({2 * ROUNDS}).sum().item()
stop.set()
thread.join()
print(abs(total - 32) < 1e-2)
""")
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr[-2000:]


def test_reading_the_memory_in_use_starts_work_on_the_computing_thread_only() -> None:
    done = run(f"""{SETUP}
device = MlxAccelerator()
device.allocated(0)
x = torch.rand(1 << 20, device="mlx")  # lazy
seen = []
thread = threading.Thread(target=lambda: seen.append(device.allocated(0)))
thread.start()
thread.join()
here = device.allocated(0)
print(seen[0] < 4 << 20 <= here)
""")
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr[-2000:]


TOGETHER = """
import sys, threading, warnings
import torch, tdev_core.accelerators.mlx
warnings.simplefilter("ignore")  # fallbacks are part of it
tdev_core.accelerators.mlx.activate()
sys.setswitchinterval(1e-6)

def together(work, threads=8):
    errors, gate = [], threading.Barrier(threads)
    def go(i):
        gate.wait()
        try:
            work(i)
        except BaseException as error:
            errors.append(repr(error))
    started = [threading.Thread(target=go, args=(i,)) for i in range(threads)]
    for t in started: t.start()
    for t in started: t.join()
    return errors
"""

WRITES = {
    "kernel": "rows[i].add_(1)",
    "item": "rows[i, 3:].mul_(2); rows[i, 3:] -= rows[i, 3:] / 2; rows[i] += 1",
    "of several types": "rows[i].view(torch.int32); rows[i].add_(1)",
    "on the host": "wide[i].add_(1); rows[i] += 1",
    "fallback": "torch.special.gammaln(rows[i], out=scratch[i]); rows[i] += 1",
}


@pytest.mark.parametrize("name", WRITES)
def test_threads_that_write_to_rows_of_one_tensor_lose_nothing(name: str) -> None:
    done = run(f"""{TOGETHER}
rows = torch.zeros(8, 16, device="mlx")
scratch = torch.full((8, 16), -1.0, device="mlx")
wide = torch.zeros(8, 16, dtype=torch.complex128, device="mlx")
def work(i):
    for _ in range(30):
        {WRITES[name]}
print(together(work), rows.unique().tolist(), (scratch < 0).any().item())
""")
    assert (done.returncode, done.stdout[:10]) == (0, "[] [30.0] "), (
        done.stdout + done.stderr[-2000:]
    )
    assert done.stdout.endswith(f"{name != 'fallback'}\n")


def test_what_is_computed_later_is_computed_once_by_whichever_threads_ask() -> None:
    done = run(f"""{TOGETHER}
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.storage import allocation
computed, errors = [], []
for _ in range(100):
    def compute():
        computed.append(1)
        return mx.ones((4,))
    t = allocation.defer((4,), torch.float32, compute)
    errors += together(lambda i: t[i:].sum().item(), threads=4)
print(errors, len(computed))
""")
    assert (done.returncode, done.stdout) == (0, "[] 100\n"), done.stderr[-2000:]


def test_an_index_is_checked_while_another_thread_traces() -> None:
    done = run(f"""{TOGETHER}
from tdev_core.accelerators.mlx import bounds
from tdev_core.accelerators.mlx.lazy import mx
tracing, seen = threading.Event(), threading.Event()
def work(i):
    if i:
        with bounds.collected() as checks:
            bounds.check(mx.array([10**6]), 10)
            tracing.set()
            seen.wait(60)
        assert len(checks) == 1, checks
    else:
        tracing.wait(60)
        try:
            torch.ones(10, 2, device="mlx")[torch.tensor([10**6], device="mlx")]
        except IndexError:
            print("checked")
        finally:
            seen.set()
print(together(work, threads=2))
""")
    assert (done.returncode, done.stdout) == (0, "checked\n[]\n"), done.stdout + done.stderr[-2000:]
