"""Training by two ranks, in the words of a CUDA program and in those of a CPU program.

The mirror decides only what the words mean: on tensors that torch's CPU kernels compute (``cpu``, ``sim``) the losses
agree to the bit, on MLX to rounding.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from tdev_core.release import torch_release
from tests.distributed.distributed_worker import MINUTE, Case, Program

CASES: dict[str, Case] = {}
# Before, torch cannot take the memory of a storage of these devices away, as sharding does, and they say so.
SINCE = dict.fromkeys(("fsdp1", "fsdp2"), {"sim": "2.12", "mlx": "2.12"})
"""The first torch on which a case runs, by backend, where that is not all of them."""


def close(found: Any, expected: Any) -> bool:
    """Whether two results differ by no more than rounding."""
    if isinstance(expected, (list, tuple)):
        pairs = zip(found, expected, strict=True)
        return type(found) is type(expected) and all(close(*pair) for pair in pairs)
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-4, abs_tol=1e-6)
    return bool(found == expected)


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def model(p: Program) -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)).to(p.device)


def losses(p: Program, network: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> Any:
    """The losses of three steps on data that differ by rank."""
    optimizer = optimizer or torch.optim.SGD(network.parameters(), 0.1)
    found = []
    for step in range(3):
        batch = p.torch.full((2, 4), 1.0 + p.rank + step, device=p.device)
        loss = network(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


@case
def init_process_group(p: Program) -> Any:
    p.dist.init_process_group("cuda:nccl,cpu:gloo" if p.asked else "gloo", timeout=MINUTE)
    return p.dist.is_initialized()


@case
def ddp(p: Program) -> Any:
    device_ids = [p.rank]
    words: dict[str, Any] = {"device_ids": device_ids, "output_device": p.rank} if p.asked else {}
    network = nn.parallel.DistributedDataParallel(model(p), **words)
    assert device_ids == [p.rank]
    return losses(p, network)


@case
def zero_redundancy_optimizer(p: Program) -> Any:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    words: dict[str, Any] = {"device_ids": [p.rank]} if p.asked else {}
    network = nn.parallel.DistributedDataParallel(model(p), **words)
    optimizer = ZeroRedundancyOptimizer(network.parameters(), torch.optim.Adam, lr=0.1)
    found = losses(p, network, optimizer)
    optimizer.consolidate_state_dict(0)
    return found, len(optimizer.state_dict()["state"]) if p.rank == 0 else None


@case
def fsdp1(p: Program) -> Any:
    from torch.distributed.fsdp import FullyShardedDataParallel

    found = []
    for device in (p.rank, torch.device("cuda", p.rank), None):
        words: dict[str, Any] = {"device_id": device if p.asked else torch.device("cpu")}
        network = FullyShardedDataParallel(model(p), use_orig_params=True, **words)
        found.append(losses(p, network))
        assert network.compute_device.type == p.torch.device(p.device).type
    return found


@case
def fsdp2(p: Program) -> Any:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = p.dist.init_device_mesh("cuda" if p.asked else "cpu", (2,))
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    network = model(p)
    for layer in (network[0], network[2], network):
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    found = losses(p, network)
    return found, [parameter.full_tensor() for parameter in network.parameters()]


@case
def gradients_scattered_by_futures(p: Program) -> Any:
    """A sharded optimizer: each rank averages its part of the gradient when that has come."""
    flat = p.torch.arange(8.0, device=p.device) + p.rank
    shards = [p.torch.empty(4, device=p.device) for _ in range(3)]
    # The second name is of 2.13, which deprecates the first.
    single = "single" if torch_release >= (2, 13) else "tensor"
    works = [
        p.dist.reduce_scatter_tensor(shards[0], flat, async_op=True),
        p.dist.reduce_scatter(shards[1], list(flat.split(4)), async_op=True),
        getattr(p.dist, f"reduce_scatter_{single}")(shards[2], flat, async_op=True),
    ]
    if p.asked:
        futures = [work.get_future().then(lambda f: f.value()[0].div_(2)) for work in works]
        averages = [future.wait() for future in futures]
        for work in works:
            assert work.wait() and work.is_completed()  # and copies nothing over the average
        assert all(a is shard for a, shard in zip(averages, shards, strict=True))
    else:
        for work, shard in zip(works, shards, strict=True):
            work.wait()
            shard.div_(2)
    polled = p.dist.reduce_scatter_tensor(shards[0], flat, async_op=True)
    while p.asked and not polled.is_completed():
        pass
    if not p.asked:
        polled.wait()
    return [shard.tolist() for shard in shards]


@case
def tensor_parallel(p: Program) -> Any:
    """A block split by columns and rows, its norm along the sequence."""
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    mesh = p.dist.init_device_mesh("cuda" if p.asked else "cpu", (2,))
    torch.manual_seed(1)
    block = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)).to(p.device)
    plan = {
        "0": SequenceParallel(),
        "1": ColwiseParallel(input_layouts=Shard(1)),
        "3": RowwiseParallel(),
    }
    parallelize_module(block, mesh, plan)
    x = p.torch.arange(16.0, device=p.device).reshape(2, 2, 4) / 16
    optimizer = torch.optim.SGD(block.parameters(), 0.1)
    found = []
    for _ in range(3):
        loss = block(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


@case
def mesh_by_its_class(p: Program) -> Any:
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Shard, distribute_tensor

    kind = "cuda" if p.asked else "cpu"
    mesh = DeviceMesh(kind, [0, 1])
    found = distribute_tensor(p.torch.arange(4.0, device=p.device), mesh, [Shard(0)])
    again = DeviceMesh.from_group(p.dist.group.WORLD, kind)
    own = p.torch.device(p.device).type
    return mesh.device_type == again.device_type == own, found.to_local(), found.full_tensor()


@case
def mesh_with_a_library_of_its_own(p: Program) -> Any:
    override = {"data": p.library}
    mesh = p.dist.init_device_mesh(
        "cuda" if p.asked else "cpu", (2,), mesh_dim_names=("data",), backend_override=override
    )
    assert not p.asked or override == {"data": "nccl"}  # torch itself empties it
    tensor = p.tensor()
    p.dist.all_reduce(tensor, group=mesh.get_group("data"))
    return tensor, p.dist.get_backend(mesh.get_group("data")) == p.library


@case
def sync_batch_norm(p: Program) -> Any:
    """On the CPU, the plain program has to normalise the whole batch on each rank."""
    torch.manual_seed(2)
    batches = torch.randn(3, 2, 4, 5, 6, dtype=torch.float64)
    network: nn.Module = nn.Sequential(nn.Conv1d(5, 3, 1), nn.BatchNorm1d(3)).double()
    batches, network = batches.to(p.device), network.to(p.device)
    inner = network
    if p.asked:
        network = inner = nn.SyncBatchNorm.convert_sync_batchnorm(network)
        network = nn.parallel.DistributedDataParallel(network, device_ids=[p.rank])
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    for batch in batches:
        whole = batch[p.rank] if p.asked else batch.flatten(0, 1)
        network(whole).square().sin().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    inner.eval()
    found = [*inner.state_dict().values(), inner(batches[0, 0])]
    return [tensor.double().mul(1e9).round() for tensor in found]


@case
def checkpoint(p: Program) -> Any:
    import torch.distributed.checkpoint as dcp

    mesh = p.dist.init_device_mesh("cuda" if p.asked else "cpu", (2,))
    from torch.distributed.tensor import Shard, distribute_tensor

    saved = {"weight": distribute_tensor(p.torch.arange(4.0, device=p.device), mesh, [Shard(0)])}
    dcp.save(saved, checkpoint_id=p.folder)
    loaded = {"weight": distribute_tensor(p.torch.zeros(4, device=p.device), mesh, [Shard(0)])}
    dcp.load(loaded, checkpoint_id=p.folder)
    return loaded["weight"].full_tensor()


@case
def destroy_process_group(p: Program) -> Any:
    p.dist.destroy_process_group()
    return p.dist.is_initialized()
