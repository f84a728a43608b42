"""What the processes of ``test_processes.py`` run: ``python worker.py RANK STORE BACKEND DEVICE OUT``."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.distributed as dist
from torch import nn


def model() -> nn.Module:
    """The same parameters in every process."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8, affine=True), nn.Tanh(), nn.Linear(8, 2)
    )


def data() -> torch.Tensor:
    """Eight rows."""
    return torch.randn(8, 6, generator=torch.Generator().manual_seed(5))


def train(net: nn.Module, x: torch.Tensor) -> None:
    """Four steps; batch statistics are frozen so that the batch may be split."""
    net.eval()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()


def collectives(rank: int, device: str) -> None:
    """Every collective, with values that only the right answer gives."""

    def full(value: float, size: int = 2) -> torch.Tensor:
        return torch.full((size,), float(value), device=device)

    x = full(rank + 1)
    dist.all_reduce(x)
    assert x.tolist() == [3, 3]
    work = dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True)
    assert work is not None and work.wait() and x.tolist() == [3, 3]
    view = torch.zeros(2, 2, device=device)
    dist.all_reduce(view[rank].add_(rank + 1))
    assert view[rank].tolist() == [3, 3] and view[1 - rank].tolist() == [0, 0]
    parts = [full(0) for _ in range(2)]
    dist.all_gather(parts, full(rank))
    assert [part[0].item() for part in parts] == [0, 1]
    x = full(rank)
    dist.broadcast(x, 1)
    assert x.tolist() == [1, 1]
    x = full(rank + 1)
    dist.reduce(x, 0)
    assert rank or x.tolist() == [3, 3]
    gathered = [full(0) for _ in range(2)] if rank == 0 else None
    dist.gather(full(rank), gathered, 0)
    assert gathered is None or [part[0].item() for part in gathered] == [0, 1]
    x = full(0)
    dist.scatter(x, [full(5), full(6)] if rank == 0 else None, 0)
    assert x.tolist() == [5 + rank] * 2
    x = full(0)
    dist.all_to_all_single(x, torch.arange(2.0, device=device) + 10 * rank)
    assert x.tolist() == [rank, 10 + rank]
    if rank == 0:
        dist.send(full(7), 1)
    else:
        x = full(0)
        dist.recv(x, 0)
        assert x.tolist() == [7, 7]
    dist.barrier()
    everyone: list[Any] = [None, None]
    dist.all_gather_object(everyone, {"rank": rank})
    assert everyone == [{"rank": 0}, {"rank": 1}]
    y = torch.ones(2)
    dist.all_reduce(y)
    assert y.tolist() == [2, 2], "CPU tensors go on as they were"


def main(rank: int, store: str, backend: str, device: str, out: str) -> None:
    """One rank; writes the trained parameters to ``out``."""
    if device.startswith("sim"):
        import tdev_core.accelerators.sim

        tdev_core.accelerators.sim.activate()
    name = None if backend == "default" else backend
    dist.init_process_group(name, init_method=f"file://{store}", rank=rank, world_size=2)
    if backend != "sim:gloo":
        collectives(rank, device)
    net = nn.parallel.DistributedDataParallel(model().to(device))
    train(net, data()[rank * 4 : rank * 4 + 4].to(device))
    torch.save([p.detach().cpu() for p in net.parameters()], out)
    del net  # while torch holds the group, too: whoever lets go of it last waits for gloo's threads
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:6])
