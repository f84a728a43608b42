"""``torch.cuda.FloatTensor`` and its kin: tensor types of the accelerator, and the storages.

Long before dtypes and devices were separate, a type named both, and old code still makes tensors with
``torch.cuda.FloatTensor(2, 3)``, asks ``isinstance(x, torch.cuda.FloatTensor)`` and passes the types
to ``x.type()`` and ``set_default_tensor_type``. The objects here do the same on the active backend.

Source: ``torch/csrc/tensor/python_tensor.cpp``; ``torch.cuda`` legacy storages.
"""

from __future__ import annotations

import copyreg
import threading
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators.queues import device_of_index
from tdev_core.backend import Backend, current, device_type
from tdev_core.devices import device_index
from tdev_core.errors import warn, warn_once
from tdev_core.shims import install as shims

__all__ = ["SparseTensorType", "StorageType", "TensorType", "set_default_tensor_type"]


class _Named(type):
    """A dtype on the accelerator under its old name. A class, as in torch: annotations take it."""

    dtype: torch.dtype
    is_cuda = True

    def __new__(mcls, name: str, dtype: torch.dtype) -> Any:
        # Programs and shims recognise these types by module and name.
        home = "torch.cuda.sparse" if mcls.__name__ == "SparseTensorType" else "torch.cuda"
        return super().__new__(mcls, name, (), {"__module__": home, "dtype": dtype})

    def __init__(cls, name: str, dtype: torch.dtype) -> None:
        super().__init__(name)

    def _here(cls, value: Any) -> bool:
        return bool(value.dtype == cls.dtype and value.device.type == device_type())


class _TensorType(_Named):
    """The common part of dense and sparse types: an instance has the layout, the dtype and the device."""

    layout: torch.layout

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.layout is cls.layout
            and cls._here(instance)
        )


class TensorType(_TensorType):
    """``torch.cuda.FloatTensor`` and the other dense types.

    Calling it makes a tensor as torch's legacy constructors do: from sizes (uninitialised memory), a
    sequence, a tensor, or nothing. A tensor of the accelerator is not copied.

    Raises:
        TypeError: a tensor of another dtype.
    """

    layout = torch.strided
    is_sparse = False

    def __call__(cls, *args: Any, device: Any = None) -> torch.Tensor:
        _deprecated(_CONSTRUCTORS)
        match args:
            case [torch.Tensor() as given] if given.device.type != "cpu":
                if given.dtype != cls.dtype:
                    raise TypeError(f"expected a tensor of {cls.dtype}, got one of {given.dtype}")
                return given.view_as(given)
            case _:
                made: torch.Tensor = getattr(torch, cls.__name__)(*args)
        return made.to(device_of_index(device_index(device)))


class SparseTensorType(_TensorType):
    """``torch.cuda.sparse.FloatTensor`` and the other COO types.

    Calling it takes indices, values and a size, or a size alone, or nothing.
    """

    layout = torch.sparse_coo
    is_sparse = True

    def __call__(cls, *args: Any, device: Any = None) -> torch.Tensor:
        place = device_of_index(device_index(device))
        if len(args) >= 2 and isinstance(args[0], torch.Tensor):
            return torch.sparse_coo_tensor(*args, dtype=cls.dtype, device=place)
        sizes = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args or (0,)
        empty: Any = torch.sparse_coo_tensor  # the overload for a size alone is not in the stubs
        made: torch.Tensor = empty(tuple(sizes), dtype=cls.dtype, device=place)
        return made


class StorageType(_Named):
    """``torch.cuda.FloatStorage`` and the other typed storages.

    Calling it takes a number of elements, a sequence, or nothing.
    """

    def __call__(cls, *args: Any, device: Any = None) -> torch.TypedStorage:
        place = device_of_index(device_index(device))
        if len(args) == 1 and not isinstance(args[0], int):
            values = torch.tensor(list(args[0]), dtype=cls.dtype, device=place)
            return _typed(values)
        count = args[0] if args else 0
        return _typed(torch.empty(count, dtype=cls.dtype, device=place))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, torch.TypedStorage) and cls._here(instance)


_CONSTRUCTORS = (
    "The torch.cuda.*DtypeTensor constructors are no longer recommended. It's best to use methods such as "
    "torch.tensor(data, dtype=*, device='cuda') to create tensors."
)
_DEFAULT_TYPE = (
    "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
    "torch.set_default_device() as alternatives."
)


def _deprecated(said: str) -> None:
    """Warn once in torch's words, or each time where ``torch.set_warn_always`` asks for that; not in a graph."""
    if torch.compiler.is_compiling():
        return  # neither the question nor the warning can be traced
    if torch.is_warn_always_enabled():
        warn(said, UserWarning)
    else:
        warn_once(said, UserWarning, key=said)


def _typed(tensor: torch.Tensor) -> torch.TypedStorage:
    storage: torch.TypedStorage = tensor._typed_storage()
    return storage


def _find(kind: str, name: str) -> _Named:
    prefix = "Sparse" if kind == "SparseTensorType" else ""
    found: _Named = globals()[prefix + name]
    return found


def _reduce(named: _Named) -> tuple[Any, ...]:
    return _find, (type(named).__name__, named.__name__)


# pickle would look the class up in torch.cuda, where torch's own is.
for _kind in (TensorType, SparseTensorType, StorageType):
    copyreg.pickle(_kind, _reduce)

BFloat16Tensor = TensorType("BFloat16Tensor", torch.bfloat16)
BoolTensor = TensorType("BoolTensor", torch.bool)
ByteTensor = TensorType("ByteTensor", torch.uint8)
CharTensor = TensorType("CharTensor", torch.int8)
DoubleTensor = TensorType("DoubleTensor", torch.float64)
FloatTensor = TensorType("FloatTensor", torch.float32)
HalfTensor = TensorType("HalfTensor", torch.float16)
IntTensor = TensorType("IntTensor", torch.int32)
LongTensor = TensorType("LongTensor", torch.int64)
ShortTensor = TensorType("ShortTensor", torch.int16)

SparseBFloat16Tensor = SparseTensorType("BFloat16Tensor", torch.bfloat16)
SparseByteTensor = SparseTensorType("ByteTensor", torch.uint8)
SparseCharTensor = SparseTensorType("CharTensor", torch.int8)
SparseDoubleTensor = SparseTensorType("DoubleTensor", torch.float64)
SparseFloatTensor = SparseTensorType("FloatTensor", torch.float32)
SparseHalfTensor = SparseTensorType("HalfTensor", torch.float16)
SparseIntTensor = SparseTensorType("IntTensor", torch.int32)
SparseLongTensor = SparseTensorType("LongTensor", torch.int64)
SparseShortTensor = SparseTensorType("ShortTensor", torch.int16)

BFloat16Storage = StorageType("BFloat16Storage", torch.bfloat16)
BoolStorage = StorageType("BoolStorage", torch.bool)
ByteStorage = StorageType("ByteStorage", torch.uint8)
CharStorage = StorageType("CharStorage", torch.int8)
ComplexDoubleStorage = StorageType("ComplexDoubleStorage", torch.complex128)
ComplexFloatStorage = StorageType("ComplexFloatStorage", torch.complex64)
DoubleStorage = StorageType("DoubleStorage", torch.float64)
FloatStorage = StorageType("FloatStorage", torch.float32)
HalfStorage = StorageType("HalfStorage", torch.float16)
IntStorage = StorageType("IntStorage", torch.int32)
LongStorage = StorageType("LongStorage", torch.int64)
ShortStorage = StorageType("ShortStorage", torch.int16)


# The default device that a tensor type has set: torch keeps it by thread, and so does this.
_set_by_type = threading.local()
# Whether `torch.Tensor(...)` makes tensors of the accelerator: torch keeps that by process.
_legacy_there = False


def set_default_tensor_type(t: Any) -> None:
    """``torch.set_default_tensor_type``: a type of the accelerator sets the default dtype, and the
    accelerator as the device of new tensors; a type of the CPU takes both back.

    ``torch.Tensor(...)`` minds the type alone, whatever the default device. It cannot be reached by a
    name (the class is torch's), and torch has no type for it that means ``mps``, ``mlx`` or ``sim``:
    the first type of the accelerator that is set adds a shim on it.

    A device that ``set_default_device`` has set stays, as in torch, where it goes before the type's.

    Args:
        t: a tensor type, or its name (``"torch.cuda.FloatTensor"``).
    """
    global _legacy_there
    if isinstance(t, str) and t.startswith("torch.cuda."):
        t = _find("TensorType", t.rpartition(".")[2])
    elif getattr(t, "__module__", "") == "torch.cuda" and not isinstance(t, TensorType):
        t = _find("TensorType", t.__name__)
    before = _default_device()
    by_type = before is None or before is getattr(_set_by_type, "context", None)
    if not isinstance(t, TensorType):
        torch.set_default_tensor_type(t)
        _legacy_there = False
        if by_type:
            torch.set_default_device(None)
        return
    _deprecated(_DEFAULT_TYPE)
    torch.set_default_dtype(t.dtype)
    if current() is Backend.CPU:
        return
    shims.add(_LEGACY)
    _legacy_there = True
    if by_type:
        torch.set_default_device(device_type())
        _set_by_type.context = _default_device()


def legacy_constructor(original: Callable[..., Any]) -> Callable[..., Any]:
    """``torch.Tensor(...)`` under a default type: sizes, a sequence or nothing make a tensor there.

    A tensor given alone is handed back as torch does, wherever it lies, and so is what names a device.
    """

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        made = original(cls, *args, **kwargs)
        if not _legacy_there or kwargs or (args and isinstance(args[0], torch.Tensor)):
            return made
        return made.to(device_of_index(device_index()))

    return __new__


if current() is Backend.SIM:
    # Where torch looks for what ``x.storage_type()`` and ``x.storage().type()`` tell. A device that stands for no GPU has no
    # storages of CUDA's, but plain ones, as torch's test_tensor_storage_type asks of every device but that.
    from tdev_core.accelerators.sim import profiles

    _profile = profiles.active()
    _is_cudas = _profile is None or _profile.build != "privateuse1"
    for _storage in [each for each in vars().copy().values() if isinstance(each, StorageType)]:
        _name = _storage.__name__
        setattr(torch.sim, _name, _storage if _is_cudas else getattr(torch, _name))  # type: ignore[attr-defined]


_LEGACY = shims.Shim("torch.Tensor", "__new__", (), f"{__name__}:legacy_constructor")


def _default_device() -> Any:
    """Return what `torch.set_default_device` left for this thread, or None."""
    return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
