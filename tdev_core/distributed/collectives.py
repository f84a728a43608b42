"""Collectives whose work gloo leaves less able than NCCL's.

gloo scatters sums by a work that copies its result out in ``wait``, says it is not completed before, and has no
future (``LambdaWork`` in ``ProcessGroupGloo.cpp``); NCCL's answers all three. Programs that overlap communication
with their backward (sharded optimizers) chain on the future.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

__all__ = ["reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor"]


def reduce_scatter(output: Any, input_list: Any, op: Any, group: Any, async_op: bool) -> Any:
    """``torch.distributed.reduce_scatter``, of which the work has a future."""
    return _with_future(dist.reduce_scatter(output, input_list, op, group, async_op), output)


def reduce_scatter_tensor(output: Any, input: Any, op: Any, group: Any, async_op: bool) -> Any:
    """``torch.distributed.reduce_scatter_tensor``, of which the work has a future."""
    return _with_future(dist.reduce_scatter_tensor(output, input, op, group, async_op), output)


def reduce_scatter_single(output: Any, input: Any, op: Any, group: Any, async_op: bool) -> Any:
    """``torch.distributed.reduce_scatter_single``, of which the work has a future."""
    return _with_future(dist.reduce_scatter_single(output, input, op, group, async_op), output)


def _with_future(work: Any, output: torch.Tensor) -> Any:
    # Inside a coalescing manager there is no work, or a marker that refuses every question; a compiler has its own.
    if type(work) is not getattr(dist, "Work", None):
        return work
    return _Scattering(work, output)


if dist.is_available():

    class _Scattering(dist.Work):
        """gloo's work, waited for once, however often and from wherever it is asked."""

        def __init__(self, work: dist.Work, output: torch.Tensor) -> None:
            super().__init__()
            self._work, self._output = work, output
            self._lock = threading.Lock()
            self._waited = False
            self._future: torch.futures.Future[list[torch.Tensor]] | None = None

        def _wait(self, timeout: timedelta | None = None) -> bool:
            with self._lock:  # a second wait would copy the result once more, over what came after
                if not self._waited:
                    self._work.wait() if timeout is None else self._work.wait(timeout)
                    self._waited = True
            return True

        def wait(self, timeout: timedelta | None = None) -> bool:
            """Wait for the result, and for what was chained to the future before."""
            if self._future is not None:
                self._future.wait()
            return self._wait(timeout)

        def synchronize(self) -> None:
            """Wait for the result."""
            self.wait()

        def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
            """Return a future of ``[output]``, which a thread completes when the ranks have come together."""
            if self._future is None:
                self._future = torch.futures.Future()
                threading.Thread(target=self._complete, args=(self._future,), daemon=True).start()
            return self._future

        def _complete(self, future: torch.futures.Future[list[torch.Tensor]]) -> None:
            try:
                self._wait()
            except Exception as error:  # of another rank or a timeout: it is the waiter's to see
                future.set_exception(error)  # type: ignore[arg-type]  # torch's stub takes a value
            else:
                future.set_result([self._output])

        def is_completed(self) -> bool:
            """Tell whether the result is there; asking sees to it that it comes without a ``wait``."""
            return self._waited or self.get_future().done()

        def is_success(self) -> bool:
            """Tell whether the result is there."""
            return self._waited

        def result(self) -> list[torch.Tensor]:
            """Wait for ``[output]``."""
            self.wait()
            return [self._output]
