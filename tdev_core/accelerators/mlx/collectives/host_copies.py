"""``torch.distributed`` on device tensors: gloo moves CPU copies, unless MLX has connected the ranks itself.

A collective has finished when it returns: the copies come back then, and the work it returns is done.  Only a receive waits
until it is asked to (two ranks may post their receives before their sends).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.collectives import connected
from tdev_core.accelerators.mlx.storage import contents

__all__ = ["kernel"]


def kernel(op: Any) -> Callable[..., Any]:
    """Make a kernel of `op`, one of torch's ``c10d`` operators, for tensors of the device."""
    late = op._schema.name in ("c10d::recv_", "c10d::recv_any_source_")
    through_mlx = connected.kernel(op)

    def call(*args: Any, **kwargs: Any) -> Any:
        runtime.ready()
        if through_mlx is not None:
            answer = through_mlx(*args, **kwargs)
            if answer is not NotImplemented:
                return answer
        twins: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

        def lower(x: Any) -> Any:
            if isinstance(x, torch.Tensor) and x.device.type == "mlx":
                if id(x) not in twins:
                    twins[id(x)] = (x, contents.host(x.detach(), writable=True))
                return twins[id(x)][1]
            return [lower(y) for y in x] if isinstance(x, (list, tuple)) else x

        result = op(*map(lower, args), **{k: lower(v) for k, v in kwargs.items()})
        originals = {id(cpu): t for t, cpu in twins.values()}

        def back() -> None:
            with torch.no_grad():
                for t, cpu in twins.values():
                    t.copy_(cpu)

        if late:
            return _Receiving(torch.distributed.Work.unbox(result), back).boxed()
        if op._schema.name == "c10d::send":
            return result  # gloo keeps the copy until it has been sent, and hangs when a send is waited for twice
        for part in result if isinstance(result, tuple) else (result,):
            if isinstance(part, torch.ScriptObject) and "Work" in str(part._type()):
                torch.distributed.Work.unbox(part).wait()
        back()
        return _replaced(result, originals)

    return call


def _replaced(x: Any, originals: dict[int, torch.Tensor]) -> Any:
    if isinstance(x, torch.Tensor):
        return originals.get(id(x), x)
    return type(x)(_replaced(y, originals) for y in x) if isinstance(x, (list, tuple)) else x


_waiting: set[Any] = set()
"""torch hands out the C++ half of a work only; the Python half has to outlive it until it is waited for."""


class _Receiving(torch.distributed.Work):
    """gloo's work on the CPU copy; waiting for it brings the copy to the device."""

    def __init__(self, work: Any, back: Callable[[], None]) -> None:
        super().__init__()
        self._work, self._back = work, back
        _waiting.add(self)

    def wait(self, timeout: Any = None) -> bool:
        done = bool(self._work.wait()) if timeout is None else bool(self._work.wait(timeout))
        self._back()
        _waiting.discard(self)
        return done

    def is_completed(self) -> bool:
        return bool(self._work.is_completed())

    def _source_rank(self) -> int:  # what `dist.recv` without a source asks for
        return int(self._work._source_rank())
