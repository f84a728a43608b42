"""``torch.distributed`` on tensors of a Python device: gloo moves the bytes.

torch's collectives are operators (``c10d::allreduce_``, …) with a kernel for each device that asks the
process group for that device's backend; gloo's C++ takes CPU and CUDA tensors only
(``torch/csrc/distributed/c10d/Ops.cpp``, ``ProcessGroupGloo.cpp``). Here the device's kernels are
replaced by ones that call the same operator on CPU tensors, so every process group that has gloo for
CPU tensors serves the device too: nothing else in torch (DDP, FSDP, object collectives) has to know.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from tdev_core.accelerators.privateuse import coalescing, torch_api
from tdev_core.errors import UnsupportedError

__all__ = ["install", "register", "telling"]

_installed: set[str] = set()


def install(name: str, kernel: Callable[[OpOverload], Callable[..., Any]]) -> None:
    """Run the collectives of device type ``name`` through ``kernel(op)``.

    ``kernel(op)`` gives a function of the operator's arguments that replaces tensors of the device by
    CPU tensors, calls ``op``, and sees to it that results are in the device's tensors when the returned
    work has been waited for. Does nothing where this torch has no ``torch.distributed``.
    """
    if not torch.distributed.is_available():
        return
    for operator in torch_api.operator_names():
        namespace, _, rest = operator.partition("::")
        if namespace != "c10d" or not torch_api.has_kernel(operator, "CPU"):
            continue
        base, _, overload = rest.partition(".")
        op: OpOverload = getattr(getattr(torch.ops.c10d, base), overload or "default")
        torch_api.implement(operator, _with_gloo(name, kernel(op)))
    coalescing.install()
    register(name)


def register(name: str) -> str:
    """Let gloo serve device type ``name``; returns ``"gloo"``, as in ``"cpu:gloo,<name>:gloo"``.

    Raises:
        UnsupportedError: this torch is built without gloo.
    """
    if not torch.distributed.is_gloo_available():
        raise UnsupportedError(
            f"torch.distributed is not supported on the '{name}' backend: this build of torch has no "
            "gloo. Instead: run in one process, or install a torch with gloo.",
            "TDEV105",
        )
    if name not in _installed:
        backend: Any = torch.distributed.Backend
        backend.default_device_backend_map.setdefault(name, "gloo")
        served = backend.backend_capability["gloo"]
        if name not in served:
            served.append(name)
        _installed.add(name)
    return "gloo"


def _with_gloo(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if isinstance(value, torch.ScriptObject) and "ProcessGroup" in str(value._type()):
                _serve_cpu(name, value)
        result = call(*args, **kwargs)
        given = args[0] if args and isinstance(args[0], (torch.Tensor, list, tuple)) else ()
        outputs = [x for x in tree_leaves(given) if isinstance(x, torch.Tensor)]
        return telling(result, outputs)

    return kernel


def telling(result: Any, outputs: list[torch.Tensor]) -> Any:
    """Return what a collective of ``torch.ops.c10d`` returns, with the future of its work telling of these tensors."""
    if isinstance(result, tuple):
        return tuple(_telling(x, outputs) for x in result)
    return _telling(result, outputs)


def _telling(result: Any, outputs: list[torch.Tensor]) -> Any:
    """Have the future of a work tell of the device's tensors, in the order of gloo's own, which lie in host memory."""
    if not isinstance(result, torch.ScriptObject):
        return result
    work = torch.distributed.Work.unbox(result)
    try:
        future = work.get_future()
    except RuntimeError:  # gloo's works of point to point, and those that add in `wait`
        return result
    return _OnDevice(work, future, outputs).boxed()


# torch hands on the C++ half of a work, which is of no use once the Python half is gone: that lives until it has been waited
# for, or its future is there. Of works that nobody asks again the latest are kept; each holds its tensors.
_kept: dict[int, Any] = {}
_keeping = threading.Lock()
_MOST_KEPT = 256


def _keep(work: Any) -> None:
    with _keeping:
        _kept[id(work)] = work
        if len(_kept) > _MOST_KEPT:
            del _kept[next(iter(_kept))]


def _let_go(work: Any) -> None:
    with _keeping:
        _kept.pop(id(work), None)


if torch.distributed.is_available():

    class _OnDevice(torch.distributed.Work):
        """gloo's work, whose future has the tensors that the collective was given."""

        def __init__(self, work: Any, future: Any, outputs: list[torch.Tensor]) -> None:
            super().__init__()
            self._work, self._theirs, self._outputs = work, future, outputs
            self._future: torch.futures.Future[Any] | None = None
            _keep(self)

        def wait(self, timeout: timedelta | None = None) -> bool:
            try:
                return bool(self._work.wait() if timeout is None else self._work.wait(timeout))
            except RuntimeError as error:
                if "Timed out" in str(error):  # of the class that NCCL's watchdog is told by
                    raise torch.distributed.DistBackendError(str(error)) from error
                raise
            finally:  # where another rank has failed, too
                _let_go(self)

        def get_future(self) -> torch.futures.Future[Any]:
            if self._future is None:
                # What a callback raises is an error to C++ as well; an exception that is set from Python is a value there.
                self._future = self._theirs.then(self._complete)
            return self._future

        def _complete(self, future: torch.futures.Future[Any]) -> Any:
            _let_go(self)
            value = (
                future.value()
            )  # raises what became of another rank, or a timeout: it is the waiter's to see
            leaves, structure = tree_flatten(value)
            if value is None:  # of a group that carries nothing
                return self._outputs
            return (
                tree_unflatten(self._outputs, structure)
                if len(leaves) == len(self._outputs)
                else value
            )

        def is_completed(self) -> bool:
            return bool(self._work.is_completed())

        def is_success(self) -> bool:
            return bool(self._work.is_success())

        def exception(self) -> Any:
            return self._work.exception()

        def synchronize(self) -> None:
            self.wait()

        def result(self) -> list[torch.Tensor]:
            self.wait()
            return self._outputs


def _serve_cpu(name: str, boxed: Any) -> None:
    """Give the group's backend for the device to CPU tensors, where it was made for the device only."""
    group = torch.distributed.ProcessGroup.unbox(boxed)
    kinds = {device.type for device in group._device_types}
    if "cpu" not in kinds and name in kinds:
        gloo = group._get_backend(torch.device(name))
        group._register_backend(
            torch.device("cpu"), torch.distributed.ProcessGroup.BackendType.GLOO, gloo
        )
