"""The 56 functions of torch.distributed in the migration plan, each called by two ranks.

Order matters: each case leaves the process group as it found it, but the first three make it and the
last one ends it. Results must be the same through NCCL's name and through gloo's; what is expected
to differ is in ``NAMES``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from tests.distributed.distributed_worker import MINUTE, Case, Program

CASES: dict[str, Case] = {}
NAMES = {
    "get_backend": "nccl",
    "get_backend_config": "cuda:nccl",
    "get_default_backend_for_device": "nccl",
    "is_nccl_available": True,
    "is_backend_available": [True, True, False],
    "new_group": ["nccl", 1, "gloo"],
}
"""What the program reads where the library or the device has a name."""
# Before, gloo has none.
SINCE = {"all_to_all": dict.fromkeys(("cpu", "sim", "mlx"), "2.12")}
"""The first torch on which a case runs, by backend, where that is not all of them."""


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


# -- making the group ---------------------------------------------------------------------------


@case
def is_available(p: Program) -> Any:
    return p.dist.is_available(), p.dist.is_initialized()


@case
def is_torchelastic_launched(p: Program) -> Any:
    return p.dist.is_torchelastic_launched()


@case
def get_node_local_rank(p: Program) -> Any:
    return p.dist.get_node_local_rank() == int(os.environ["RANK"])


@case
def init_process_group(p: Program) -> Any:
    if p.asked:
        rank = p.dist.get_node_local_rank()
        p.dist.init_process_group("nccl", timeout=MINUTE, device_id=rank)
    else:
        p.dist.init_process_group("gloo", timeout=MINUTE)
    return p.dist.is_initialized()


# -- facts --------------------------------------------------------------------------------------


@case
def get_rank(p: Program) -> Any:
    return p.dist.get_rank()


@case
def get_world_size(p: Program) -> Any:
    return p.dist.get_world_size()


@case
def is_initialized(p: Program) -> Any:
    return p.dist.is_initialized()


@case
def get_backend(p: Program) -> Any:
    return p.dist.get_backend()


@case
def get_backend_config(p: Program) -> Any:
    return p.dist.get_backend_config()


@case
def get_default_backend_for_device(p: Program) -> Any:
    return p.dist.get_default_backend_for_device("cuda" if p.asked else "cpu")


@case
def is_backend_available(p: Program) -> Any:
    found = p.dist.is_backend_available
    return found(p.library), found(f"cpu:gloo,cuda:{p.library}"), found("no_such_library")


@case
def is_gloo_available(p: Program) -> Any:
    return p.dist.is_gloo_available()


@case
def is_mpi_available(p: Program) -> Any:
    return p.dist.is_mpi_available()


@case
def is_nccl_available(p: Program) -> Any:
    return p.dist.is_nccl_available()


@case
def is_ucc_available(p: Program) -> Any:
    return p.dist.is_ucc_available()


@case
def is_xccl_available(p: Program) -> Any:
    return p.dist.is_xccl_available()


@case
def get_pg_count(p: Program) -> Any:
    return p.dist.get_pg_count()


@case
def get_process_group_ranks(p: Program) -> Any:
    return p.dist.get_process_group_ranks(None)


@case
def supports_complex(p: Program) -> Any:
    return p.dist.supports_complex(dist.ReduceOp.SUM), p.dist.supports_complex(dist.ReduceOp.MAX)


# -- collectives --------------------------------------------------------------------------------


@case
def all_reduce(p: Program) -> Any:
    results = []
    for operation in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
        tensor = p.tensor()
        p.dist.all_reduce(tensor, operation)
        results.append(tensor)
    tensor = p.tensor().to(torch.bfloat16)
    p.dist.all_reduce(tensor, async_op=True).wait()
    return [*results, tensor]


@case
def all_reduce_coalesced(p: Program) -> Any:
    tensors = [p.tensor(), p.tensor(2)]
    p.dist.all_reduce_coalesced(tensors)
    return tensors


@case
def broadcast(p: Program) -> Any:
    tensor = p.tensor()
    p.dist.broadcast(tensor, src=1)
    return tensor


@case
def reduce(p: Program) -> Any:
    tensor = p.tensor()
    p.dist.reduce(tensor, dst=0)
    return tensor if p.rank == 0 else None


@case
def all_gather(p: Program) -> Any:
    found = [p.empty(4), p.empty(4)]
    p.dist.all_gather(found, p.tensor())
    return found


@case
def all_gather_coalesced(p: Program) -> Any:
    found = [[p.empty(4), p.empty(2)] for _ in range(2)]
    p.dist.all_gather_coalesced(found, [p.tensor(), p.tensor(2)])
    return found


@case
def all_gather_into_tensor(p: Program) -> Any:
    found = p.empty(8)
    p.dist.all_gather_into_tensor(found, p.tensor())
    return found


@case
def all_gather_object(p: Program) -> Any:
    found = [None, None]
    p.dist.all_gather_object(found, {"rank": p.rank})
    return found


@case
def all_to_all(p: Program) -> Any:
    found = [p.empty(2), p.empty(2)]
    p.dist.all_to_all(found, list(p.tensor().split(2)))
    return found


@case
def all_to_all_single(p: Program) -> Any:
    found = p.empty(4)
    p.dist.all_to_all_single(found, p.tensor())
    return found


@case
def gather(p: Program) -> Any:
    found = [p.empty(4), p.empty(4)] if p.rank == 0 else None
    p.dist.gather(p.tensor(), found, dst=0)
    return found


@case
def gather_object(p: Program) -> Any:
    found = [None, None] if p.rank == 0 else None
    p.dist.gather_object(("rank", p.rank), found, dst=0)
    return found


@case
def reduce_scatter(p: Program) -> Any:
    found = p.empty(2)
    p.dist.reduce_scatter(found, list(p.tensor().split(2)))
    return found


@case
def reduce_scatter_tensor(p: Program) -> Any:
    found = p.empty(2)
    p.dist.reduce_scatter_tensor(found, p.tensor())
    return found


@case
def scatter(p: Program) -> Any:
    found = p.empty(2)
    p.dist.scatter(found, list(p.tensor().split(2)) if p.rank == 0 else None, src=0)
    return found


@case
def broadcast_object_list(p: Program) -> Any:
    objects = [{"rank": p.rank}, p.rank]
    p.dist.broadcast_object_list(objects, src=1, device=p.torch.device(p.device))
    return objects


@case
def scatter_object_list(p: Program) -> Any:
    found = [None]
    p.dist.scatter_object_list(found, ["a", "b"] if p.rank == 0 else None, src=0)
    return found


@case
def barrier(p: Program) -> Any:
    p.dist.barrier(device_ids=[p.rank])
    return p.dist.barrier(async_op=True).wait()


@case
def monitored_barrier(p: Program) -> Any:
    return p.dist.monitored_barrier(timeout=MINUTE)


# -- point to point -----------------------------------------------------------------------------


def exchange(p: Program, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    return first() if p.rank == 0 else second()


@case
def send(p: Program) -> Any:
    found = p.empty(4)
    exchange(p, lambda: p.dist.send(p.tensor(), dst=1), lambda: p.dist.recv(found, src=0))
    return found if p.rank == 1 else None


@case
def recv(p: Program) -> Any:
    found = p.empty(4)
    return exchange(p, lambda: p.dist.recv(found), lambda: p.dist.send(p.tensor(), dst=0)), (
        found if p.rank == 0 else None
    )


@case
def isend(p: Program) -> Any:
    found = p.empty(4)
    work = exchange(p, lambda: p.dist.isend(p.tensor(), 1), lambda: p.dist.irecv(found, 0))
    return work.wait(), found if p.rank == 1 else None


@case
def irecv(p: Program) -> Any:
    found = p.empty(4)
    work = exchange(p, lambda: p.dist.irecv(found, 1), lambda: p.dist.isend(p.tensor(), 0))
    return work.wait(), found if p.rank == 0 else None


@case
def batch_isend_irecv(p: Program) -> Any:
    found = p.empty(4)
    other = 1 - p.rank
    operations = [
        p.dist.P2POp(p.dist.isend, p.tensor(), other),
        p.dist.P2POp(p.dist.irecv, found, other),
    ]
    for work in p.dist.batch_isend_irecv(operations):
        work.wait()
    return found


@case
def send_object_list(p: Program) -> Any:
    objects = ["from", p.rank]
    exchange(
        p,
        lambda: p.dist.send_object_list(objects, dst=1, device=p.device),
        lambda: p.dist.recv_object_list(objects, src=0, device=p.device),
    )
    return objects


@case
def recv_object_list(p: Program) -> Any:
    objects = [p.rank]
    return (
        exchange(
            p,
            lambda: p.dist.recv_object_list(objects, src=1),
            lambda: p.dist.send_object_list(objects, dst=0),
        ),
        objects,
    )


# -- groups -------------------------------------------------------------------------------------


@case
def new_group(p: Program) -> Any:
    both = p.dist.new_group([0, 1], backend=p.library)
    plain = p.dist.new_group([0, 1], backend="gloo")
    tensor = p.torch.ones(1, device=p.device)
    p.dist.all_reduce(tensor, group=both)
    facts = [p.dist.get_backend(both), int(tensor.item()) - 1, p.dist.get_backend(plain)]
    p.dist.destroy_process_group(both)
    p.dist.destroy_process_group(plain)
    return facts


@case
def get_group_rank(p: Program) -> Any:
    group = p.dist.new_group([1])
    found = p.dist.get_group_rank(group, 1) if p.rank == 1 else None
    p.dist.destroy_process_group(group)
    return found


@case
def get_global_rank(p: Program) -> Any:
    group = p.dist.new_group([1], use_local_synchronization=True) if p.rank == 1 else None
    if group is None:
        return None
    found = p.dist.get_global_rank(group, 0)
    p.dist.destroy_process_group(group)
    return found


@case
def new_subgroups(p: Program) -> Any:
    mine, every = p.dist.new_subgroups(1)
    found = p.dist.get_process_group_ranks(mine), len(every)
    p.dist.destroy_process_group(mine)
    return found


@case
def new_subgroups_by_enumeration(p: Program) -> Any:
    mine, every = p.dist.new_subgroups_by_enumeration([[1], [0]])
    found = p.dist.get_process_group_ranks(mine), len(every)
    p.dist.destroy_process_group(mine)
    return found


@case
def split_group(p: Program) -> Any:
    if p.asked:
        group = p.dist.split_group(split_ranks=[[0], [1]])
    else:
        group = p.dist.new_group([p.rank], use_local_synchronization=True)  # gloo cannot split
    found = p.dist.get_process_group_ranks(group)
    p.dist.destroy_process_group(group)
    return found


@case
def init_device_mesh(p: Program) -> Any:
    mesh = p.dist.init_device_mesh(
        "cuda" if p.asked else "cpu", (1, 2), mesh_dim_names=("replicate", "shard")
    )
    tensor = p.tensor()
    p.dist.all_reduce(tensor, group=mesh.get_group("shard"))
    return mesh.get_coordinate(), mesh["shard"].size(), tensor


# -- the rest -----------------------------------------------------------------------------------


@case
def rendezvous(p: Program) -> Any:
    # Not tcp://, for which a rank under torchrun is always a client of torchrun's own store.
    url = f"file://{os.environ['RENDEZVOUS_FILE']}"
    store, rank, size = next(p.dist.rendezvous(url, p.rank, 2))
    store.set(f"rank{rank}", "here")
    return store.get("rank0"), store.get("rank1"), size


@case
def register_rendezvous_handler(p: Program) -> Any:
    p.dist.register_rendezvous_handler("memory", lambda url, **_: iter([(url, 0, 1)]))
    return next(p.dist.rendezvous("memory://here", p.rank, 2))


@case
def breakpoint(p: Program) -> Any:
    return p.dist.breakpoint(rank=0, skip=1)


@case
def destroy_process_group(p: Program) -> Any:
    p.dist.destroy_process_group()
    return p.dist.is_initialized()
