"""Making process groups for programs written for NCCL, on hosts without CUDA.

A request for NCCL is granted through gloo (see :mod:`tdev_core.distributed.backend_names`). Collectives need
no help: the tensors are the host's own, and so are torch's functions. What does is everything that
names a backend or a device.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from tdev_core.accelerators.privateuse import coalescing
from tdev_core.backend import Backend, current
from tdev_core.devices import ACCELERATORS, translate
from tdev_core.distributed.backend_names import adopt_interface, host_name
from tdev_core.distributed.ending import wait_at_exit
from tdev_core.distributed.group_backends import asked_for, remember

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = [
    "bound_device",
    "init_process_group",
    "is_own_cpu",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "own_options",
    "split_group",
]


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: torch.device | int | None = None,
    _ranks: list[int] | None = None,
    enable_reconfigure: bool = False,
) -> None:
    """Make the default process group on this host's own backend, whatever device library is named.

    ``pg_options`` of a library that is not here are not used; nor is ``device_id``, which binds NCCL
    to a device. On ``mlx``, processes that MLX has connected (``mlx.launch``) need no other launcher, and
    MLX carries the collectives that it has. Raises what ``torch.distributed.init_process_group`` raises.
    """
    asked = backend
    if asked is None:
        asked = _default_library(device_id)
    # torch picks by the accelerator that it finds, also where a CPU was asked for that has a GPU beside it.
    if asked is None and (current() is not Backend.CPU or torch.accelerator.is_available()):
        asked = "undefined"  # which is what torch calls a backend that it picks by the accelerator
    adopt_interface()
    coalescing.install()
    if current() is Backend.MLX and store is None and init_method in (None, "env://"):
        from tdev_core.accelerators.mlx.collectives import connected

        connected.adopt_launcher()
    dist.init_process_group(
        None if asked is None else host_name("nccl" if asked == "undefined" else asked),
        init_method,
        timeout,
        world_size,
        rank,
        store,
        group_name,
        own_options(asked, pg_options),
        bound_device(device_id),
        _ranks,
        **({"enable_reconfigure": True} if enable_reconfigure else {}),  # from torch 2.14 on
    )
    wait_at_exit()
    if asked is not None:
        remember(dist.group.WORLD, asked)
    if current() is Backend.MLX:
        from tdev_core.accelerators.mlx.collectives import connected

        connected.join()


def _default_library(device_id: torch.device | int | None) -> str | None:
    """Return what torch picks where ``device_id`` exists, None without one; an int is a CUDA device to the program."""
    kind = "cuda" if isinstance(device_id, int) else str(getattr(device_id, "type", None))
    library: str | None = dist.Backend.default_device_backend_map.get(kind)
    return library


def own_options(asked: str | None, options: Any) -> Any:
    """Options reach the backend they were made for, and no other."""
    if asked is not None and host_name(asked) != asked:
        return None
    return options


def bound_device(device_id: torch.device | int | None) -> Any:
    """Return what to give torch as ``device_id``: nothing, for any device that a program may mean.

    The binding tells NCCL to connect at once and to make subgroups by splitting. torch would try the
    latter with gloo too, which cannot. What is no device at all is left for torch to refuse.
    """
    if is_own_cpu(device_id) or isinstance(translate(device_id), torch.device):
        return None
    return device_id


def is_own_cpu(device: Any) -> bool:
    """Tell whether ``device`` means the CPU of a host that computes on nothing else.

    Every rank names a device of its own there, and they all are the CPU: no index is folded that
    anybody should be warned of.
    """
    if current() is not Backend.CPU or device is None or isinstance(device, bool):
        return False
    if isinstance(device, int):
        return True
    kind = device.type if isinstance(device, torch.device) else str(device).partition(":")[0]
    return kind == "cpu" or kind in ACCELERATORS


def new_group(
    ranks: list[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: torch.device | None = None,
    sort_ranks: bool = True,
) -> Any:
    """Make a group of some ranks; every rank calls this, unless ``use_local_synchronization``.

    Returns:
        The group, or torch's sentinel for ranks outside it.
    """
    group = dist.new_group(
        ranks,
        timeout,
        None if backend is None else host_name(backend),
        own_options(backend or asked_for(None), pg_options),
        use_local_synchronization,
        group_desc,
        bound_device(device_id),
        **({} if sort_ranks else {"sort_ranks": False}),  # torch 2.11 always sorts
    )
    asked = backend or asked_for(None)
    if asked is not None:
        remember(group, asked)
    return group


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Divide ``group`` into subgroups of ``group_size`` ranks.

    Without a size, torch takes the number of CUDA devices as that of the ranks on each machine. Here
    that number is what the launcher says (``LOCAL_WORLD_SIZE``, set by torchrun).

    Returns:
        This rank's subgroup, and all of them.

    Raises:
        ValueError: a size that does not divide the group's, or none and no launcher to ask.
    """
    if group_size is None and "LOCAL_WORLD_SIZE" in os.environ:
        group_size = int(os.environ["LOCAL_WORLD_SIZE"])
    mine, subgroups = dist.new_subgroups(
        group_size,
        group,
        timeout,
        None if backend is None else host_name(backend),
        own_options(backend or asked_for(None), pg_options),
        group_desc,
    )
    _remember_all(subgroups, backend)
    return mine, subgroups


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[list[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Make one subgroup for each list of global ranks; the lists share no rank.

    Returns:
        This rank's subgroup or None, and all of them.

    Raises:
        ValueError: no lists, or a rank in two of them.
    """
    mine, subgroups = dist.new_subgroups_by_enumeration(
        ranks_per_subgroup_list,
        timeout,
        None if backend is None else host_name(backend),
        own_options(backend or asked_for(None), pg_options),
        group_desc,
    )
    _remember_all(subgroups, backend)
    return mine, subgroups


def _remember_all(groups: list[Any], backend: str | None) -> None:
    asked = backend or asked_for(None)
    if asked is not None:
        for group in groups:
            remember(group, asked)


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Divide ``parent_pg`` along ``split_ranks``, lists of ranks *within the parent*.

    gloo cannot split a communicator; a group is made for each list instead, by its members alone, so
    that ranks outside the parent need not take part. ``pg_options`` belong to the library that is
    not here and are not used.

    Returns:
        The group that this rank is in, or None.

    Raises:
        ValueError: no lists, an empty one, one with duplicates, or ranks that the parent lacks.
    """
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent_ranks = dist.get_process_group_ranks(parent_pg)
    me = dist.get_rank()
    if me not in parent_ranks:
        raise ValueError(f"Global rank {me} is not part of the parent group {parent_pg}")
    mine: list[int] | None = None
    for split in split_ranks:
        _check_split(split, len(parent_ranks))
        members = [parent_ranks[rank] for rank in sorted(split)]
        if mine is None and me in members:
            mine = members
    if mine is None:
        return None
    asked = backend or asked_for(parent_pg)
    group: ProcessGroup = new_group(
        mine,
        timeout,
        asked or dist.get_backend(parent_pg),
        use_local_synchronization=True,
        group_desc=group_desc,
    )
    return group


def _check_split(split: list[int], parent_size: int) -> None:
    if not split:
        raise ValueError("the split group cannot be empty")
    if len(split) != len(set(split)):
        raise ValueError("the split group cannot have duplicate ranks")
    strangers = [rank for rank in split if not 0 <= rank < parent_size]
    if strangers:
        raise ValueError(f"split_ranks holds {strangers}, but the parent has {parent_size} ranks")
