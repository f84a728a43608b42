"""What each of two ranks does in test_distributed.py: every function of torch.distributed, once.

Run by torchrun as ``distributed_worker.py CASES MODE FILE [EXCEPT…]``. In mode ``asked`` the program
says NCCL and CUDA and goes through the mirror; in mode ``plain`` it says gloo and CPU to torch itself.
Mode ``copies`` is ``asked`` with the collectives that MPS gets in place of the device's own.
Each rank pickles a dictionary, case to result, into FILE plus its rank.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from collections.abc import Callable
from datetime import timedelta
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

from tdev_core.distributed import host_copies
from tdev_core.release import torch_release

MINUTE = timedelta(seconds=60)


class Program:
    """The names that a program reaches, and the words in which it says them."""

    def __init__(self, mode: str, folder: str) -> None:
        self.asked = mode != "plain"
        self.library = "nccl" if self.asked else "gloo"
        self.folder = folder
        self.device = "cuda" if self.asked else "cpu"
        self.torch: Any = importlib.import_module("tdev") if self.asked else torch
        self.dist: Any = self.torch.distributed

    @property
    def rank(self) -> int:
        return dist.get_rank()

    def tensor(self, count: int = 4) -> torch.Tensor:
        """Different on each rank, the same in each run."""
        return self.torch.arange(count, dtype=torch.float32, device=self.device) + 10 * self.rank

    def empty(self, *shape: int) -> torch.Tensor:
        return self.torch.empty(shape, device=self.device)


Case = Callable[[Program], Any]


def main() -> None:
    cases, mode, file = sys.argv[1:]
    torch.manual_seed(0)
    program = Program(mode, f"{file}saved")
    if mode == "copies":
        host_copies.serve("sim", "PrivateUse1")
    results: dict[str, Any] = {}
    module = importlib.import_module(cases)
    found: dict[str, Case] = module.CASES
    for name, case in found.items():
        if not runs_here(module, name, os.environ["TDEV_BACKEND"]):
            continue
        print(f"{mode} {name}", file=sys.stderr, flush=True)  # tells where a hang is
        results[name] = plain(case(program))
    with open(f"{file}{os.environ['RANK']}", "wb") as f:
        pickle.dump(results, f)


def since(cases: ModuleType, name: str, backend: str) -> str:
    """The first torch on which a case runs on a backend."""
    told: str = cases.SINCE.get(name, {}).get(backend, "2.11")
    return told


def runs_here(cases: ModuleType, name: str, backend: str) -> bool:
    """Whether the installed torch can run a case on a backend."""
    return torch_release >= tuple(map(int, since(cases, name, backend).split(".")))


def plain(value: Any) -> Any:
    """``value`` with tensors as lists, so that results compare with ``==``."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


if __name__ == "__main__":
    main()
