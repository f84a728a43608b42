"""Every use that tdev makes of torch's private or experimental names for a Python device.

Upstream marks ``_setup_privateuseone_for_python_backend`` and ``torch._C._acc`` experimental
(``torch/utils/backend_registration.py``, ``torch/csrc/acc/Module.cpp``). What they cannot do, and what
therefore shapes the callers:

* the device guard written in C++ always answers index 0 and one device, so the current device of a
  Python device type is ours to keep, and backward must not use torch's per-device worker threads
  (:func:`run_backward_on_caller`);
* ``create_empty_tensor`` always makes device 0 with an unusable storage; tensors are made from one
  empty prototype for each device instead, which DLPack can create for any index
  (:func:`prototype`).
"""

from __future__ import annotations

import functools
import operator
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils import backend_registration

from tdev_core.accelerators.privateuse import dlpack
from tdev_core.errors import ConfigError
from tdev_core.internals import relying_on

__all__ = [
    "alias_on",
    "answer_bindings",
    "backend_name",
    "check_reseat",
    "device_type_code",
    "from_capsule",
    "implement",
    "implemented",
    "kernel",
    "make_prototypes",
    "no_torch_function",
    "prototype",
    "register_device",
    "reseat_storage",
    "run_backward_on_caller",
    "set_fallback",
    "storage_nbytes",
    "storage_over",
    "tensor_over",
    "view_over",
]

_C: Any = torch._C

_NEEDED = (
    "DispatchKey.PrivateUse1 DispatchKeySet DisableTorchFunction StorageBase.nbytes _ExcludeDispatchKeyGuard "
    "_acc.DeviceGuard _acc.PrivateUse1Hooks _autograd.DeviceType.PrivateUse1 _construct_storage_from_data_pointer "
    "_dispatch_get_all_op_names _dispatch_has_kernel_for_dispatch_key _from_dlpack _functorch.peek_interpreter_stack "
    "_get_privateuse1_backend_name _len_torch_dispatch_stack _set_conj _set_multithreading_enabled _set_neg"
).split()
"""Names in ``torch._C`` without which there can be no device of ours."""


def _cannot(why: str) -> ConfigError:
    return ConfigError(
        "the devices 'sim' and 'mlx' stand on experimental parts of torch, and torch "
        f"{torch.__version__} has other ones than this version of tdev knows: {why}. Set TDEV_BACKEND=cpu to run on "
        "the CPU without them, upgrade tdev, or install the torch that it was made for."
    )


def _require() -> None:
    """Look whether torch has all that a device is made of, before any of it is used.

    Raises:
        ConfigError: it has not.
    """
    for name in _NEEDED:
        try:
            operator.attrgetter(name)(_C)
        except AttributeError as error:
            raise _cannot(f"no torch._C.{name}") from error
    for name in (
        "_setup_privateuseone_for_python_backend",
        "_generate_storage_methods_for_privateuse1_backend",
    ):
        if not hasattr(backend_registration, name):
            raise _cannot(f"no torch.utils.backend_registration.{name}")
    if not hasattr(torch.ops.aten.as_strided.default, "_op_dk"):
        raise _cannot("no OpOverload._op_dk")


_require()


def has_kernel(operator: str, key: str) -> bool:
    """Tell whether ``operator`` has a kernel registered for exactly the dispatch (alias) key ``key``."""
    return bool(_C._dispatch_has_kernel_for_dispatch_key(operator, key))


@functools.cache
def kernel(name: str, overload: str = "default", key: str = "CPU") -> Callable[..., Any]:
    """Return torch's own kernel of ``aten::name`` at dispatch key ``key``, to be called without any dispatch.

    Raises:
        RuntimeError: there is none; torch would end the process.
    """
    full = f"aten::{name}" if overload == "default" else f"aten::{name}.{overload}"
    if not has_kernel(full, key):
        raise RuntimeError(f"torch {torch.__version__} has no kernel of {full} for {key}")
    op: Any = getattr(getattr(torch.ops.aten, name), overload)
    return functools.partial(op._op_dk, getattr(_C.DispatchKey, key))


_as_strided = kernel("as_strided")
_set_ = kernel("set_", "source_Storage_storage_offset")
_is_inference: Any = torch.is_inference_mode_enabled
_construct_storage: Any = _C._construct_storage_from_data_pointer

from_capsule: Callable[[Any], torch.Tensor] = _C._from_dlpack
"""``torch.from_dlpack`` of a capsule, without asking whether it is one."""

no_torch_function: Any = _C.DisableTorchFunction
"""Context manager: torch functions called inside ignore ``__torch_function__`` and its modes, so that
a kernel's own calls are not seen (or given a default device) by the user's modes."""


def backend_name() -> str:
    """Return the name that ``PrivateUse1`` has now; ``privateuseone`` while nobody has taken it."""
    name: str = _C._get_privateuse1_backend_name()
    return name


def device_type_code() -> int:
    """Return the integer torch uses for the device type, as ``torch.Stream(device_type=…)`` wants it."""
    return int(_C._autograd.DeviceType.PrivateUse1.value)


class _Hooks(_C._acc.PrivateUse1Hooks):  # type: ignore[misc]
    def is_available(self) -> bool:
        return True

    def has_primary_context(self, device_index: int) -> bool:
        return True

    def is_built(self) -> bool:
        return True


_DEVICE_TYPE: Any = _C._autograd.DeviceType.PrivateUse1


class _Guard(_C._acc.DeviceGuard):  # type: ignore[misc]
    def type_(self) -> Any:
        return _DEVICE_TYPE  # torch asks several times for each node of a backward pass


_kept: list[object] = []
"""What torch refers to but does not own: libraries and hooks."""


def register_device(
    name: str, module: object, devices: int, hooks: Callable[[], object] | None = None
) -> None:
    """Give ``PrivateUse1`` the name ``name``, a device module, hooks and a guard, and look whether it works. Call once.

    ``hooks`` registers a device's own in C++, which answer more than those that Python can have.

    Raises:
        ConfigError: torch's experimental parts are there and do something else than they did.
    """
    try:
        guard = _Guard()
        _kept.extend((guard, module))
        setup: Any = backend_registration._setup_privateuseone_for_python_backend
        if hooks is None:
            in_python = _Hooks()
            _kept.append(in_python)
            setup(rename=name, backend_module=module, hook=in_python, device_guard=guard)
        else:  # the same steps, but for the hooks in Python: torch takes one set
            torch.utils.rename_privateuse1_backend(name)
            torch.utils.generate_methods_for_privateuse1_backend()
            torch._register_device_module(name, module)
            hooks()
            _C._acc.register_python_privateuseone_device_guard(guard)
        generate: Any = backend_registration._generate_storage_methods_for_privateuse1_backend
        generate(name)
        make_prototypes(devices)
        _try_out(torch.device(name, devices - 1))
    except Exception as error:
        raise _cannot(f"{type(error).__name__}: {error}") from error


def _try_out(device: torch.device) -> None:
    """Make one tensor on ``device`` as all are made; it holds an address that nobody reads."""
    storage = storage_over(1 << 12, 24, device)
    tensor = tensor_over(storage, device.index, torch.float32, (2, 2), (2, 1), 2)
    found = (
        tensor.device, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(),
        storage_nbytes(tensor.untyped_storage()), tensor.untyped_storage().data_ptr(),
    )  # fmt: skip
    wanted = (device, torch.float32, (2, 2), (2, 1), 2, 24, 1 << 12)
    if found != wanted:
        raise RuntimeError(f"a tensor was made as {found}, not {wanted}")


def set_fallback(boxed: Callable[..., Any], key: str = "PrivateUse1") -> None:
    """Have ``boxed(op, *args, **kwargs)`` run every operator that has no kernel at dispatch key ``key``."""
    library: Any = torch.library.Library("_", "IMPL")
    library.fallback(boxed, key)
    _kept.append(library)


_libraries: dict[str, Any] = {}
_implemented: dict[str, Callable[..., Any]] = {}


def implement(
    operator: str,
    kernel: Callable[..., Any],
    key: str = "PrivateUse1",
) -> None:
    """Register ``kernel`` for ``operator`` (``"aten::add.Tensor"``) at dispatch key ``key``.

    A kernel for that key is replaced, torch's own without torch's warning about it.
    """
    if key == "PrivateUse1":
        _implemented[operator.removesuffix(".default")] = kernel
    namespace, _, name = operator.partition("::")
    name = name.removesuffix(".default")
    library = _libraries.get(namespace)
    if library is None:
        library = _libraries[namespace] = torch.library.Library(namespace, "IMPL")
    if has_kernel(operator, key):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Warning only once for all operators")
            library.impl(name, kernel, key, allow_override=True)  # asked for since torch 2.13
    else:
        library.impl(name, kernel, key, allow_override=True)


def implemented(operator: str) -> Callable[..., Any] | None:
    """Return the kernel of ours that ``operator`` has for the device itself, the one that was registered last."""
    return _implemented.get(operator)


def operator_names() -> list[str]:
    """List the qualified names (``aten::add.Tensor``) of all operators torch's dispatcher knows."""
    return sorted(_C._dispatch_get_all_op_names())


def answer_bindings(
    functions: dict[str, Callable[..., Any]], where_there_are: bool = False
) -> None:
    """Put functions in the place of those of ``torch._C`` that ask a device's C++ and find none.

    For the bindings below ``torch.accelerator`` alone: they fail, or answer for one device, on a device from Python.
    Not every torch has those that are put ``where_there_are`` such.
    """
    if where_there_are:
        functions = {name: each for name, each in functions.items() if hasattr(_C, name)}
    with relying_on(
        "torch._C._accelerator_…", "torch.accelerator fails in code that is not rewritten"
    ):
        for name in functions:
            getattr(_C, name)
        for name, function in functions.items():
            setattr(_C, name, function)


_backward_ready = threading.local()


def run_backward_on_caller() -> None:
    """Run this thread's backward passes on this thread; call from every dispatch, it is cheap.

    torch hands the nodes of accelerator ``i`` to worker thread ``i`` and makes as many as the device
    guard reports, which for a Python device is one: backward on index 1 would hit an internal
    assertion. The setting is thread-local.
    """
    if not getattr(_backward_ready, "done", False):
        _C._set_multithreading_enabled(False)
        _backward_ready.done = True


# -- storages and tensors -------------------------------------------------------------------------


def storage_over(address: int, nbytes: int, device: torch.device) -> torch.UntypedStorage:
    """Make a storage of ``nbytes`` bytes on ``device`` over ``address``, which it does not own.

    Keep the owner as an attribute of the returned object: torch keeps a storage's Python object as
    long as the storage lives, whichever tensor holds it.
    """
    storage: torch.UntypedStorage = _construct_storage(address, device, nbytes)
    return storage


def check_reseat(storage: Any) -> Callable[[torch.UntypedStorage], None]:
    """Return torch's function that gives ``storage`` the memory of another one.

    Raises:
        RuntimeError: this torch has no ``UntypedStorage._swap_data_ptr_`` (2.13 has).
    """
    swap: Callable[[torch.UntypedStorage], None] | None = getattr(storage, "_swap_data_ptr_", None)
    if swap is None:
        kind = storage.device.type
        raise RuntimeError(
            f"resizing a tensor on the '{kind}' device, or sharing it with another process, needs torch 2.13 "
            f"or newer, this is {torch.__version__}: make a new tensor of the wanted size, or share one on the CPU"
        )
    return swap


def reseat_storage(storage: Any, address: int, nbytes: int) -> None:
    """Make ``storage`` cover ``nbytes`` bytes at ``address``, under all tensors that have it.

    Two swaps, because torch swaps only with an equal or an empty storage.

    Raises:
        RuntimeError: as :func:`check_reseat`.
    """
    swap = check_reseat(storage)
    device = storage.device
    if storage_nbytes(storage) > 0:
        swap(storage_over(0, 0, device))
    if nbytes > 0:
        swap(storage_over(address, nbytes, device))


storage_nbytes: Callable[[Any], int] = _C.StorageBase.nbytes
"""Size of a storage as C++ has it, also where ``UntypedStorage.nbytes`` is routed to a device."""


@functools.cache
def _byte_prototype(index: int, inference: bool) -> torch.Tensor:
    with torch.inference_mode(inference):
        tensor: torch.Tensor = from_capsule(dlpack.empty_bytes(index))
    return tensor


@functools.cache
def prototype(index: int, dtype: torch.dtype, inference: bool = False) -> torch.Tensor:
    """Return an empty one-dimensional tensor of ``dtype`` on device ``index``, to derive others from.

    Never hand it out: it is shared. All are made by :func:`make_prototypes`, while ``view(dtype)`` is
    torch's own. ``inference`` gives one made in inference mode, from which inference tensors derive.
    """
    with no_torch_function(), torch.no_grad(), torch.inference_mode(inference):
        return _byte_prototype(index, inference).view(dtype)


def make_prototypes(devices: int) -> None:
    """Make :func:`prototype` for every dtype on ``devices`` devices; before any kernel is registered."""
    dtypes = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    for index in range(devices):
        for dtype in dtypes:
            prototype(index, dtype)
            prototype(index, dtype, True)


def tensor_over(
    storage: torch.UntypedStorage,
    index: int,
    dtype: torch.dtype,
    size: Sequence[int],
    stride: Sequence[int],
    offset: int | torch.SymInt,
) -> torch.Tensor:
    """Make a tensor on device ``index`` over ``storage``; size, stride and offset count elements."""
    base = prototype(index, dtype, True) if _is_inference() else prototype(index, dtype)
    tensor = _as_strided(base, (0,), (1,), 0)
    result: torch.Tensor = _set_(tensor, storage, offset, size, stride)
    return result


_create: Any = getattr(_C._acc, "create_empty_tensor", None)
_swap: Any = getattr(torch.UntypedStorage, "_swap_data_ptr_", None)
makes_whole_tensors = _create is not None and _swap is not None
"""Whether this torch (2.13 has) lets :func:`tensor_of_its_own` be made; elsewhere it takes :func:`tensor_over`."""


def tensor_of_its_own(
    address: int, nbytes: int, device: torch.device, dtype: torch.dtype, size: Sequence[int]
) -> torch.Tensor:
    """Make a contiguous tensor that has ``nbytes`` bytes at ``address`` to itself: a quarter of what :func:`tensor_over` takes.

    On the first device alone, which is ``device``: torch asks the guard in Python for no index.
    """
    tensor: torch.Tensor = _create(size, dtype)
    if nbytes:
        _swap(tensor.untyped_storage(), _construct_storage(address, device, nbytes))
    return tensor


def is_alone(tensor: torch.Tensor) -> bool:
    """Tell whether no other tensor has the memory of the dense tensor ``tensor``; False where it cannot be known."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return False
    storage: Any = tensor.untyped_storage()
    uses: int = _C._storage_Use_Count(storage._cdata)
    return uses == 2  # the tensor, and this Python object


def view_over(
    base: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset: int | torch.SymInt
) -> torch.Tensor:
    """Make a tensor over the storage of the device tensor ``base``, of its dtype; offset is absolute."""
    result: torch.Tensor = _as_strided(base, size, stride, offset)
    return result


def alias_on(tensor: torch.Tensor) -> torch.Tensor:
    """Make a second tensor over the same storage with the same metadata, without autograd."""
    return view_over(tensor, tensor.size(), tensor.stride(), tensor.storage_offset())


def call_at(op: OpOverload, key: str, *args: Any, **kwargs: Any) -> Any:
    """Call ``op``'s kernel at dispatch key ``key``; there must be one (torch crashes where not)."""
    return op._op_dk(getattr(_C.DispatchKey, key), *args, **kwargs)


def set_conj_neg(tensor: torch.Tensor, conj: bool, neg: bool) -> torch.Tensor:
    """Set the lazy conjugate and negative bits of ``tensor`` without touching its memory."""
    if tensor.is_conj() != conj:
        _C._set_conj(tensor, conj)
    if tensor.is_neg() != neg:
        _C._set_neg(tensor, neg)
    return tensor


def set_metadata(
    tensor: torch.Tensor,
    storage: torch.UntypedStorage,
    offset: int | torch.SymInt,
    size: Sequence[int],
    stride: Sequence[int],
) -> None:
    """Point the device tensor ``tensor`` itself at ``storage`` with this shape."""
    _set_(tensor, storage, offset, size, stride)


def set_fallthrough(key: str) -> None:
    """Have dispatch key ``key`` pass every operator on that has no kernel there."""
    library: Any = torch.library.Library("_", "IMPL")
    library.fallback(torch.library.fallthrough_kernel, key)
    _kept.append(library)
    with relying_on(
        "torch._ops._higher_order_ops",
        f"Higher-order operators (flex_attention, cond) do not run where {key} is in use",
    ):
        from torch import _ops

        which = getattr(_C.DispatchKey, key)
        for operator in _ops._higher_order_ops.values():
            operator.fallthrough(which)
        # Those that are imported later have these from the start.
        _ops._HIGHER_ORDER_OP_DEFAULT_FALLTHROUGH_DISPATCH_KEYS.append(which)


@functools.cache
def _keyset(*keys: str) -> Any:
    """Return the set of these dispatch keys."""
    together = _C.DispatchKeySet(getattr(_C.DispatchKey, keys[0]))
    for key in keys[1:]:
        together |= _C.DispatchKeySet(getattr(_C.DispatchKey, key))
    return together


def without_keys(*keys: str) -> Any:
    """Make a context manager inside which operators skip these dispatch keys."""
    return _C._ExcludeDispatchKeyGuard(_keyset(*keys))


def functorch_active() -> bool:
    """Tell whether this call happens inside ``torch.func`` (vmap, grad, jvp)."""
    return bool(_C._functorch.peek_interpreter_stack() is not None)


def being_traced(values: Sequence[Any]) -> bool:
    """Tell whether a dispatch mode or a tensor subclass is to see the operators that this call consists of."""
    return _C._len_torch_dispatch_stack() > 0 or any(
        isinstance(value, torch.Tensor)
        and type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
        for value in values
    )


def allow_data_moves(name: str) -> None:
    """Let ``p.data = tensor`` move ``p`` between the CPU and the device, as it does for CUDA.

    ``Module.to`` keeps its parameters that way; torch lists the device types for which it may
    (``TensorImpl::has_compatible_shallow_copy_type``) and gives all others new parameters, which an
    optimizer made before would never see.
    """

    def compatible(tensor: torch.Tensor, source: torch.Tensor) -> bool:
        return all(
            x.layout == torch.strided and x.device.type in ("cpu", name) for x in (tensor, source)
        )

    implement("aten::_has_compatible_shallow_copy_type", compatible)
