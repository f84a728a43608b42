"""``torch.cuda.GreenContext`` on devices that cannot be partitioned."""

from __future__ import annotations

from functools import wraps
from typing import Any, NoReturn

import torch

from tdev_core.backend import unsupported

__all__ = ["GreenContext", "SMPartition"]

_WHY = "a green context reserves part of an NVIDIA GPU's multiprocessors; this device cannot be divided"
_INSTEAD = "run without one, or bound the work with torch.set_num_threads"
_Original: Any = torch.cuda.green_contexts.GreenContext
_Partition: Any = getattr(torch.cuda.green_contexts, "SMPartition", object)  # from torch 2.15 on


class GreenContext(_Original):  # type: ignore[misc]  # read from the installed torch
    """The class, for ``isinstance`` and annotations; making one raises UnsupportedError, in whatever way.

    Source: ``torch.cuda.green_contexts.GreenContext``.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        unsupported("torch.cuda.GreenContext", _WHY, _INSTEAD)


def _refusing(name: str, original: Any) -> staticmethod[..., NoReturn]:
    @wraps(original)
    def refuse(*_: Any, **__: Any) -> NoReturn:
        unsupported(f"torch.cuda.GreenContext.{name}", _WHY, _INSTEAD)

    return staticmethod(refuse)


# Each torch makes and asks for them with other functions, and those that it has take other parameters.
for _name, _made in vars(_Original).items():
    if isinstance(_made, staticmethod):
        setattr(GreenContext, _name, _refusing(_name, _made.__func__))


class SMPartition(_Partition):  # type: ignore[misc]  # the installed torch may not have it
    """The class, for ``isinstance`` and annotations; making one raises UnsupportedError.

    Source: ``torch.cuda.green_contexts.SMPartition``.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        unsupported("torch.cuda.green_contexts.SMPartition", _WHY, _INSTEAD)
