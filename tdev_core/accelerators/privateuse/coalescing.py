"""``_coalescing_manager(group, device)`` where the group's library joins no calls: gloo's carries each by itself.

torch refuses the block ("Backend gloo does not implement startCoalescing") after it has begun to queue the group's
collectives, so that every later one is queued too and does nothing. Here the block queues what torch can join above the library,
and lets the rest run at once; its end waits for both, as it does on NCCL.

Source: ``_coalescing_manager`` and ``batch_isend_irecv`` in ``torch/distributed/distributed_c10d.py``.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tdev_core.devices import translate
from tdev_core.internals import relying_on

__all__ = ["install"]

_local = threading.local()


@functools.cache
def install() -> None:
    """Answer for both names of the block, and hear of what is sent and received inside; a second call does nothing."""
    distributed = torch.distributed
    with relying_on(
        "torch.distributed._coalescing_manager", "collectives of gloo are not joined, and raise"
    ):
        from torch.distributed import distributed_c10d as c10d

        answer = _instead_of(c10d._coalescing_manager)
        for module in (c10d, distributed):
            setattr(module, "_coalescing_manager", answer)  # noqa: B010 - mypy knows no such name there
        group: Any = distributed.ProcessGroup
        for name in ("send", "recv", "recv_anysource"):
            setattr(group, name, _noting(getattr(group, name)))


def _noting(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def method(*args: Any, **kwargs: Any) -> Any:
        work = call(*args, **kwargs)
        begun: list[Any] | None = getattr(_local, "works", None)
        if begun is not None:
            begun.append(work)
        return work

    return method


def _instead_of(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @contextlib.contextmanager
    @functools.wraps(theirs)
    def _coalescing_manager(
        group: Any = None, device: Any = None, async_ops: bool = False
    ) -> Iterator[Any]:
        if device is None or _joins(group, device):
            with theirs(group, device, async_ops) as manager:
                yield manager
            return
        before, _local.works = getattr(_local, "works", None), []
        try:
            with theirs(group, None, async_ops) as manager:
                yield manager
            begun = _local.works
        finally:
            _local.works = before
        for work in begun:
            if async_ops:
                manager.append(work)
            else:
                work.wait()

    return _coalescing_manager


def _joins(group: Any, device: Any) -> bool:
    own: Any = group or torch.distributed.group.WORLD
    where = translate(device)
    kind = torch.device(where) if isinstance(where, str) else where
    return bool(own._get_backend(kind).supports_coalescing)
