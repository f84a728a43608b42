"""Shims for what moves: tensors, modules, packed sequences and storages.

On CUDA a move gives a CPU tensor a second life, and programs rely on it. On the ``cpu`` backend a
*translated* move (``"cuda"`` that became ``cpu``) therefore copies, however the device was spelled, except
for a leaf that requires grad, whose gradient the program wants to find on the very object it holds, and for
what has been moved before. ``TDEV_CPU_ALIAS=1`` opts out. Moves that name the CPU stay torch's own, and
modules move in place.

A source that nobody else seems to hold is copied too. Its reference count does not say so: ``f(*args)``, ``filter`` and
``max(key=…)`` hand on what they hold and use afterwards, with a count of one. Only the interpreter's own stack would tell, which
each Python lays out in another way, and 3.14 lends from local variables; nor has the storage of ``from_numpy`` a second holder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from tdev_core import backend
from tdev_core.accelerators import mps
from tdev_core.devices import (
    APART,
    THERE,
    known,
    moves_copy,
    names_accelerator,
    translate,
    translate_apart,
)
from tdev_core.ecosystem import libraries
from tdev_core.shims import moved
from tdev_core.shims.calls import Leading, passing

__all__ = [
    "allowed_methods",
    "module_cpu",
    "module_cuda",
    "module_to",
    "packed_cuda",
    "packed_to",
    "pin_memory",
    "storage_cuda",
    "storage_to",
    "tensor_cuda",
    "tensor_record_stream",
    "tensor_to",
    "tensor_type",
]

Method = Callable[..., Any]

_CPU = torch.device("cpu")
_HERE = frozenset({"cpu", _CPU})
_ABSENT = object()


def _is_there(where: Any) -> bool:
    """Tell whether ``where``, a translated device or a tensor, is the accelerator of the CPU backend."""
    if isinstance(where, torch.Tensor):
        return moved.is_marked(where)
    return where is THERE and moves_copy()


def _left_accelerator(where: Any) -> bool:
    """Tell whether a move led to the CPU beside an accelerator; ``where`` is a translated device or a tensor."""
    if not backend.is_accelerator() or torch.compiler.is_compiling():
        return False
    return bool(where.device == _CPU if isinstance(where, torch.Tensor) else where in _HERE)


def _must_copy(tensor: torch.Tensor) -> bool:
    return not (tensor.is_leaf and tensor.requires_grad) and not moved.is_marked(tensor)


class _Targets:
    """Targets of moves by what the program writes for them, for where nobody else is asked.

    Attributes:
        accelerator: specifications of the accelerator, each with the device that it always means.
        all: these, and what every backend takes literally: the CPU and dtypes.
        copied: the specifications by which a move copies, whatever the tensor.
    """

    def __init__(self) -> None:
        dtypes = (value for value in vars(torch).values() if type(value) is torch.dtype)
        self.accelerator: dict[Any, torch.device] = {}
        self.all: dict[Any, Any] = {value: value for value in (*_HERE, *dtypes)}
        self.copied: set[Any] = set()
        self._translations = known(translate) or {}

    def learn(self, spec: Any, target: Any) -> None:
        """Remember that ``spec`` means ``target``, unless more than ``spec`` decides about a move."""
        if not self._decides(spec, target) or spec in self.accelerator:
            return
        if moves_copy():
            self.copied.add(spec)  # before it can be found
        self.accelerator[spec] = self.all[spec] = target

    def _decides(self, spec: Any, target: Any) -> bool:
        """Tell whether every later move by ``spec`` goes to ``target``."""
        if type(spec) not in (str, torch.device) or not names_accelerator(spec):
            return False
        if mps.lacks_wide_types():
            return False  # the tensor's dtype decides too
        if torch.compiler.is_compiling():
            return False  # the compiler would trace this
        if torch.jit.is_tracing():
            return False  # torch.jit.trace runs a program twice, and compares from where its operators were called
        # What translate() does not remember is the current device's, which changes.
        return self._translations.get(spec) is target


_targets = _Targets()


def tensor_to(original: Method) -> Method:
    """``Tensor.to`` in all its overloads: device, dtype or other tensor first; ``device=``."""
    dtype, device = torch.dtype, torch.device
    copied, accelerator = _targets.copied, _targets.accelerator
    leading = Leading(_targets.all, copied, "device", moved=_moved_marks())

    @passing(seen=("copy", "tensor"), most=4, leading=leading)
    def to(self: torch.Tensor, first: Any = _ABSENT, /, *args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            # What means the same on every backend first, with the fewest steps, then what copies as often as not.
            kind = first.__class__
            if kind is dtype:
                return original(self, first)
            if kind is str:
                if first == "cpu":
                    return original(self, first)
                if first in copied:
                    return moved.move(original, self, accelerator[first])
            elif kind is device:
                if first in copied:
                    return moved.move(original, self, accelerator[first])
                if first in _HERE and first is not THERE:
                    return original(self, first)
        if first is _ABSENT:
            where = translate(kwargs["device"]) if "device" in kwargs else kwargs.get("tensor")
            if "device" in kwargs:
                _targets.learn(kwargs["device"], where)
                kwargs["device"] = where
        elif isinstance(first, torch.Tensor):
            where = first
            args = (where, *args)
        else:
            where = translate(first)
            _targets.learn(first, where)
            args = (where, *args)
        if self.dtype in mps.NARROWER:
            args, kwargs = mps.narrow_move(self.dtype, args, kwargs)
        if not _is_there(where):
            return original(self, *args, **kwargs)
        if _must_copy(self):
            # to(device, dtype, non_blocking, copy), to(other, non_blocking, copy): in very old code copy
            # is positional
            place = 2 if isinstance(where, torch.Tensor) else 3
            if len(args) > place:
                args = (*args[:place], True, *args[place + 1 :])
            else:
                kwargs["copy"] = True
        return moved.mark(original(self, *args, **kwargs))

    return to


def _moved_marks() -> dict[int, Any] | None:
    return moved.marks if moves_copy() else None


def tensor_cuda(original: Method) -> Method:
    """``Tensor.cuda(device=None, non_blocking=False, memory_format=torch.preserve_format)``."""
    to: Any = torch._C.TensorBase.to
    copied, accelerator = _targets.copied, _targets.accelerator
    preserve, is_traced = torch.preserve_format, torch.compiler.is_dynamo_compiling
    leading = Leading(
        accelerator,
        copied,
        implied="cuda",
        original=to,
        accepted=("non_blocking", "memory_format"),
        moved=_moved_marks(),
        overridden=has_torch_function_unary,
    )

    @passing(most=2, leading=leading)
    def cuda(
        self: torch.Tensor,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: torch.memory_format = torch.preserve_format,
    ) -> Any:
        if has_torch_function_unary(self):
            # A subclass, or a mode, is told of the method that the program has called.
            method = getattr(torch.Tensor, original.__name__)
            return handle_torch_function(
                method,
                (self,),
                self,
                device=device,
                non_blocking=non_blocking,
                memory_format=memory_format,
            )
        spec = "cuda" if device is None else device
        if non_blocking is False and memory_format is preserve and not is_traced():
            if spec.__class__ is str and spec in copied:
                return moved.move(to, self, accelerator[spec])
        target = translate(spec)
        if (
            torch.compiler.is_compiling()
        ):  # which knows the method by its name, and not torch's in C
            return self.to(target, non_blocking=non_blocking, memory_format=memory_format)
        _targets.learn(spec, target)
        args: tuple[Any, ...] = (target,)
        kwargs: dict[str, Any] = {"non_blocking": non_blocking, "memory_format": memory_format}
        if self.dtype in mps.NARROWER:
            args, kwargs = mps.narrow_move(self.dtype, args, kwargs)
        if not _is_there(target):
            return to(self, *args, **kwargs)
        return moved.mark(to(self, *args, copy=_must_copy(self), **kwargs))

    return cuda


def tensor_type(original: Method) -> Method:
    """``Tensor.type``: ``"torch.cuda.FloatTensor"`` is a dtype on the active device, and what ``sim`` calls its tensors.

    So is ``"torch.mps.FloatTensor"``, which MPS calls its own by and torch does not take back: ``x.type(y.type())``.
    """

    def type_(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        name = dtype if isinstance(dtype, str) else _legacy_name(dtype)
        if name is None or not name.startswith(("torch.cuda.", "torch.mps.")):
            told = original(self, *(() if dtype is None else (dtype,)), *args, **kwargs)
            return told.replace("torch.sim.", "torch.cuda.", 1) if dtype is None else told
        plain = getattr(torch, name.rpartition(".")[2], None)
        if plain is None:
            return original(self, dtype, *args, **kwargs)
        return self.to(translate("cuda"), dtype=plain.dtype, **kwargs)

    return type_


def _legacy_name(dtype: Any) -> str | None:
    """``"torch.cuda.FloatTensor"`` for that legacy class, whichever torch or tdev object it is."""
    if not isinstance(dtype, type):
        return None
    module, name = dtype.__module__, dtype.__name__
    return f"{module}.{name}" if module in ("torch.cuda",) else None


def pin_memory(original: Method) -> Method:
    """``pin_memory`` of tensors and storages: page-locked memory speeds copies to CUDA, and means
    nothing elsewhere; ``sim`` copies as CUDA does, so that ``is_pinned()`` can tell."""

    def pin(self: Any, device: Any = None) -> Any:
        return original(self) if backend.current() is backend.Backend.SIM else self

    return pin


def tensor_record_stream(original: Method) -> Method:
    """``Tensor.record_stream``: without a caching allocator that reuses memory across streams, no
    block can be handed out too early."""

    def record_stream(self: torch.Tensor, s: Any) -> None:
        return None

    return record_stream


def module_cuda(original: Method) -> Method:
    """``Module.cuda``: parameters and buffers move in place; nothing is copied on the CPU."""

    def cuda(self: torch.nn.Module, device: Any = None) -> torch.nn.Module:
        return self.to("cuda" if device is None else device)

    return cuda


def module_cpu(original: Method) -> Method:
    """``Module.cpu``: parameters and buffers move back in place."""

    def cpu(self: torch.nn.Module) -> torch.nn.Module:
        return _in_place(original(self), False)

    return cpu


def module_to(original: Method) -> Method:
    """``Module.to``, which takes what ``Tensor.to`` takes; nothing is copied on the CPU."""

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        where, args, kwargs = _translated(args, kwargs)
        result = original(self, *args, **kwargs)
        if where is None or isinstance(where, torch.dtype):
            return result
        if _left_accelerator(where):
            libraries.warn_of_leaving("to", backend.device_type())
        return _in_place(result, _is_there(where))

    return to


def _translated(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return where arguments of ``Tensor.to`` lead, a device or a tensor, and the arguments with it translated."""
    if args:
        where = args[0] if isinstance(args[0], (torch.Tensor, torch.dtype)) else translate(args[0])
        return where, (where, *args[1:]), kwargs
    if "device" in kwargs:
        where = translate(kwargs["device"])
        return where, args, {**kwargs, "device": where}
    return kwargs.get("tensor"), args, kwargs


def _in_place(module: torch.nn.Module, there: bool) -> torch.nn.Module:
    if moves_copy():
        moved.mark_all(module.parameters(), there)
        moved.mark_all(module.buffers(), there)
    return module


def packed_to(original: Method) -> Method:
    """``PackedSequence.to``, which takes what ``Tensor.to`` takes."""

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        where, args, kwargs = _translated(args, kwargs)
        if not _is_there(where):
            return original(self, *args, **kwargs)
        if _must_copy(self.data):
            args, kwargs = (
                ((APART, *args[1:]), kwargs) if args else (args, {**kwargs, "device": APART})
            )
        result = original(self, *args, **kwargs)
        moved.mark(result.data)
        return result

    return to


def packed_cuda(original: Method) -> Method:
    """``PackedSequence.cuda``: torch builds a probe tensor on CUDA to find the target; name it."""

    def cuda(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and "device" not in kwargs:
            kwargs["device"] = "cuda"
        return self.to(*args, **kwargs)

    return cuda


def storage_cuda(original: Method) -> Method:
    """``UntypedStorage.cuda`` and ``TypedStorage.cuda``: a copy of the bytes on the accelerator."""

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        target = translate("cuda" if device is None else device)
        if target is THERE:
            return self.clone() if moves_copy() else self
        return self.to(device=target, non_blocking=non_blocking)

    return cuda


def storage_to(original: Method) -> Method:
    """``UntypedStorage.to`` and ``TypedStorage.to``, which take the device by its name."""

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        return original(self, device=translate_apart(device), non_blocking=non_blocking)

    return to


def allowed_methods(original: list[Any]) -> list[Any]:
    """``UninitializedTensorMixin._allowed_methods``: what lazy parameters allow, by identity.

    An operator hands ``__torch_function__`` what ``torch.Tensor`` has under its name, which is the
    shim; the list was made before that was there.
    """
    now = [getattr(torch.Tensor, getattr(method, "__name__", ""), method) for method in original]
    return [*original, *(method for method in now if method not in original)]
