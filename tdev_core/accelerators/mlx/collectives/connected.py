"""Collectives between processes that MLX has connected: ``mx.distributed`` moves the arrays, not gloo.

MLX connects the processes of one program (``mlx.launch``, or a ring given by ``MLX_HOSTFILE`` and ``MLX_RANK``).
`join`, which every rank calls when it makes the default process group, finds out whether that has happened and
whether MLX counts the ranks as torch does. From then on groups of all ranks use it for what MLX has: sums, means, maxima
and minima over all ranks, gathering from all, and broadcasting (as a sum in which all others give zeros). The rest goes
through gloo: MLX's ring has no reduce-scatter and no subgroups, and MLX's messages have neither tags nor "from any rank".

Source: MLX documentation, "Distributed Communication"; ``mlx/distributed/distributed.cpp``: ``init(strict=True)``
gives the group that was made before, or makes one, or raises, and then remembers nothing.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import to_mx
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.storage import allocation, contents
from tdev_core.errors import DeviceWarning, warn_once

__all__ = ["adopt_launcher", "group_of", "join", "kernel"]

_LAUNCHED = ("MLX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_world: Any = None
"""MLX's group of all ranks, once `join` has found that all ranks may use it."""
_asked = False
_found: Any = None
_asking = threading.Lock()


def _connection() -> Any:
    """Make MLX's group of this program's processes, or None where MLX was not asked to connect them."""
    global _asked, _found
    with _asking:
        if not _asked and any(name in os.environ for name in _LAUNCHED):
            _asked = True
            runtime.ready()
            try:
                _found = mx.distributed.init(strict=True)
            except Exception as error:  # MLX raises RuntimeError, ValueError, std::bad_alloc here
                warn_once(
                    f"MLX was launched with a rank but could not connect the processes ({error}); gloo carries "
                    "all collectives.",
                    DeviceWarning,
                    code="TDEV308",
                    key="mx.distributed",
                )
        return _found


def adopt_launcher() -> None:
    """Tell torch what ``mlx.launch`` says: rank, number of ranks, and where to meet.

    Does nothing where torch's own variables (``RANK``, …) are set, or MLX connects no processes.
    """
    if "RANK" in os.environ or (group := _connection()) is None or group.size() < 2:
        return
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(group.rank()), str(group.size())
    address = _first_address()
    if address and "MASTER_ADDR" not in os.environ and "MASTER_PORT" not in os.environ:
        os.environ["MASTER_ADDR"] = address
        with socket.socket() as probe:  # rank 0 finds a free port; all learn of it
            probe.bind(("", 0))
            port = probe.getsockname()[1] if group.rank() == 0 else 0
        os.environ["MASTER_PORT"] = str(runtime.item(mx.distributed.all_sum(mx.array(port))))


def _first_address() -> str | None:
    """Find out where rank 0 runs, by MLX's own variables."""
    coordinator = os.environ.get("MLX_JACCL_COORDINATOR")
    if coordinator:
        return coordinator.rpartition(":")[0]
    try:
        with open(os.environ["MLX_HOSTFILE"], encoding="utf-8") as file:
            first: str = json.load(file)[0][0]
    except (KeyError, OSError, ValueError, LookupError, TypeError):
        return None
    return first.rpartition(":")[0]


def join() -> None:
    """Use MLX's connection for the default process group, if all its ranks can; every rank calls this.

    Warns once where MLX has connected other processes, or counts them in another order.
    """
    global _world
    _world = None
    group, rank, size = (
        _connection(),
        torch.distributed.get_rank(),
        torch.distributed.get_world_size(),
    )
    same = group is not None and (group.rank(), group.size()) == (rank, size)
    # Only some ranks may have been launched by MLX: they must all do the same.
    votes = torch.tensor([int(same), int(group is not None and group.size() > 1)])
    world: Any = torch.distributed.group.WORLD
    if torch.device("cpu") not in world._device_types:
        votes = votes.to("mlx")  # as with "cuda:nccl"
    torch.distributed.all_reduce(votes, torch.distributed.ReduceOp.MIN)
    if bool(votes[0]):
        _world = group
    elif bool(votes[1]):
        warn_once(
            f"mx.distributed has this process as rank {group.rank()} of {group.size()}, torch.distributed as rank "
            f"{rank} of {size}: gloo carries all collectives. Give both the same ranks to let MLX carry them.",
            DeviceWarning,
            code="TDEV308",
            key="mx.distributed",
        )


def group_of(boxed: Any) -> Any:
    """Find MLX's group for a process group of torch; None unless it is one of all ranks in their order."""
    if _world is None or not torch.distributed.is_initialized():
        return None
    group = torch.distributed.ProcessGroup.unbox(boxed)
    if group.size() != _world.size():
        return None
    ranks = torch.distributed.get_process_group_ranks(group)
    return _world if ranks == list(range(_world.size())) else None


def kernel(op: Any) -> Callable[..., Any] | None:
    """Make a kernel of `op`, one of torch's ``c10d`` operators, through MLX; None where MLX has nothing like it.

    What is returned answers ``NotImplemented`` for arguments that are gloo's: another group, an element type or a
    reduction that MLX lacks, tensors of unequal shapes. Ranks that make the same call decide alike.
    """
    found = _KERNELS.get(op._schema.name)
    if found is None:
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        if _world is None:
            return NotImplemented
        return found(**_named(op, args, kwargs))

    return call


def _named(op: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Map every argument to its name in the schema."""
    named = {argument.name: argument.default_value for argument in op._schema.arguments}
    return {**named, **dict(zip(named, args, strict=False)), **kwargs}


def _fits(tensors: Any) -> bool:
    return all(t.device.type == "mlx" and t.dtype in to_mx and not t.is_sparse for t in tensors)


def _store(tensors: Any, arrays: Any) -> None:
    runtime.evaluate(*arrays)
    with torch.no_grad():
        for t, a in zip(tensors, arrays, strict=True):
            t.copy_(allocation.wrap(a))


def _done(tensors: Any) -> Any:
    """Make a work that is over, with the tensors that DDP looks for in it."""
    future: torch.futures.Future[Any] = torch.futures.Future()
    future.set_result(tensors)
    c10d: Any = torch._C._distributed_c10d
    return c10d._create_work_from_future(future).boxed()


def _all_reduce(*, tensors: Any, process_group: Any, reduce_op: Any, timeout: int, **_: Any) -> Any:
    group = group_of(process_group)
    if group is None or not _fits(tensors):
        return NotImplemented
    reduction = _reduction(process_group, reduce_op, timeout)
    if reduction not in _REDUCTIONS or (
        reduction != "SUM" and any(t.is_complex() or t.dtype is torch.bool for t in tensors)
    ):
        return NotImplemented
    if reduction == "AVG" and not all(t.is_floating_point() for t in tensors):
        return NotImplemented
    _store(tensors, [_REDUCTIONS[reduction](contents.array_of(t), group) for t in tensors])
    return tensors, _done(tensors)


def _all_reduce_coalesced(**arguments: Any) -> Any:
    result = _all_reduce(**arguments)
    return result if result is NotImplemented else result[1]


def _average(a: Any, group: Any) -> Any:
    return (mx.distributed.all_sum(a, group=group) / group.size()).astype(a.dtype)


_REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "SUM": lambda a, group: mx.distributed.all_sum(a, group=group),
    "AVG": _average,
    "MAX": lambda a, group: mx.distributed.all_max(a, group=group),
    "MIN": lambda a, group: mx.distributed.all_min(a, group=group),
}


def _reduction(process_group: Any, reduce_op: Any, timeout: int) -> str | None:
    """Find out the name of a reduction; None for one that needs whole numbers, or a factor.

    torch hands operators an object that does not tell what it is. So it is tried out, by gloo, on two numbers
    for which every reduction has another result.
    """
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    tried = torch.tensor([2.0, float(rank)])
    try:
        _, work = torch.ops.c10d.allreduce_([tried], process_group, reduce_op, None, True, timeout)
        torch.distributed.Work.unbox(work).wait()
    except (RuntimeError, ValueError):
        return None
    total = size * (size - 1) / 2
    return {
        (2.0 * size, total): "SUM",
        (2.0, total / size): "AVG",
        (2.0, size - 1.0): "MAX",
        (2.0, 0.0): "MIN",
    }.get((tried[0].item(), tried[1].item()))


def _broadcast(*, tensors: Any, process_group: Any, root_rank: int, **_: Any) -> Any:
    group = group_of(process_group)
    if group is None or not _fits(tensors):
        return NotImplemented
    _store(tensors, [_from_root(contents.array_of(t), root_rank, group) for t in tensors])
    return tensors, _done(tensors)


def _from_root(a: Any, root: int, group: Any) -> Any:
    # As bytes, so that no number (-0.0, NaN) changes on its way through the sum.
    data = mx.view(mx.reshape(a, (-1,)), mx.uint8) if a.size else mx.zeros((0,), dtype=mx.uint8)
    data = data if group.rank() == root else mx.zeros_like(data)
    return mx.reshape(mx.view(mx.distributed.all_sum(data, group=group), a.dtype), a.shape)


def _all_gather(*, output_tensors: Any, input_tensors: Any, process_group: Any, **_: Any) -> Any:
    group = group_of(process_group)
    everything = [*input_tensors, *(t for row in output_tensors for t in row)]
    if group is None or not _fits(everything) or _ragged(output_tensors, input_tensors):
        return NotImplemented
    for row, t in zip(output_tensors, input_tensors, strict=True):
        _store(row, list(_gathered(t, group)))
    return output_tensors, _done(output_tensors)


def _ragged(rows: Any, inputs: Any) -> bool:
    return any(
        out.shape != t.shape or out.dtype != t.dtype
        for row, t in zip(rows, inputs, strict=True)
        for out in row
    )


def _gathered(t: torch.Tensor, group: Any) -> Any:
    """Gather an array with the tensors of all ranks along a new first dimension."""
    return mx.distributed.all_gather(contents.array_of(t)[None], group=group)


def _all_gather_base(*, output_tensor: Any, input_tensor: Any, process_group: Any, **_: Any) -> Any:
    group = group_of(process_group)
    tensors = (output_tensor, input_tensor)
    if group is None or not _fits(tensors) or not _whole(*tensors, group):
        return NotImplemented
    _store([output_tensor], [mx.reshape(_gathered(input_tensor, group), output_tensor.shape)])
    return output_tensor, _done([output_tensor])


def _all_gather_base_coalesced(*, outputs: Any, inputs: Any, process_group: Any, **_: Any) -> Any:
    group = group_of(process_group)
    pairs = list(zip(outputs, inputs, strict=True))
    if group is None or not _fits([*outputs, *inputs]):
        return NotImplemented
    if not all(_whole(out, t, group) for out, t in pairs):
        return NotImplemented
    _store(outputs, [mx.reshape(_gathered(t, group), out.shape) for out, t in pairs])
    return _done(outputs)


def _whole(out: torch.Tensor, t: torch.Tensor, group: Any) -> bool:
    return out.dtype == t.dtype and out.numel() == t.numel() * group.size()


_KERNELS: dict[str, Callable[..., Any]] = {
    "c10d::allreduce_": _all_reduce,
    "c10d::allreduce_coalesced_": _all_reduce_coalesced,
    "c10d::broadcast_": _broadcast,
    "c10d::allgather_": _all_gather,
    "c10d::_allgather_base_": _all_gather_base,
    "c10d::allgather_into_tensor_coalesced_": _all_gather_base_coalesced,
}
