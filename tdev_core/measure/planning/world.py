"""Stands for the other ranks of a program: a process group that carries nothing, under whichever name the program asks for.

Source: torch's fake process group, ``torch/testing/_internal/distributed/fake_pg.py``.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
import torch.nn.parallel.distributed as data_parallel
from torch.distributed import distributed_c10d

from tdev_core.accelerators import sharded_draws
from tdev_core.errors import UnsupportedError
from tdev_core.internals import relying_on

__all__ = ["alone", "variables"]


def variables(world: int, rank: int, per_node: int) -> dict[str, str]:
    """Return what ``torchrun`` tells a rank in its environment."""
    return {
        "WORLD_SIZE": str(world),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % per_node),
        "LOCAL_WORLD_SIZE": str(min(world, per_node)),
        "GROUP_RANK": str(rank // per_node),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "plan",
    }


@contextlib.contextmanager
def alone(world: int, rank: int) -> Iterator[None]:
    """Have every process group of this process be one of ``world`` ranks that are not there.

    What would be read from the others is left as it is: a broadcast gives what this rank has, and torch's comparison of
    the ranks' models is not made.
    """
    from torch.testing._internal.distributed.fake_pg import FakeStore  # registers the backend, too

    plain_init, plain_group = distributed_c10d.init_process_group, distributed_c10d.new_group

    def init_process_group(*_: Any, **named: Any) -> None:
        names = {k: named[k] for k in ("timeout", "group_name") if named.get(k)}
        plain_init("fake", store=FakeStore(), world_size=world, rank=rank, **names)

    def new_group(*args: Any, **named: Any) -> Any:
        named.pop("pg_options", None)
        named["backend"] = None
        return plain_group(*args[:2], **named)

    with contextlib.ExitStack() as stack:
        for module in (distributed_c10d, torch.distributed):
            stack.enter_context(mock.patch.object(module, "init_process_group", init_process_group))
            stack.enter_context(mock.patch.object(module, "new_group", new_group))
        backend: Any = distributed_c10d.Backend
        served = {
            **backend.backend_capability,
            "fake": [*backend.backend_capability["fake"], "sim"],
        }
        stack.enter_context(mock.patch.object(backend, "backend_capability", served))
        for name in ("recv_object_list", "broadcast_object_list", "scatter_object_list"):
            own = _of_this_rank(getattr(distributed_c10d, name))
            for module in (distributed_c10d, torch.distributed):
                stack.enter_context(mock.patch.object(module, name, own))
        # Numbers that nobody draws need no state in common.
        stack.enter_context(mock.patch.object(sharded_draws, "take_state_of_first_rank"))
        with relying_on(
            "torch.nn.parallel.distributed", "DistributedDataParallel cannot be planned"
        ):
            # Both take numbers off the device that nobody has computed: the order of the buckets is kept.
            nothing = {
                (data_parallel, "_verify_param_shape_across_processes"): None,
                (torch.distributed.Reducer, "_rebuild_buckets"): False,
            }
            for (owner, name), answer in nothing.items():
                stack.enter_context(mock.patch.object(owner, name, mock.Mock(return_value=answer)))
        yield


def _of_this_rank(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``plain``, which hands objects on, for those that this rank sends: of the others' there is none."""
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def handed_on(*args: Any, **named: Any) -> Any:
        given = signature.bind(*args, **named).arguments
        source = given.get("src")
        if given.get("group_src") is not None:
            group: Any = given.get("group") or torch.distributed.group.WORLD
            source = distributed_c10d.get_global_rank(group, given["group_src"])
        receives = plain.__name__ == "recv_object_list"
        if receives or (source or 0) != torch.distributed.get_rank():
            raise UnsupportedError(
                "a plan runs one rank, and the program needs an object that another sends. Instead: plan a program in which "
                "ranks know without being told, or a rank that sends only (--rank).",
                "TDEV105",
            )
        return plain(*args, **named)

    return handed_on
