"""Sparse tensors of ``sim``: indices and values are sim tensors, operators are the CPU's sparse ones.

torch's constructors refuse a Python device because they pick a kernel by the device's dispatch key, and
there is none for it; the CPU's kernel, called directly, makes a tensor that is on the device. The same
holds for reading the components.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.sim import memory

__all__ = ["KEYS", "READS_REQUIRES_GRAD", "assign", "has", "rebuilt"]

_aten: Any = torch.ops.aten
_BY_ROWS = (torch.sparse_csr, torch.sparse_bsr)
_COMPRESSED = (*_BY_ROWS, torch.sparse_csc, torch.sparse_bsc)
KEYS = (("SparsePrivateUse1", "SparseCPU"), ("SparseCsrPrivateUse1", "SparseCsrCPU"))
"""The device's dispatch keys for COO and for the compressed layouts, and the CPU's."""
READS_REQUIRES_GRAD = frozenset({"aten::_sparse_mm_reduce_impl"})
"""Operators whose CPU kernel keeps what backward needs only if an argument requires grad; without it backward
reads past an empty tensor and crashes."""


def has(tensor: torch.Tensor) -> bool:
    """Tell whether ``tensor`` is of a sparse layout, COO or compressed."""
    return tensor.layout is torch.sparse_coo or tensor.layout in _COMPRESSED


def rebuilt(
    tensor: torch.Tensor,
    component: Callable[[torch.Tensor], torch.Tensor],
    device: torch.device,
) -> torch.Tensor:
    """Make the sparse ``tensor`` anew around ``component(indices)`` and ``component(values)``, on ``device``."""
    options = {"dtype": tensor.dtype, "layout": tensor.layout, "device": device}
    if tensor.layout is torch.sparse_coo:
        indices, values = (component(_read(x, tensor)) for x in ("_indices", "_values"))
        coalesced = _read("is_coalesced", tensor)
        # torch asks no device of it: the tensor is where its first, empty values are made.
        with memory.on(device.index) if device.index is not None else contextlib.nullcontext():
            made = torch_api.call_at(
                _aten._sparse_coo_tensor_with_dims_and_tensors.default,
                "SparseCPU",
                _read("sparse_dim", tensor),
                _read("dense_dim", tensor),
                tensor.size(),
                indices,
                values,
                is_coalesced=coalesced,
                **options,
            )
        return made  # type: ignore[no-any-return]
    parts = [component(_read(name, tensor)) for name in _parts(tensor)]
    make = _aten._sparse_compressed_tensor_unsafe.default
    result: torch.Tensor = make(*parts, tensor.size(), **options)
    return result


def _read(name: str, tensor: torch.Tensor) -> Any:
    key = "SparseCPU" if tensor.layout is torch.sparse_coo else "SparseCsrCPU"
    return torch_api.call_at(getattr(_aten, name).default, key, tensor)


def _parts(tensor: torch.Tensor) -> tuple[str, str, str]:
    """Return the name the components of a compressed ``tensor``."""
    if tensor.layout in _BY_ROWS:
        return ("crow_indices", "col_indices", "values")
    return ("ccol_indices", "row_indices", "values")


def assign(tensor: torch.Tensor, new: torch.Tensor) -> None:
    """Give the sparse sim tensor ``tensor`` itself the components of ``new``."""
    with torch.no_grad():
        if tensor.layout is torch.sparse_coo:
            tensor.data = new
            return
        # Setting .data of a compressed tensor changes nothing in torch 2.13.
        names = _parts(tensor)
        if any(_read(name, tensor).shape != _read(name, new).shape for name in names):
            torch_api.call_at(_aten.resize_as_sparse_.default, "SparseCsrCPU", tensor, new)
        for name in names:
            _read(name, tensor).copy_(_read(name, new))
