"""How every operator runs on ``sim``: as the CPU's operator, over the same memory.

One call, :func:`run`: each sim tensor among the arguments is replaced by a CPU tensor over its host
memory with the same shape, strides, offset and conj/neg bits; the operator is called again and so
reaches the CPU's kernels; results come back as the argument they are, as a view of the storage they
share, or as a new sim tensor that adopts the memory. Nothing is copied, so values are the CPU's to the
last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core.errors import UnsupportedError
from tdev_core.privateuse import generator as generators
from tdev_core.privateuse import torch_api
from tdev_core.privateuse.device_check import any_device, cpu_scalars, mixed_devices
from tdev_core.privateuse.schema import Facts, facts
from tdev_core.sim import memory, rng, widen

__all__ = ["adopt_tensor", "common_device", "host_alias", "kernel", "run"]

_CPU = torch.device("cpu")
_CPU_RESULTS = {"aten::_pack_padded_sequence": {1}, "aten::_pad_packed_sequence": {1}}
_no_torch_function = torch_api.no_torch_function
_empty: Any = torch.empty
_nbytes = torch_api.storage_nbytes
_Tensor = torch.Tensor
_FORKED = (
    "Cannot re-initialize sim in forked subprocess. To use sim with multiprocessing, you must use the "
    "'spawn' start method"
)
forked = False
"""Whether this process was forked from one that had used the device; see ``tdev_core.sim.sharing``."""


@cache
def _rules(op: OpOverload) -> tuple[Facts, bool, frozenset[str]]:
    known = facts(op)
    return known, cpu_scalars(known), any_device(known)


def host_alias(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor over the memory of the sim tensor ``tensor``."""
    host: Any = tensor.untyped_storage()._tdev_host  # type: ignore[attr-defined]
    size, stride, offset = tensor.size(), tensor.stride(), tensor.storage_offset()
    dtype = tensor.dtype
    nbytes = _nbytes(host)
    alias: torch.Tensor = _empty(0, dtype=dtype).set_(host, offset, size, stride)
    if _nbytes(host) != nbytes:  # torch grew it to hold the tensor
        host.resize_(nbytes)
        raise RuntimeError(
            f"a tensor on the 'sim' device is used after its storage was resized to {nbytes} bytes, "
            "which do not hold it"
        )
    if tensor.is_neg() or (dtype.is_complex and tensor.is_conj()):
        torch_api.set_conj_neg(alias, tensor.is_conj(), tensor.is_neg())
    return alias


def adopt_tensor(tensor: torch.Tensor, index: int) -> torch.Tensor:
    """A sim tensor on device ``index`` over the memory of the CPU tensor ``tensor``.

    Raises:
        UnsupportedError: it is not a plain strided tensor.
        torch.OutOfMemoryError: the device's capacity would be exceeded.
    """
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
        _refuse(tensor)
    storage = memory.adopt(tensor.untyped_storage(), index)
    result = torch_api.tensor_over(
        storage,
        storage.device.index,
        tensor.dtype,
        tensor.size(),
        tensor.stride(),
        tensor.storage_offset(),
    )
    if tensor.is_neg() or tensor.is_conj():
        torch_api.set_conj_neg(result, tensor.is_conj(), tensor.is_neg())
    return result


def _refuse(tensor: torch.Tensor) -> None:
    kind = str(tensor.layout).removeprefix("torch.")
    kind = "quantized" if tensor.is_quantized else "nested" if tensor.is_nested else kind
    raise UnsupportedError(
        f"the 'sim' device has no {kind} tensors: its tensors are dense and strided. "
        "Do this step on the CPU (tensor.cpu()) and move dense results back."
    )


class _Call:
    """One call's arguments on their way to the CPU, and what is needed to bring results back."""

    __slots__ = ("aliases", "any_of", "facts", "foreign", "index", "scalars")

    def __init__(self, known: Facts, scalars: bool, any_of: frozenset[str]) -> None:
        self.facts = known
        self.scalars = scalars
        self.any_of = any_of
        self.index = -1
        self.aliases: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.foreign: list[tuple[str, torch.Tensor]] = []

    def lower(self, value: Any, name: str) -> Any:
        """``value`` for the CPU's operator; lists are walked."""
        if isinstance(value, _Tensor):
            if value.is_cpu:
                if name not in self.any_of:
                    self.foreign.append((name, value))
                return value
            device = value.device
            if device.type != "sim":
                self.foreign.append((name, value))
                return value
            index = device.index
            if self.index < 0:
                self.index = index
            elif index != self.index and name not in self.any_of:
                raise mixed_devices(self.facts, (memory.device(self.index), device), name)
            alias = host_alias(value)
            self.aliases.append((value, alias))
            return alias
        kind = type(value)
        if kind is list or kind is tuple:
            return [self.lower(item, name) for item in value]
        if kind is torch.Generator or isinstance(value, torch.Generator):
            return self._generator(value)
        if kind is torch.UntypedStorage or kind is torch.TypedStorage:
            return self._storage(value)
        return value

    def _generator(self, value: torch.Generator) -> torch.Generator | None:
        ours = generators.find(value)
        if ours is None:
            raise RuntimeError("Expected a 'sim' device type for generator but found 'cpu'")
        if isinstance(ours, rng.DefaultGenerator) and ours.linked:
            return None
        return ours

    def _storage(self, value: Any) -> torch.UntypedStorage:
        storage = value._untyped_storage if isinstance(value, torch.TypedStorage) else value
        where = memory.device(self.index) if self.index >= 0 else storage.device
        if storage.device != where:
            raise RuntimeError(
                f'Attempted to set the storage of a tensor on device "{where}" to a storage on '
                f'different device "{storage.device}".  This is no longer allowed; the devices must match.'
            )
        return memory.host_of(storage)

    def check(self) -> None:
        """Refuse to mix with tensors elsewhere, as CUDA does."""
        if self.index < 0:
            return
        for name, value in self.foreign:
            allowed = self.scalars and value.is_cpu and value.dim() == 0
            if not allowed or name in self.facts.written:
                devices = (memory.device(self.index), value.device)
                raise mixed_devices(self.facts, devices, name)

    def write_back(self) -> None:
        """Give written sim tensors the shape that the CPU's kernel gave their aliases."""
        for tensor, alias in self.aliases:
            host = tensor.untyped_storage()._tdev_host  # type: ignore[attr-defined]
            theirs: Any = alias.untyped_storage()
            if theirs is host:
                memory.follow(host)
            if (
                theirs is not host
                or tensor.size() != alias.size()
                or tensor.stride() != alias.stride()
                or tensor.storage_offset() != alias.storage_offset()
            ):
                storage = memory.adopt(theirs, tensor.device.index)
                torch_api.set_metadata(
                    tensor, storage, alias.storage_offset(), alias.size(), alias.stride()
                )
            torch_api.set_conj_neg(tensor, alias.is_conj(), alias.is_neg())

    def lift(self, value: Any, index: int) -> Any:
        """A result of the CPU's operator for the caller; ``index`` is the device it belongs on."""
        if isinstance(value, _Tensor):
            if not value.is_cpu:
                return value
            for tensor, alias in self.aliases:
                if value is alias:
                    return tensor
            if index < 0:
                return value
            if value.layout == torch.strided and not value.is_quantized and not value.is_nested:
                theirs = value.untyped_storage()
                for tensor, alias in self.aliases:
                    if alias.untyped_storage() is theirs:
                        return self._view(tensor, value)
            return adopt_tensor(value, index)
        if type(value) in (list, tuple):
            return type(value)(self.lift(item, index) for item in value)
        return value

    def _view(self, tensor: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        if tensor.dtype is value.dtype:
            view = torch_api.view_over(tensor, value.size(), value.stride(), value.storage_offset())
            return torch_api.set_conj_neg(view, value.is_conj(), value.is_neg())
        return adopt_tensor(value, tensor.device.index)


def run(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Run ``op`` on the CPU's kernels for arguments and results on ``sim``.

    Raises:
        RuntimeError: tensors on different devices, worded as torch does; whatever the CPU raises.
        UnsupportedError: a result that is not a dense strided tensor.
        torch.OutOfMemoryError: a result does not fit on its device.
    """
    if forked:
        raise RuntimeError(_FORKED)
    torch_api.run_backward_on_caller()
    known, scalars, any_of = _rules(op)
    with _no_torch_function():
        call = _Call(known, scalars, any_of)
        try:
            lowered = [
                call.lower(value, name) for value, name in zip(args, known.arguments, strict=False)
            ]
            named = {name: call.lower(value, name) for name, value in kwargs.items()}
            call.check()
        except RuntimeError:
            if known.name.startswith("aten::_foreach_"):
                return _each(op, args, kwargs)
            raise
        index = _place(known, call, lowered, named)
        if known.random and not rng.default_generator(max(index, 0)).linked:
            with rng.drawing(max(index, 0)):
                result = _call(op, known, lowered, named)
        else:
            result = _call(op, known, lowered, named)
        if known.written:
            call.write_back()
            if len(known.returns) == 1 and known.returns[0]:
                return _argument(known, args, kwargs, known.returns[0])
        return _results(known, call, args, kwargs, result, index)


def _call(op: OpOverload, known: Facts, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return op(*args, **kwargs)
    except RuntimeError as error:  # NotImplementedError is one
        return widen.retry(op, known, args, kwargs, error)


def common_device(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The index of the one sim device that the arguments are on; raises as :func:`run` does."""
    known, scalars, any_of = _rules(op)
    call = _Call(known, scalars, any_of)
    for value, name in zip(args, known.arguments, strict=False):
        call.lower(value, name)
    for name, value in kwargs.items():
        call.lower(value, name)
    call.check()
    return call.index


def _place(known: Facts, call: _Call, lowered: list[Any], named: dict[str, Any]) -> int:
    """The device index that new results belong on (-1: they stay where they are)."""
    index = call.index
    if known.device is None:
        return index
    where = named.get("device")
    if where is None and known.device < len(lowered):
        where = lowered[known.device]
    if where is None:
        return index
    if where.type == "sim":
        index = memory.current_device() if where.index is None else where.index
        memory.pool(index)
        if "device" in named:
            named["device"] = _CPU
        else:
            lowered[known.device] = _CPU
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
    owner = memory.pool(index)
    if owner.allocated + nbytes > owner.total:
        owner.take(nbytes)


def _argument(known: Facts, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    if name in kwargs:
        return kwargs[name]
    return args[known.arguments.index(name)]


def _results(
    known: Facts,
    call: _Call,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
    index: int,
) -> Any:
    count = len(known.returns)
    if count == 0:
        return None
    if count == 1:
        return call.lift(result, index)
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
    """A ``_foreach_`` operator whose lists span devices: one call for each position, as CUDA does."""
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
    """:func:`run` for one operator, as ``torch.library`` wants to be given it."""

    def boxed(*args: Any, **kwargs: Any) -> Any:
        return run(op, *args, **kwargs)

    return boxed
