"""``torch.cuda.GreenContext`` on devices that cannot be partitioned."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from tdev_core.backend import unsupported

__all__ = ["GreenContext", "SMPartition"]

_WHY = "a green context reserves part of an NVIDIA GPU's multiprocessors; this device cannot be divided"
_INSTEAD = "run without one, or bound the work with torch.set_num_threads"


class GreenContext(torch.cuda.green_contexts.GreenContext):
    """The class, for ``isinstance`` and annotations; making one raises UnsupportedError.

    Source: ``torch.cuda.green_contexts.GreenContext``.
    """

    @staticmethod
    def create(
        *,
        num_sms: int | None = None,
        sm_partition: Any = None,
        workqueue_scope: str | None = None,
        workqueue_concurrency_limit: int | None = None,
        device_id: int | None = None,
    ) -> NoReturn:
        """Raise UnsupportedError, whatever is asked for.

        That are ``num_sms`` or a ``sm_partition``, ``workqueue_scope``, ``workqueue_concurrency_limit``, ``device_id``.
        """
        unsupported("torch.cuda.GreenContext.create", _WHY, _INSTEAD)

    @staticmethod
    def max_workqueue_concurrency(device_id: int | None = None) -> Any:
        """Raise UnsupportedError, for every ``device_id``."""
        unsupported("torch.cuda.GreenContext.max_workqueue_concurrency", _WHY, _INSTEAD)


_Partition: Any = getattr(torch.cuda.green_contexts, "SMPartition", object)  # from torch 2.15 on


class SMPartition(_Partition):  # type: ignore[misc]  # the installed torch may not have it
    """The class, for ``isinstance`` and annotations; making one raises UnsupportedError.

    Source: ``torch.cuda.green_contexts.SMPartition``.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        unsupported("torch.cuda.green_contexts.SMPartition", _WHY, _INSTEAD)
