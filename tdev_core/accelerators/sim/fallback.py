"""Runs every operator on ``sim``: as the CPU's operator, over the same memory.

One call, :func:`run`: each sim tensor among the arguments is replaced by a CPU tensor over its host
memory with the same shape, strides, offset and conj/neg bits; the operator is called again and so
reaches the CPU's kernels; results come back as the argument they are, as a view of the storage they
share, or as a new sim tensor that adopts the memory. Nothing is copied, so values are the CPU's to the
last bit. Where the library in C++ has been built, :mod:`.native` does the same before this for what is simple.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core.accelerators import lagging, tracing
from tdev_core.accelerators.privateuse import torch_api, waits, widen
from tdev_core.accelerators.privateuse.device_check import mixed_devices
from tdev_core.accelerators.privateuse.schema import Facts, facts
from tdev_core.accelerators.sim import determinism, faults, memory, pinned, refusals, rng
from tdev_core.accelerators.sim.lowering import Call
from tdev_core.accelerators.sim.rules import COPIES_TO, INDEXED, NUMBER, rules

__all__ = ["VIEWS", "common_device", "kernel", "run", "view_kernel"]

_CPU = torch.device("cpu")
VIEWS = frozenset(
    "aten::as_strided aten::view aten::_unsafe_view aten::_reshape_alias aten::unfold aten::t aten::transpose.int"
    " aten::permute aten::expand aten::select.int aten::slice.Tensor aten::unsqueeze aten::squeeze aten::squeeze.dim"
    " aten::squeeze.dims aten::split.Tensor aten::split_with_sizes aten::unbind.int aten::diagonal".split()
)
"""Operators that compute strides and read no data: torch's own kernels answer for any device."""

_CPU_RESULTS = {"aten::_pack_padded_sequence": {1}, "aten::_pad_packed_sequence": {1}}
_no_torch_function = torch_api.no_torch_function
_Tensor = torch.Tensor
_FORKED = (
    "Cannot re-initialize sim in forked subprocess. To use sim with multiprocessing, you must use the "
    "'spawn' start method"
)
forked = False
"""Whether this process was forked from one that had used the device; see ``tdev_core.accelerators.sim.sharing``."""


def run(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Run ``op`` on the CPU's kernels for arguments and results on ``sim``.

    Raises:
        RuntimeError: tensors on different devices, worded as torch does; whatever the CPU raises; an operator that is not
            deterministic on CUDA where the program asks for that.
        UnsupportedError: a result that the device has no tensors for (quantized).
        torch.OutOfMemoryError: a result does not fit on its device.
    """
    if forked:
        raise RuntimeError(_FORKED)
    if faults.asked:
        faults.runs(op)
    if refusals.asked:
        refusals.check(op, args, kwargs)
    torch_api.run_backward_on_caller()
    ruled = rules(op)
    known = ruled.facts
    if ruled.alert is not None:
        determinism.check(ruled.alert, known, args, kwargs)
    with _no_torch_function():
        call = Call(ruled)
        try:
            lowered = [
                call.lower(value, name) for value, name in zip(args, known.arguments, strict=False)
            ]
            named = kwargs
            if kwargs:
                named = {name: call.lower(value, name) for name, value in kwargs.items()}
            if call.foreign:
                call.check()
        except RuntimeError:
            if known.name.startswith("aten::_foreach_"):
                return _each(op, args, kwargs)
            raise
        index = call.index if known.device is None else _place(known, call, lowered, named)
        if ruled.may_wait and _waits(known.name, args, kwargs):
            waits.waited(known.name)
            if tracing.told:
                tracing.tell("StreamSynchronization", lagging.current()[1])
            if lagging.asked:
                lagging.wait(lagging.until(lagging.current()))
        if known.random:
            with rng.drawing(max(index, 0)):
                result = _call(op, lowered, named, index)
        else:
            result = _call(op, lowered, named, index)
        if ruled.may_wait:
            _numbers.last = result.data_ptr() if known.name == NUMBER else None
            if known.name == COPIES_TO and index < 0 and kwargs.get("non_blocking"):
                pinned.mark(result)
        if known.written:
            call.write_back()
            if len(known.returns) == 1 and known.returns[0]:
                return _argument(known, args, kwargs, known.returns[0])
        if ruled.single:
            return call.lift(result, index)
        return _results(known, call, args, kwargs, result, index)


_MASKS = (torch.bool, torch.uint8)
_REPEAT = "aten::repeat_interleave.Tensor"  # of which the program may know how long the result is
_numbers = threading.local()


def _waits(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether CUDA would wait in a call of one of the operators that may."""
    if name in waits.OPERATORS:
        return name != _REPEAT or kwargs.get("output_size") is None
    if name in INDEXED:
        indices = [i for i in args[1] if i is not None]
        if name != "aten::index.Tensor" and _is_fill(indices, *args[2:], **kwargs):
            return False
        return any(i.dtype in _MASKS or i.is_cpu for i in indices)
    if name == "aten::copy_":
        if len(args) > 2:  # torch hands on no default: a third argument is ``non_blocking=True``
            return False
        # A number of the host's comes as it is: torch hands no tensor of it to a kernel in Python.
        return not isinstance(args[1], _Tensor) or args[0].device.type != args[1].device.type
    if name == NUMBER:
        return False
    to = kwargs.get("device")
    late = kwargs.get("non_blocking", False)
    return to is not None and not late and to.type != args[0].device.type


def _is_fill(
    masks: list[torch.Tensor], values: torch.Tensor, accumulate: bool = False, *_: Any, **__: Any
) -> bool:
    """Tell whether torch fills by a mask instead of finding its places: one mask, one number of the host.

    ``x[mask] = 0.0`` leaves its number on the host for CUDA alone, so here the number is known by where it lies.

    Source: ``canDispatchToMaskedFill`` and ``set_item`` in ATen/native/TensorAdvancedIndexingUtils.h, ATen/TensorIndexing.h.
    """
    if accumulate or values.numel() != 1 or len(masks) != 1 or masks[0].dtype not in _MASKS:
        return False
    if values.device.type == "cpu":
        return True
    return values.dim() == 0 and values.data_ptr() == getattr(_numbers, "last", None)


_HOST_IS_FULL = re.compile(r"DefaultCPUAllocator: .*you tried to allocate (\d+) bytes", re.DOTALL)


def _call(op: OpOverload, args: list[Any], kwargs: dict[str, Any], index: int) -> Any:
    try:
        return op(*args, **kwargs)
    except RuntimeError as error:  # NotImplementedError is one
        refused = _HOST_IS_FULL.search(str(error))
        if refused is not None and index >= 0:
            memory.pool(index).refuse(int(refused[1]))
        return widen.retry(op, args, kwargs, error)


def common_device(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the index of the one sim device that the arguments are on; raises as :func:`run` does."""
    ruled = rules(op)
    call = Call(ruled)
    for value, name in zip(args, ruled.facts.arguments, strict=False):
        call.lower(value, name)
    for name, value in kwargs.items():
        call.lower(value, name)
    call.check()
    return call.index


def _place(known: Facts, call: Call, lowered: list[Any], named: dict[str, Any]) -> int:
    """Return the device index that new results belong on (-1: they stay where they are)."""
    index, place = call.index, known.device
    if place is None:
        return index
    where = named.get("device")
    if where is None and place < len(lowered):
        where = lowered[place]
    if where is None:
        return index
    if where.type == "sim":
        index = memory.current_device() if where.index is None else where.index
        memory.pool(index)
        if "device" in named:
            named["device"] = _CPU
        else:
            lowered[place] = _CPU
        _refuse_early(known, lowered, named, index)
        return index
    return -1


def _refuse_early(known: Facts, lowered: list[Any], named: dict[str, Any], index: int) -> None:
    """Raise out-of-memory before the host is asked for memory that the device does not have."""
    if known.name not in ("aten::empty.memory_format", "aten::empty_strided"):
        return
    dtype = named.get("dtype") or torch.get_default_dtype()
    nbytes = dtype.itemsize
    for length in lowered[0]:
        nbytes *= max(int(length), 0)
    memory.pool(index).check(nbytes)


def _argument(known: Facts, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    if name in kwargs:
        return kwargs[name]
    return args[known.arguments.index(name)]


def _results(
    known: Facts,
    call: Call,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    index: int,
) -> Any:
    if not known.returns:
        return None
    stay = _CPU_RESULTS.get(known.name, ())
    return tuple(
        (
            _argument(known, args, kwargs, name)
            if name
            else call.lift(value, -1 if position in stay else index)
        )
        for position, (value, name) in enumerate(zip(result, known.returns, strict=True))
    )


def _each(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a ``_foreach_`` operator whose lists span devices: one call for each position, as CUDA does."""
    length = len(args[0])
    if length == 1:
        raise mixed_devices(facts(op), _two_devices(args), "other")
    results = []
    for position in range(length):
        one = [
            [a[position]] if isinstance(a, (list, tuple)) and len(a) == length else a for a in args
        ]
        results.append(op(*one, **kwargs))
    return [item for result in results for item in result] if op._schema.returns else None


def _two_devices(args: tuple[Any, ...]) -> tuple[object, object]:
    seen: list[torch.device] = []
    for value in args:
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, _Tensor) and item.device not in seen:
                seen.append(item.device)
    return seen[0], seen[-1]


def kernel(op: OpOverload) -> Callable[..., Any]:
    """Make a kernel that calls :func:`run` for one operator, as ``torch.library`` wants to be given it."""

    return partial(run, op)


def view_kernel(op: OpOverload, key: str) -> Callable[..., Any]:
    """Make the kernel of one of :data:`VIEWS`: torch's own at dispatch key ``key``, as long as nobody looks at operators."""
    name, _, overload = op.name().removeprefix("aten::").partition(".")
    own = torch_api.kernel(name, overload or "default", key)

    def boxed(*args: Any, **kwargs: Any) -> Any:
        if forked or faults.asked or refusals.asked:
            return run(op, *args, **kwargs)
        torch_api.run_backward_on_caller()
        with _no_torch_function():
            return own(*args, **kwargs)

    return boxed
