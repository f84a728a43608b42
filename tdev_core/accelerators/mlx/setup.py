"""Registration of the device: kernels for every row of the table and what is derived from it."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import attention, layout, native, runtime, sharding, table
from tdev_core.accelerators.mlx.accelerator import MlxAccelerator
from tdev_core.accelerators.mlx.collectives import host_copies
from tdev_core.accelerators.mlx.compiler import backend
from tdev_core.accelerators.mlx.dispatch import derive, direct, fallback, wrappers
from tdev_core.accelerators.mlx.lazy import torch
from tdev_core.accelerators.mlx.ops import aliasing, memory
from tdev_core.accelerators.mlx.registry import OPERATORS, Row
from tdev_core.accelerators.mlx.storage.untyped import MlxStorages
from tdev_core.accelerators.privateuse import process_group, torch_api
from tdev_core.accelerators.privateuse.registration import DeviceSpec
from tdev_core.accelerators.privateuse.registration import register as register_device
from tdev_core.backend import unsupported

__all__ = ["put_native_before", "register", "registered"]

registered: set[str] = set()
"""Overloads that have a kernel of the device, derived ones included."""


def register() -> None:
    """Register the device type, its kernels and the fallback. Called once, by ``tdev_core.accelerators.mlx.activate``."""
    runtime.start()
    table.load()
    register_device(DeviceSpec("mlx", MlxAccelerator(), MlxStorages(), compiler="mlx"))
    torch_api.set_fallback(fallback.boxed)
    for key in ("SparsePrivateUse1", "SparseCsrPrivateUse1"):
        torch_api.set_fallback(_no_sparse, key)
    torch_api.set_fallback(_no_nested, "NestedTensorPrivateUse1")
    for row in list(OPERATORS.values()):
        if row.eager:
            _register_row(row)
    torch_api.implement(
        "aten::_to_copy", wrappers.raw(torch.ops.aten._to_copy.default, memory.to_copy)
    )
    torch_api.implement("aten::_nested_tensor_from_mask_left_aligned", _not_nested)
    attention.install()
    sharding.install()
    for key in ("PrivateUse1", "CPU"):
        torch_api.implement("aten::is_pinned", _not_pinned, key)
    for key in ("PrivateUse1", "CPU", "AutogradPrivateUse1", "AutogradCPU"):
        torch_api.implement("aten::pin_memory", _pin_memory, key)
    process_group.install("mlx", host_copies.kernel)
    backend.announce()
    put_native_before()


def put_native_before() -> None:
    """Let the native kernels, where they have been built, answer first what they can answer."""
    if not native.start():
        return
    for row in OPERATORS.values():
        if row.raw or row.overload not in registered:
            continue
        name, overload = row.overload.split(".", 1)
        operator = _operator(name, overload)
        if any(str(given.type) != "Tensor" for given in operator._schema.returns):
            continue
        kernel = layout.follow(row.kernel) if layout.elementwise(operator) else row.kernel
        float32 = None if row.float32 is None else direct.function_of(row)
        native.before(operator, kernel, float32)
        for full in derive.derived(name, overload)[0]:
            if full in registered and full not in OPERATORS:
                native.before(_operator(*full.split(".", 1)), kernel, float32, in_place=True)
    for name, by in aliasing.ALONE.items():
        native.view(_operator(name, "default"), by)


def _not_nested(tensor: Any, mask: Any) -> bool:
    """Tell whether `nn.TransformerEncoder` may pack padded sequences: MLX has no nested tensors, so it goes on with padded ones."""
    return False


def _no_sparse(operator: Any, *args: Any, **kwargs: Any) -> Any:
    unsupported(
        operator.name(),
        "MLX has no sparse tensors",
        "make the sparse tensor on the CPU, or use a dense one",
        "TDEV109",
    )


def _no_nested(operator: Any, *args: Any, **kwargs: Any) -> Any:
    unsupported(
        operator.name(),
        "MLX has no nested tensors in the strided layout",
        "make it with layout=torch.jagged, or pad the sequences",
        "TDEV109",
    )


def _not_pinned(tensor: Any, device: Any = None) -> bool:
    return False


def _pin_memory(tensor: Any, device: Any = None) -> Any:
    """Give the tensor itself: memory is unified, there is nothing that pinning would make faster."""
    if tensor.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    return tensor


def _operator(name: str, overload: str) -> Any:
    return getattr(getattr(torch.ops.aten, name), overload)


def _differentiates_by_parts(full: str) -> bool:
    """Tell whether torch differentiates the operator through the ones it is composed of.

    A kernel would hide those from autograd; compiled graphs, in which autograd has run, still use the row.
    ``linear`` is composed too, but has a derivative of its own.
    """
    name = f"aten::{full}".removesuffix(".default")
    return full not in _OWN_DERIVATIVE and torch_api.has_kernel(name, "CompositeImplicitAutograd")


_OWN_DERIVATIVE = frozenset({"linear.default"})


def find(name: str, overload: str) -> Any:
    """Find torch's operator, or None where this torch does not have it (the table knows several versions)."""
    return getattr(getattr(torch.ops.aten, name, None), overload, None)


def _implement(name: str, kernel: Any) -> None:
    if name in registered:
        return
    registered.add(name)
    kernel = wrappers.bringing_indices(_operator(*name.split(".", 1)), kernel)
    torch_api.implement(f"aten::{name}".removesuffix(".default"), kernel)


def _register_row(row: Row) -> None:
    name, overload = row.overload.split(".", 1)
    operator = find(name, overload)
    if operator is None:
        return
    if row.raw:
        if not _differentiates_by_parts(row.overload):
            kernel = aliasing.alone(row.overload) or wrappers.raw(operator, row.kernel)
            _implement(row.overload, kernel)
        return
    if not _differentiates_by_parts(row.overload):
        usual = wrappers.functional(operator, row.kernel)
        _implement(row.overload, direct.through(operator, row, usual))
    inplace, outs = derive.derived(name, overload)
    for full in inplace:
        if full not in OPERATORS and not _differentiates_by_parts(full):
            usual = wrappers.inplace(_operator(*full.split(".", 1)), row.kernel)
            _implement(full, direct.inplace(row, usual))
    for full, names in outs:
        if full not in OPERATORS and not _differentiates_by_parts(full):
            _implement(
                full, wrappers.out_variant(_operator(*full.split(".", 1)), row.kernel, names)
            )
