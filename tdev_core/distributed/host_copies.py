"""Collectives on tensors of a device that gloo does not know, by way of copies in host memory.

Used for ``mps``; ``sim`` and ``mlx`` bring kernels of their own that know their storage.

Source: ``torch/csrc/distributed/c10d/Ops.cpp``: a collective is an operator with a kernel for each kind
of device, and MPS has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators.privateuse import process_group, torch_api

__all__ = ["kernel", "serve"]

_served: set[str] = set()


def serve(kind: str, key: str) -> str:
    """Let gloo serve device type ``kind``, whose kernels stand at dispatch key ``key``.

    Returns:
        The name of the library, ``"gloo"``.

    Raises:
        UnsupportedError: this torch is built without gloo.
    """
    name = process_group.register(kind)
    if kind not in _served:
        _served.add(kind)
        for operator in torch_api.operator_names():
            if operator.startswith("c10d::") and torch_api.has_kernel(operator, "CPU"):
                base, _, overload = operator.removeprefix("c10d::").partition(".")
                op = getattr(getattr(torch.ops.c10d, base), overload or "default")
                torch_api.implement(operator, process_group._with_gloo(kind, kernel(op, kind)), key)
    return name


def kernel(op: Any, kind: str) -> Callable[..., Any]:
    """``op``, an operator of ``c10d``, for tensors of device type ``kind``.

    The collective is over when it returns. A receive is not: two ranks may both post theirs before
    either sends, so its tensors are filled when the returned work is waited for.
    """
    name = op._schema.name

    def call(*args: Any, **kwargs: Any) -> Any:
        copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

        def to_host(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.device.type == kind:
                if id(value) not in copies:
                    copies[id(value)] = (value, value.detach().cpu())
                return copies[id(value)][1]
            if isinstance(value, (list, tuple)):
                return [to_host(item) for item in value]
            return value

        def bring_back() -> None:
            with torch.no_grad():
                for original, copy in copies.values():
                    original.copy_(copy)

        result = op(*map(to_host, args), **{key: to_host(value) for key, value in kwargs.items()})
        if name in ("c10d::recv_", "c10d::recv_any_source_"):
            return _Receiving(torch.distributed.Work.unbox(result), bring_back).boxed()
        if name == "c10d::send":
            return result  # gloo holds the copy until it is sent
        for part in result if isinstance(result, tuple) else (result,):
            if isinstance(part, torch.ScriptObject):  # the rest are tensors
                torch.distributed.Work.unbox(part).wait()
        bring_back()
        return _with_originals(result, {id(copy): tensor for tensor, copy in copies.values()})

    return call


def _with_originals(value: Any, originals: dict[int, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return originals.get(id(value), value)
    if isinstance(value, (list, tuple)):
        return type(value)(_with_originals(item, originals) for item in value)
    return value


# torch keeps the C++ half of a work alive; the Python half has to live until it is waited for.
_waiting: set[Any] = set()

if torch.distributed.is_available():

    class _Receiving(torch.distributed.Work):
        """gloo's work on the copy; waiting for it fills the device's tensor."""

        def __init__(self, work: Any, bring_back: Callable[[], None]) -> None:
            super().__init__()
            self._work, self._bring_back = work, bring_back
            _waiting.add(self)

        def wait(self, timeout: Any = None) -> bool:
            done = bool(self._work.wait() if timeout is None else self._work.wait(timeout))
            self._bring_back()
            _waiting.discard(self)
            return done

        def is_completed(self) -> bool:
            return bool(self._work.is_completed())

        def _source_rank(self) -> int:  # which torch.distributed.recv asks
            return int(self._work._source_rank())

        source_rank = _source_rank
