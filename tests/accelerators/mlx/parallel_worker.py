"""Does one rank's part of ``test_device.py``: data-parallel training on the device, and messages between two ranks.

``parallel_worker.py RANK PORT FILE``: saves the trained parameters, and what rank 0 was sent, in FILE.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

__all__ = ["train"]

RANKS = 2


def train(rank: int | None = None) -> list[torch.Tensor]:
    """Train a small network for three steps, on a rank's share of the data or, without one, on all of it."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to("mlx")
    x = torch.linspace(-1, 1, 64).reshape(8, 8).to("mlx")
    run: Any = model
    if rank is not None:
        run = nn.parallel.DistributedDataParallel(model)
        x = x.chunk(RANKS)[rank]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        run(x).pow(2).mean().backward()
        optimizer.step()
    return [p.detach().cpu() for p in model.parameters()]


def messages(rank: int) -> list[Any]:
    """Send and receive: to and from a known rank, from whoever sends, with a tag, and from all."""
    got = torch.zeros(3, device="mlx")
    request = dist.irecv(got, src=1 - rank)
    dist.send(torch.full((3,), float(rank + 1), device="mlx"), dst=1 - rank)
    assert request is not None
    request.wait()
    gathered = [torch.zeros(1, device="mlx") for _ in range(RANKS)]
    dist.all_gather(gathered, torch.full((1,), float(rank), device="mlx"))
    anyone = torch.zeros(2, device="mlx")
    if rank == 0:
        sender = dist.recv(anyone)
        tagged = torch.zeros(2, device="mlx")
        assert dist.recv(tagged, src=1, tag=7) == 1
        anyone = torch.stack([anyone, tagged])
    else:
        sender = rank
        dist.send(anyone + 5, dst=0)
        dist.send(anyone + 6, dst=0, tag=7)
    return [got.tolist(), [g.item() for g in gathered], sender, anyone.tolist()]


def main(rank: int, port: str, file: str) -> None:
    """Be one rank."""
    import tdev_core.accelerators.mlx

    tdev_core.accelerators.mlx.activate()
    address = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=RANKS)
    found = {"parameters": train(rank), "messages": messages(rank)}
    torch.save(found, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
