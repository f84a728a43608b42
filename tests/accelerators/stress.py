"""Eight threads that compute, draw, write, compile and allocate at once, switched as often as Python can.

    TDEV_BACKEND=sim TDEV_STRESS_SECONDS=3600 python tests/accelerators/stress.py [STEPS]

Every result is checked, and at the end that memory is level: after a first part of the run the process grows no more. With STEPS it
runs so many steps with ever new shapes on one thread instead, for memory alone. Prints a line of numbers; ends with 1 where
something was wrong.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import tdev as torch

warnings.simplefilter("ignore")
DEVICE = torch.device("cuda")  # the backend's
THREADS = 8
SHARED = torch.arange(64.0, device=DEVICE).reshape(8, 8)
ROWS = torch.zeros(THREADS, 32, device=DEVICE)
written = [0] * THREADS


def compute(thread: int, chance: random.Random) -> None:
    """A product with a tensor that all threads read, and its gradient."""
    x = torch.full((8, 8), float(thread + 1), device=DEVICE, requires_grad=True)
    ((x @ SHARED) * 2).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad.cpu(), 2 * SHARED.cpu().sum(1).expand(8, 8)), "gradient"


def shapes(thread: int, chance: random.Random) -> None:
    n, m = chance.randrange(1, 200), chance.randrange(1, 5)
    x = torch.full((n, m), 1.5, device=DEVICE)
    y = (x + x).t().contiguous()
    assert tuple(y.shape) == (m, n) and y.sum().item() == 3.0 * n * m, "shape"


def rows(thread: int, chance: random.Random) -> None:
    """Each thread counts in a row of its own."""
    ROWS[thread].add_(1)
    ROWS[thread, 3:] += 0
    written[thread] += 1
    if written[thread] % 16 == 0:
        assert ROWS[thread].unique().tolist() == [float(written[thread])], "row"


def draw(thread: int, chance: random.Random) -> None:
    a = torch.randn(16, device=DEVICE)
    b = torch.dropout(torch.ones(64, device=DEVICE), 0.5, True)
    assert not torch.equal(a.cpu(), torch.randn(16)), "two draws are one"
    assert set(b.unique().tolist()) <= {0.0, 2.0}, "dropout"


def indices(thread: int, chance: random.Random) -> None:
    index = torch.tensor([1, 3, 5], device=DEVICE)
    assert SHARED[index].sum().item() == SHARED.cpu()[[1, 3, 5]].sum().item(), "index"
    try:
        SHARED[torch.tensor([1000], device=DEVICE)]
    except (IndexError, RuntimeError):
        return
    raise AssertionError("an index out of range was not refused")


def streams(thread: int, chance: random.Random) -> None:
    mine = torch.cuda.Stream()
    with torch.cuda.stream(mine):
        assert torch.cuda.current_stream() is mine, "stream"
    assert torch.cuda.current_stream() == torch.cuda.default_stream(), "stream restored"


def moves(thread: int, chance: random.Random) -> None:
    host = torch.full((5,), float(thread))
    there = host.to("cuda")
    there += 1
    assert there.cpu().tolist() == [thread + 1.0] * 5, "move"


WORK: list[Callable[[int, random.Random], None]] = [
    compute,
    shapes,
    rows,
    draw,
    indices,
    streams,
    moves,
]


def add_compiled() -> None:
    """Compile a function before the threads start, and have them call it with shapes that are new to it."""
    backend = "mlx" if DEVICE.type == "mlx" else "aot_eager"
    compiled = torch.compile(lambda x, y: (x * 2 + y).sum(), backend=backend, dynamic=True)
    for n in (3, 4):
        compiled(torch.ones(n, device=DEVICE), torch.ones(n, device=DEVICE))

    def call(thread: int, chance: random.Random) -> None:
        n = chance.randrange(2, 9)
        x = torch.ones(n, device=DEVICE)
        assert compiled(x, x).item() == 3.0 * n, "compiled"

    WORK.append(call)


def resident() -> int:
    """Bytes of memory that the process has, after a collection."""
    gc.collect()
    if DEVICE.type == "mlx":
        import mlx.core as mx

        mx.clear_cache()
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if sys.platform == "linux" else 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def together(seconds: float) -> tuple[Counter[str], list[str]]:
    """Run all of `WORK` in random order on every thread; returns how often each ran, and what was wrong."""
    counts: list[Counter[str]] = [Counter() for _ in range(THREADS)]
    errors: list[str] = []
    end = time.monotonic() + seconds

    def go(thread: int) -> None:
        chance = random.Random(thread)
        try:
            while time.monotonic() < end and not errors:
                work = chance.choice(WORK)
                work(thread, chance)
                counts[thread][work.__name__] += 1
        except BaseException as error:
            errors.append(f"thread {thread}: {error!r}")

    threads = [threading.Thread(target=go, args=(n,)) for n in range(THREADS)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    return sum(counts, Counter()), errors


def steps(count: int) -> tuple[int, int]:
    """Take `count` steps, each with shapes of its own; returns the memory after a quarter of them, and at the end."""
    early = 0
    for step in range(count):
        x = torch.ones(step % 20011 + 1, 2, device=DEVICE)[: step % 97 + 1]
        y = torch.full((step % 89 + 1, step % 83 + 1), 2.0, device=DEVICE)
        assert (x.sum() + y.sum()).item() == 2.0 * (x.shape[0] + y.numel())
        if step == count // 4:
            early = resident()
    return early, resident()


def main() -> int:
    """Run what the arguments ask for."""
    allowed = int(os.environ.get("TDEV_STRESS_GROWTH", 24 << 20))
    if len(sys.argv) > 1:
        early, late = steps(int(sys.argv[1]))
        print(
            f"{DEVICE}: {sys.argv[1]} steps, {early >> 20} MiB after a quarter, {late >> 20} MiB at the end"
        )
        return int(late - early > allowed)
    if os.environ.get("TDEV_STRESS_COMPILED", "1") != "0":
        add_compiled()
    seconds = float(os.environ.get("TDEV_STRESS_SECONDS", 5))
    counts, errors = together(seconds / 4)
    early = resident()
    more, others = together(seconds * 3 / 4)
    late = resident()
    rows_right = ROWS.cpu().tolist() == [[float(n)] * 32 for n in written]
    total = counts + more
    print(
        f"{DEVICE}: {dict(total)}; {early >> 20} MiB, then {late >> 20} MiB; {errors + others or 'nothing lost'}"
    )
    return int(bool(errors or others) or not rows_right or late - early > allowed)


if __name__ == "__main__":
    sys.exit(main())
