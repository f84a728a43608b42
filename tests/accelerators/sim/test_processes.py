"""``sim`` across processes: activation, DDP over gloo, sharing, fork."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tdev_core.release import torch_release
from tests.forkserver import COMPILER, environment, python, start

WORKER = Path(__file__).parent / "worker.py"
ACTIVATE = "import torch, tdev_core.accelerators.sim\ntdev_core.accelerators.sim.activate()\n"


def run(code: str, fresh: bool = False, **extra: str) -> str:
    done = python("-c", code, env=environment(**extra), fresh=fresh, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_one_device_by_default_and_activation_is_idempotent() -> None:
    out = run(
        ACTIVATE
        + "first = torch.sim\n"
        + "tdev_core.accelerators.sim.activate()\n"
        + "assert torch.sim is first\n"
        + "print(torch.sim.device_count(), torch.zeros(1, device='sim').device)\n"
    )
    assert out == "1 sim:0\n"


def test_importing_registers_nothing() -> None:
    out = run(
        "import sys, tdev_core.accelerators.sim, tdev_core.accelerators.privateuse\n"
        "assert 'torch' not in sys.modules\n"
        "import torch\n"
        "print(torch._C._get_privateuse1_backend_name())\n",
        fresh=True,
    )
    assert out == "privateuseone\n"


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("torch.utils.rename_privateuse1_backend('npu')", "PrivateUse1"),
        ("torch.sim = 1", "torch.sim exists already"),
    ],
)
def test_slot_taken(before: str, message: str) -> None:
    out = run(
        f"import torch, tdev_core.accelerators.sim\n{before}\n"
        "from tdev_core.errors import ConfigError\n"
        "try: tdev_core.accelerators.sim.activate()\n"
        "except ConfigError as error: print(error)\n"
    )
    assert message in out and "'sim' device cannot be registered" in out


@pytest.mark.parametrize("name", ["TDEV_SIM_DEVICES", "TDEV_SIM_MEMORY", "TDEV_SIM_RNG"])
def test_bad_settings(name: str) -> None:
    code = (
        "import torch, tdev_core.accelerators.sim\n"
        "from tdev_core.errors import ConfigError\n"
        "try: tdev_core.accelerators.sim.activate()\n"
        "except ConfigError as error: print(error)\n"
        "print(torch._C._get_privateuse1_backend_name())\n"
    )
    out = run(code, **{name: "nonsense"})
    assert f"{name}='nonsense'" in out and out.endswith("privateuseone\n")


def test_capacity_from_the_environment() -> None:
    out = run(
        ACTIVATE + "print(torch.sim.mem_get_info())\n"
        "try: torch.zeros(1 << 20, device='sim')\n"
        "except torch.cuda.OutOfMemoryError as error: print(error)\n",
        TDEV_SIM_MEMORY="1MiB",
    )
    assert out.startswith("(1048576, 1048576)\n")
    assert "Tried to allocate 4.00 MiB" in out and "capacity of 1024.00 KiB" in out


def distribute(tmp_path: Path, backend: str, device: str) -> list[list[torch.Tensor]]:
    """Run two workers; the parameters each ends with."""
    store = tmp_path / f"store-{device}"
    outs = [tmp_path / f"{device}-{rank}.pt" for rank in range(2)]
    workers = [
        start(
            *(str(WORKER), str(rank), str(store), backend, device, str(out)),
            env=environment(),
            preload=COMPILER,
        )
        for rank, out in enumerate(outs)
    ]
    for worker in workers:
        done = worker.wait(timeout=180)
        assert done.returncode == 0, done.stderr[-3000:]
    return [torch.load(out) for out in outs]


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("gloo", marks=pytest.mark.deep),
        "cpu:gloo,sim:gloo",
        pytest.param("sim:gloo", marks=pytest.mark.deep),
        "default",
    ],
)
def test_ddp(tmp_path: Path, backend: str) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("sim_worker", WORKER)
    assert spec is not None and spec.loader is not None
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    alone = worker.model()
    worker.train(alone, worker.data())
    first, second = distribute(tmp_path, backend, "sim")
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    for mine, theirs in zip(alone.parameters(), first, strict=True):
        torch.testing.assert_close(mine.detach(), theirs, rtol=1e-6, atol=1e-7)
    if backend == "gloo":
        on_cpu, _ = distribute(tmp_path, backend, "cpu")
        assert all(torch.equal(a, b) for a, b in zip(first, on_cpu, strict=True))


SPAWN = """
import torch, torch.multiprocessing as mp, tdev_core.accelerators.sim
tdev_core.accelerators.sim.activate()

def child(queue, done):
    a, b, p = queue.get()
    assert a.device == torch.device("sim", 0) and type(p) is torch.nn.Parameter and p.requires_grad
    assert a.untyped_storage() is b.untyped_storage()
    a.add_(100)
    b[0] = -1
    done.put(float(p.detach().sum()))

if __name__ == "__main__":
    context = mp.get_context("spawn")
    queue, done = context.Queue(), context.Queue()
    process = context.Process(target=child, args=(queue, done))
    process.start()
    x = torch.arange(4.0, device="sim")
    before = torch.sim.memory_allocated()
    view = x[2:]
    queue.put((x, x[1:], torch.nn.Parameter(torch.ones(2, device="sim"))))
    assert done.get(timeout=60) == 2.0
    process.join()
    assert x.is_shared() and x.tolist() == [100, -1, 102, 103], x
    view[0] = 0
    assert x[2] == 0 and view.data_ptr() == x.data_ptr() + 8
    del view
    assert torch.sim.memory_allocated() == before
    print("shared")
"""


@pytest.mark.skipif(
    torch_release < (2, 13), reason="torch 2.13 is the first that gives a storage other memory"
)
def test_spawned_processes_share_memory(tmp_path: Path) -> None:
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    done = python(str(script), env=environment(), timeout=120)
    assert done.returncode == 0 and done.stdout == "shared\n", done.stderr[-3000:]


def test_what_this_torch_cannot_share_or_resize_is_as_it_was() -> None:
    """A torch older than 2.13 cannot have a storage follow the memory that its host would be given."""
    out = run(
        ACTIVATE
        + "x = torch.arange(4.0, device='sim')\n"
        + "torch.UntypedStorage._swap_data_ptr_ = None\n"
        + "for call in (x.share_memory_, lambda: x.untyped_storage().resize_(1 << 20)):\n"
        + "    before = x.data_ptr()\n"
        + "    try: call()\n"
        + "    except RuntimeError as error: print(str(error).partition(', this is')[0])\n"
        + "    storage = x.untyped_storage()\n"
        + "    assert not storage.is_shared() and storage.nbytes() == 16 and x.data_ptr() == before\n"
        + "    assert x.tolist() == [0, 1, 2, 3]\n",
        TDEV_NATIVE="0",
    )
    (line,) = set(out.splitlines())
    assert line.endswith("needs torch 2.13 or newer") and "sharing it" in line and "'sim'" in line


def test_forked_child_refuses_like_cuda() -> None:
    out = run(
        ACTIVATE
        + """
import os, sys
def child():
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1]
    try:
        torch.ones(1, device="sim")
    except RuntimeError as error:
        print(error, torch.sim._is_in_bad_fork())
    else:
        print("works", torch.sim._is_in_bad_fork())
    torch.manual_seed(0)
    sys.stdout.flush()
    os._exit(0)

child()
keep = torch.ones(1, device="sim")
child()
print((keep + 1).item())
"""
    )
    lines = out.splitlines()
    assert lines[0] == "works False"
    assert "Cannot re-initialize sim in forked subprocess" in lines[1] and "'spawn'" in lines[1]
    assert lines[1].endswith("True") and lines[2] == "2.0"
