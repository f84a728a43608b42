"""``tdev run`` with the real mirror: a CUDA-only program on this machine's CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forkserver

RUN = ("-m", "tdev", "run")

TRAIN = """\
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(2, 1).cuda(), device_ids=None)
x = torch.full((4, 2), float(rank + 1), device="cuda")
model(x).sum().backward()
total = torch.tensor([rank + 1.0]).cuda()
dist.all_reduce(total)
torch.cuda.synchronize()
if rank == 0:
    print("total", total.item(), "grad", model.module.weight.grad.tolist(), sys.argv[1:], world)
dist.destroy_process_group()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The source tree, the CPU, and a cache of its own."""
    return forkserver.environment(
        TDEV_CACHE_DIR=str(tmp_path / "cache"),
        TDEV_BACKEND="cpu",
        TDEV_CUDA_AVAILABLE="true",
    )


@pytest.mark.parametrize(
    "way", ["below the launcher", pytest.param("above the launcher", marks=pytest.mark.deep)]
)
def test_torchrun(tmp_path: Path, environment: dict[str, str], way: str) -> None:
    """Two processes, a script that says nccl and cuda, and a result that is right."""
    (tmp_path / "train.py").write_text(TRAIN)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    both = [*RUN, *launcher] if way == "above the launcher" else [*launcher, *RUN]
    done = forkserver.python(*both, "train.py", "--lr", "1", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    # The sum of 1 and 2; the mean over the ranks of 4 times the input.
    assert "total 3.0 grad [[6.0, 6.0]] ['--lr', '1'] 2" in done.stdout


def test_spawn_and_torchscript(tmp_path: Path, environment: dict[str, str]) -> None:
    """A spawned worker moves to CUDA too; TorchScript compiles from the file's own lines."""
    (tmp_path / "main.py").write_text(
        "import torch\n"
        "import torch.multiprocessing as mp\n\n\n"
        "def work(rank, queue):\n"
        "    queue.put((rank, torch.ones(2).cuda().sum().item(), torch.cuda.is_available()))\n\n\n"
        "@torch.jit.script\n"
        "def double(x: torch.Tensor) -> torch.Tensor:\n"
        "    return x * 2\n\n\n"
        "if __name__ == '__main__':\n"
        "    queue = mp.get_context('spawn').SimpleQueue()\n"
        "    mp.spawn(work, args=(queue,), nprocs=1)\n"
        "    print(queue.get(), double(torch.ones(1, device='cuda')).item())\n"
    )
    done = forkserver.python(*RUN, "main.py", cwd=tmp_path, env=environment)
    assert done.stdout == "(0, 2.0, True) 2.0\n", done.stderr


def test_pytest(tmp_path: Path, environment: dict[str, str]) -> None:
    """The plugin under the name that users give."""
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "test_it.py").write_text(
        "import torch\n\n\n"
        "def test_it():\n"
        "    x = torch.arange(3, device='cuda').cuda()\n"
        "    assert torch.cuda.is_available() and x.sum().item() == 3\n"
    )
    plugins = ["-p", "tdev.pytest_plugin", "-p", "no:cacheprovider"]
    done = forkserver.python("-m", "pytest", "-q", *plugins, cwd=tmp_path, env=environment)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


ASKS = """\
# Größe
import torch
from torch.nn.utils.rnn import pack_sequence


class Settings:
    is_cuda = False


def triton_kernel(x):
    raise RuntimeError("only CUDA can")


def where(batch, ü=None):
    if batch["x"].is_cuda and "cpu" not in batch: return "there", batch["x"].is_cuda is True
    return "here", [item.is_cuda for item in batch.values()]


def fast(batch):
    if batch["x"].is_cuda:
        return triton_kernel(batch["x"])
    return batch["x"]


x = torch.ones(2)
print(where({"x": x.cuda()}), where({"x": x.cuda(), "cpu": x}), where({"x": x}), where({"x": Settings()}))
packed = {"p": pack_sequence([x.cuda()]), "s": x.cuda().untyped_storage(), "s2": x.untyped_storage()}
print([thing.is_cuda for thing in packed.values()], fast({"x": x.cuda()}).sum().item())
print(torch.compile(lambda d: d["x"] + d["x"].is_cuda, backend="eager")({"x": x.cuda()}).tolist())
"""


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_is_cuda_of_what_the_source_does_not_tell(
    tmp_path: Path, environment: dict[str, str], backend: str
) -> None:
    """What came out of a dictionary may be a tensor: only the running program knows."""
    (tmp_path / "asks.py").write_text(ASKS, encoding="utf-8")
    for _ in range(2):  # the second time from the cache
        done = forkserver.python(
            *RUN,
            "asks.py",
            cwd=tmp_path,
            env={**environment, "TDEV_BACKEND": backend},
            preload=forkserver.COMPILER,
        )
        assert done.returncode == 0, done.stderr
        there = "('there', True)" if backend == "sim" else "('here', [False])"
        mixed = [True, False] if backend == "sim" else [False, False]
        neither = "('here', [False])"
        packed = [True, True, False] if backend == "sim" else [False] * 3
        assert done.stdout.splitlines() == [
            f"{there} ('here', {mixed}) {neither} {neither}",
            f"{packed} 2.0",
            str([2.0, 2.0] if backend == "sim" else [1.0, 1.0]),
        ]


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("raise ValueError(use)", True),
        ("sys.exit('no GPU')", True),
        ("sys.exit(2)", False),
        ("sys.exit()", False),
    ],
)
def test_a_program_that_dies_after_a_false_answer_is_told_which_setting_gives_another(
    tmp_path: Path, environment: dict[str, str], end: str, told: bool
) -> None:
    (tmp_path / "train.py").write_text(
        f"import sys\nimport torch\n\nuse = torch.cuda.is_available()\n{end}\n"
    )
    run = [*RUN, "train.py"]
    del environment["TDEV_CUDA_AVAILABLE"]
    done = forkserver.python(*run, cwd=tmp_path, env=environment)
    assert ("TDEV_CUDA_AVAILABLE=true answers True" in done.stderr) is told, done.stderr
    done = forkserver.python(*run, cwd=tmp_path, env={**environment, "TDEV_CUDA_AVAILABLE": "true"})
    assert "answers True" not in done.stderr


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_a_kernel_that_the_cpu_lacks_is_told_with_the_dtype_that_answers(
    tmp_path: Path, environment: dict[str, str], backend: str
) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n\nprint(torch.tensor([True], device='cuda').abs().item())\n"
    )
    settings = {**environment, "TDEV_BACKEND": backend}
    done = forkserver.python(*RUN, "train.py", cwd=tmp_path, env=settings)
    told = "tdev run: CUDA has a kernel for abs_cpu of Bool, the CPU has none: compute it in uint8"
    if backend == "cpu":
        assert done.returncode == 1 and "not implemented for 'Bool'" in done.stderr
        assert told in done.stderr, done.stderr
    else:
        assert done.stdout == "True\n" and told not in done.stderr


@pytest.mark.parametrize("devices", [1, 2])
def test_several_devices_of_sim_are_counted(
    environment: dict[str, str], tmp_path: Path, devices: int
) -> None:
    """Also where the file asks for nothing else: to who only reads it, torch's answer would do."""
    (tmp_path / "count.py").write_text("import torch\n\nprint(torch.cuda.device_count() > 1)\n")
    where = environment | {"TDEV_BACKEND": "sim", "TDEV_SIM_DEVICES": str(devices)}
    done = forkserver.python(*RUN, str(tmp_path / "count.py"), env=where)
    assert done.stdout.split() == [str(devices > 1)], done.stderr


def test_a_vendor_is_looked_for_in_the_name_of_what_runs_it(
    environment: dict[str, str], tmp_path: Path
) -> None:
    program = "import torch\n\nname = torch.cuda.get_device_name(0)\nprint('Tesla' in name)\n"
    (tmp_path / "name.py").write_text(program)
    done = forkserver.python(*RUN, str(tmp_path / "name.py"), env=environment)
    assert done.stdout.split() == ["False"], done.stderr
