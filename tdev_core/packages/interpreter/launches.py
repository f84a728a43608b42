"""Has the interpreter start kernels as a GPU would: pointers of one device, a grid of whole numbers, no access outside.

An address that belongs to no argument of a kernel ends the process with a signal, or changes another tensor. Here it raises.
Kernels that make addresses of integers reach what their arguments do not show; what they access is not checked.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import sys
import threading
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tdev_core.errors import DeviceWarning, warn_once

__all__ = ["mend", "mend_autotuner", "seen"]

seen: dict[str, tuple[int, float]] = {}
"""Calls and seconds of each kernel, by its name."""

_counting = threading.Lock()
_running = threading.local()


def mend(interpreter: ModuleType) -> None:
    """Mend ``triton.runtime.interpreter``, whose classes are Triton's own."""
    executor, builder = interpreter.GridExecutor, interpreter.InterpreterBuilder
    executor.__call__ = _started(executor.__call__)
    executor._init_args_hst = _copied(executor._init_args_hst)
    vars(interpreter)["_implicit_cvt"] = _passed(vars(interpreter)["_implicit_cvt"], interpreter)
    interpreter.InterpretedFunction.__call__ = _called(interpreter.InterpretedFunction.__call__)
    builder.create_int_to_ptr = _of_integers(builder.create_int_to_ptr)
    builder.create_masked_load = _accessing(builder.create_masked_load, "reads")
    builder.create_masked_store = _accessing(builder.create_masked_store, "writes")
    builder.create_atomic_rmw = _accessing(builder.create_atomic_rmw, "changes", pointer=1, mask=3)
    builder.create_atomic_cas = _accessing(builder.create_atomic_cas, "changes", mask=None)


def mend_autotuner(autotuner: ModuleType) -> None:
    """Have ``triton.runtime.autotuner`` take the first configuration: what the interpreter needs says nothing of a GPU."""
    from triton.runtime.jit import JITFunction

    tuner = autotuner.Autotuner
    bench, cached = tuner._bench, tuner.check_disk_cache

    def interpreted(self: Any) -> bool:
        inner = self.fn
        while hasattr(inner, "fn") and not isinstance(inner, JITFunction):
            inner = inner.fn
        return not isinstance(inner, JITFunction)

    @functools.wraps(bench)
    def _bench(self: Any, *args: Any, config: Any, **meta: Any) -> Any:
        if not interpreted(self):
            return bench(self, *args, config=config, **meta)
        return [0.0, 0.0, 0.0]  # all alike: the first is taken

    @functools.wraps(cached)
    def check_disk_cache(self: Any, tuning_key: Any, configs: Any, bench_fn: Any) -> Any:
        if not interpreted(self):
            return cached(self, tuning_key, configs, bench_fn)
        bench_fn()
        return False

    tuner._bench, tuner.check_disk_cache = _bench, check_disk_cache


def _started(function: Any) -> Any:
    @functools.wraps(function)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn_once(
            "Triton's kernels run in its interpreter, on the CPU: right, and slow (a product of two 256 x 256 matrices takes "
            "about a second). TDEV_TRITON=0 turns that off",
            DeviceWarning,
            code="TDEV311",
            key=("triton", "interpreter"),
            stacklevel=4,
        )
        name = self.fn.__name__
        start = copy.copy(self)
        start.grid = _grid(self, args, kwargs)
        outer = vars(_running).copy()
        _running.kernel, _running.spans, _running.made = name, [], False
        begun = time.perf_counter()
        try:
            return function(start, *args, **kwargs)
        finally:
            vars(_running).clear()
            vars(_running).update(outer)
            with _counting:
                calls, seconds = seen.get(name, (0, 0.0))
                seen[name] = calls + 1, seconds + time.perf_counter() - begun

    return __call__


def _copied(function: Any) -> Any:
    @functools.wraps(function)
    def _init_args_hst(self: Any, args: Any, kwargs: Any) -> Any:
        tensors = list(_tensors((*args, *kwargs.values())))
        for tensor in tensors:
            if tensor.is_meta or tensor.layout is not _strided():
                raise ValueError(
                    f"Triton kernel {self.fn.__name__}: a tensor of shape {tuple(tensor.shape)} has no memory to point to: it is on "
                    f"{tensor.device} and {tensor.layout}"
                )
        devices = {str(tensor.device) for tensor in tensors}
        if len(devices) > 1:
            raise ValueError(
                f"Triton kernel {self.fn.__name__}: its pointers are on {' and '.join(sorted(devices))}. A GPU cannot access the "
                "others' memory: move all arguments to one device"
            )
        copies, named = function(self, args, kwargs)
        storages = [t.untyped_storage() for t in _tensors((*copies, *named.values()))]
        _running.spans = sorted({(s.data_ptr(), s.data_ptr() + s.nbytes()) for s in storages})
        return copies, named

    return _init_args_hst


def _passed(function: Any, interpreter: ModuleType) -> Any:
    """Pass a float as the float32 that a kernel gets on a GPU, which has its methods, and a bool as one bit."""
    import numpy as np

    tl = interpreter.tl

    @functools.wraps(function)
    def _implicit_cvt(arg: Any) -> Any:
        if isinstance(arg, float):
            return tl.tensor(
                interpreter.TensorHandle(np.array([arg], np.float32), tl.float32), tl.float32
            )
        if isinstance(arg, bool):
            return tl.tensor(interpreter.TensorHandle(np.array([arg]), tl.int1), tl.int1)
        try:
            return function(arg)
        except (KeyError, ValueError) as error:
            raise TypeError(
                f"Triton kernel {_running.kernel}: {getattr(arg, 'dtype', arg)} is nothing that a kernel takes"
            ) from error

    return _implicit_cvt


def _strided() -> Any:
    import torch

    return torch.strided


def _tensors(values: Any) -> Iterator[Any]:
    """Yield the tensors among arguments, also in tuples, descriptors and what ``reinterpret`` wraps."""
    for value in values:
        if isinstance(value, tuple):
            yield from _tensors(value)
        elif hasattr(value, "untyped_storage"):
            yield value
        elif hasattr(value, "base"):
            yield from _tensors((value.base,))


def _grid(executor: Any, args: Any, kwargs: dict[str, Any]) -> tuple[int, ...]:
    """Return the numbers of programs; a function for them is given the arguments as they are, as on a GPU."""
    name = executor.fn.__name__
    parameters = inspect.signature(executor.fn)
    known = {key: value for key, value in kwargs.items() if key in parameters.parameters}
    unknown = sorted(kwargs.keys() - known.keys() - _options())
    if unknown:
        raise KeyError(
            f"Triton kernel {name} has no parameter {', '.join(unknown)}, and no backend such an option"
        )
    try:
        bound = parameters.bind(*args, **known)
    except TypeError as error:
        raise TypeError(f"Triton kernel {name}: {error}") from None
    bound.apply_defaults()
    grid = executor.grid(bound.arguments) if callable(executor.grid) else executor.grid
    if not isinstance(grid, (tuple, list)) or not 1 <= len(grid) <= 3:
        raise ValueError(
            f"Triton kernel {name}: its grid is {grid!r}; a tuple of one to three numbers is needed: three dimensions at most"
        )
    if any(isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 0 for n in grid):
        raise ValueError(
            f"Triton kernel {name}: its grid is {tuple(grid)}; whole numbers that are not negative are needed (triton.cdiv divides "
            "and rounds up)"
        )
    sizes = tuple(n.__index__() for n in grid)
    for size, most in zip(sizes, (2**31 - 1, 65535, 65535), strict=False):
        if size > most:
            raise ValueError(
                f"Triton kernel {name}: its grid is {sizes}; CUDA starts at most 2147483647 programs in the first dimension, and "
                "65535 in the second and the third"
            )
    return sizes


@functools.lru_cache(maxsize=1)
def _options() -> frozenset[str]:
    """Return what a launch may say beside the kernel's parameters: the options of all of Triton's backends."""
    from triton.backends import backends

    found = {"grid", "warmup", "debug", "stream"}
    for backend in backends.values():
        for value in vars(sys.modules[backend.compiler.__module__]).values():
            if dataclasses.is_dataclass(value):
                found |= {field.name for field in dataclasses.fields(value)}
    return frozenset(found)


def _called(function: Any) -> Any:
    @functools.wraps(function)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(_running, "kernel"):
            raise RuntimeError(
                f"Triton kernel {self.fn.__name__} was called without a grid: {self.fn.__name__}[grid](…) starts it"
            )
        return function(self, *args, **kwargs)

    return __call__


def _of_integers(function: Any) -> Any:
    @functools.wraps(function)
    def create_int_to_ptr(self: Any, *args: Any) -> Any:
        _running.made = True
        return function(self, *args)

    return create_int_to_ptr


def _accessing(function: Any, does: str, pointer: int = 0, mask: int | None = 0) -> Any:
    """Check the addresses of a load or store before it is made.

    Args:
        pointer: where the pointers are among the arguments.
        mask: where the mask is; 0 is by the operator: the second argument of a load, the third of a store. None: there is none.
    """
    place = (1 if does == "reads" else 2) if mask == 0 else mask

    @functools.wraps(function)
    def accessing(self: Any, *args: Any, **kwargs: Any) -> Any:
        spans = getattr(_running, "spans", None)
        if spans is not None and not _running.made:
            _check(args[pointer], None if place is None else args[place], spans, does)
        return function(self, *args, **kwargs)

    return accessing


def _check(pointers: Any, mask: Any, spans: list[tuple[int, int]], does: str) -> None:
    import numpy as np

    addresses = pointers.data
    if mask is not None:
        addresses = addresses[np.broadcast_to(mask.data, addresses.shape)]
    if not addresses.size:
        return
    size = max(pointers.get_element_ty().primitive_bitwidth // 8, 1)
    low, high = int(addresses.min()), int(addresses.max()) + size
    if any(begin <= low and high <= end for begin, end in spans):
        return
    inside = np.zeros(addresses.shape, dtype=bool)
    for begin, end in spans:
        inside |= (addresses >= begin) & (addresses + size <= end)
    if not inside.all():
        outside = int(np.flatnonzero(~inside)[0])
        raise IndexError(
            f"Triton kernel {_running.kernel} {does} outside its arguments: {int((~inside).sum())} of {inside.size} elements, the "
            f"first at {int(addresses.flat[outside]) - _nearest(spans, int(addresses.flat[outside])):+d} bytes from the nearest "
            "tensor's beginning. Is the mask right?"
        )


def _nearest(spans: list[tuple[int, int]], address: int) -> int:
    return min((begin for begin, _ in spans), key=lambda begin: abs(address - begin), default=0)
