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
