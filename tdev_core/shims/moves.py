"""Shims for what moves: tensors, modules, packed sequences and storages.

On CUDA a move gives a CPU tensor a second life, and programs rely on it. On the ``cpu`` backend a
*translated* move (``"cuda"`` that became ``cpu``) therefore copies, except for a leaf that requires
grad, whose gradient the program wants to find on the very object it holds. ``TDEV_CPU_ALIAS=1`` opts
out. Moves that name the CPU stay torch's own, and modules move in place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch

from tdev_core import settings
from tdev_core.accelerators import mps
from tdev_core.backend import Backend, current
from tdev_core.devices import ACCELERATORS, known, translate
from tdev_core.shims import calls
from tdev_core.shims.calls import Leading, passing

__all__ = [
    "allowed_methods",
    "module_cuda",
    "module_to",
    "moves_copy",
    "packed_cuda",
    "pin_memory",
    "storage_cuda",
    "tensor_cuda",
    "tensor_record_stream",
    "tensor_to",
    "tensor_type",
]

Method = Callable[..., Any]

_HERE = frozenset({"cpu", torch.device("cpu")})
_ABSENT = object()


@lru_cache(maxsize=1)
def moves_copy() -> bool:
    """Tell whether translated moves have to copy: nothing else tells source and result apart on a CPU."""
    return current() is Backend.CPU and not settings.flag("TDEV_CPU_ALIAS")


def _names_accelerator(spec: Any) -> bool:
    if isinstance(spec, torch.device):
        return spec.type in ACCELERATORS
    if isinstance(spec, str):
        return spec.partition(":")[0] in ACCELERATORS
    return isinstance(spec, int) and not isinstance(spec, bool)


def _must_copy(tensor: torch.Tensor, spec: Any) -> bool:
    return (
        moves_copy() and _names_accelerator(spec) and not (tensor.is_leaf and tensor.requires_grad)
    )


class _Targets:
    """Targets of moves by what the program writes for them, for the module in C, which asks nobody.

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
        if type(spec) not in (str, torch.device) or not _names_accelerator(spec):
            return False
        if mps.lacks_wide_types():
            return False  # the tensor's dtype decides too
        if torch.compiler.is_compiling() or not calls.kinds():
            return False  # the compiler would trace this; without the module nobody looks
        # What translate() does not remember is the current device's, which changes.
        return self._translations.get(spec) is target


_targets = _Targets()


def tensor_to(original: Method) -> Method:
    """``Tensor.to`` in all its overloads: device, dtype or other tensor first; ``device=``."""
    dtype, device = torch.dtype, torch.device

    @passing(seen=("copy",), most=4, leading=Leading(_targets.all, _targets.copied, "device"))
    def to(self: torch.Tensor, first: Any = _ABSENT, /, *args: Any, **kwargs: Any) -> Any:
        kind = first.__class__
        # What means the same on every backend first, with the fewest steps.
        if kind is dtype or ((kind is str or kind is device) and first in _HERE):
            if args or kwargs:
                return original(self, first, *args, **kwargs)
            return original(self, first)
        if first is _ABSENT:
            if "device" not in kwargs:
                return original(self, **kwargs)
            spec = kwargs["device"]
            kwargs["device"] = target = translate(spec)
            _targets.learn(spec, target)
            args = ()
        elif isinstance(first, torch.Tensor):
            return original(self, first, *args, **kwargs)
        else:
            spec = first
            target = translate(first)
            _targets.learn(first, target)
            args = (target, *args)
        if self.dtype in mps.NARROWER:
            args, kwargs = mps.narrow_move(self.dtype, args, kwargs)
        if _must_copy(self, spec):
            # to(device, dtype, non_blocking, copy): copy is positional in very old code
            if len(args) > 3:
                args = (*args[:3], True, *args[4:])
            else:
                kwargs["copy"] = True
        return original(self, *args, **kwargs)

    return to


def tensor_cuda(original: Method) -> Method:
    """``Tensor.cuda(device=None, non_blocking=False, memory_format=torch.preserve_format)``."""
    leading = Leading(
        _targets.accelerator,
        _targets.copied,
        implied="cuda",
        original=torch._C.TensorBase.to,
        accepted=("non_blocking", "memory_format"),
    )

    @passing(most=2, leading=leading)
    def cuda(
        self: torch.Tensor,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: torch.memory_format = torch.preserve_format,
    ) -> torch.Tensor:
        spec = "cuda" if device is None else device
        target = translate(spec)
        _targets.learn(spec, target)
        return self.to(
            target,
            non_blocking=non_blocking,
            copy=_must_copy(self, "cuda"),
            memory_format=memory_format,
        )

    return cuda


def tensor_type(original: Method) -> Method:
    """``Tensor.type``: ``"torch.cuda.FloatTensor"`` is a dtype on the active device."""

    def type_(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        name = dtype if isinstance(dtype, str) else _legacy_name(dtype)
        if name is None or not name.startswith("torch.cuda."):
            return original(self, *(() if dtype is None else (dtype,)), *args, **kwargs)
        plain = getattr(torch, name.rpartition(".")[2], None)
        if plain is None:
            return original(self, dtype, *args, **kwargs)
        return self.to(
            translate("cuda"), dtype=plain.dtype, copy=_must_copy(self, "cuda"), **kwargs
        )

    return type_


def _legacy_name(dtype: Any) -> str | None:
    """``"torch.cuda.FloatTensor"`` for that legacy class, whichever torch or tdev object it is."""
    if not isinstance(dtype, type):
        return None
    module, name = dtype.__module__, dtype.__name__
    return f"{module}.{name}" if module in ("torch.cuda",) else None


def pin_memory(original: Method) -> Method:
    """``pin_memory`` of tensors and storages: page-locked memory speeds copies to CUDA, and means
    nothing elsewhere."""

    def pin(self: Any, device: Any = None) -> Any:
        return self

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
        target = translate("cuda" if device is None else device)
        moved: torch.nn.Module = self._apply(lambda tensor: tensor.to(target))
        return moved

    return cuda


def module_to(original: Method) -> Method:
    """``Module.to`` and ``PackedSequence.to``: both take what ``Tensor.to`` takes."""

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and not isinstance(args[0], (torch.Tensor, torch.dtype)):
            args = (translate(args[0]), *args[1:])
        elif "device" in kwargs:
            kwargs["device"] = translate(kwargs["device"])
        return original(self, *args, **kwargs)

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
        return (
            self.clone()
            if target.type == "cpu"
            else self.to(device=target, non_blocking=non_blocking)
        )

    return cuda


def allowed_methods(original: list[Any]) -> list[Any]:
    """``UninitializedTensorMixin._allowed_methods``: what lazy parameters allow, by identity.

    An operator hands ``__torch_function__`` what ``torch.Tensor`` has under its name, which is the
    shim; the list was made before that was there.
    """
    now = [getattr(torch.Tensor, getattr(method, "__name__", ""), method) for method in original]
    return [*original, *(method for method in now if method not in original)]
