"""A sim tensor as a CPU tensor over the same memory, and the other way round.

Dense tensors share their bytes. A sparse one is made anew around its components (indices and values),
a nested one around its buffer, and these share theirs; torch's own constructors put it on the device,
called at the CPU's dispatch key.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.sim import memory, nested, refusals, sparse
from tdev_core.errors import UnsupportedError

__all__ = ["adopt_dense", "adopt_tensor", "dense_alias", "host_alias"]

_nbytes = torch_api.storage_nbytes


@cache
def _empty(dtype: torch.dtype) -> Any:
    """Make the empty tensor of a dtype, never to be handed out: its ``data`` takes a third of what a new one does."""
    with torch.inference_mode(False):
        return torch.empty(0, dtype=dtype)


def host_alias(tensor: torch.Tensor) -> torch.Tensor:
    """Make a CPU tensor over the memory of the sim tensor ``tensor``."""
    if tensor.layout is not torch.strided:
        return sparse.rebuilt(tensor, dense_alias, torch.device("cpu"))
    if tensor.is_nested:
        host = memory.host_of(tensor.untyped_storage())
        return nested.rebuilt(tensor, nested.buffer(tensor, host))
    return dense_alias(tensor)


def dense_alias(tensor: torch.Tensor) -> torch.Tensor:
    """Make the :func:`host_alias` of a tensor that is known to be dense."""
    host: Any = memory.host_of(tensor.untyped_storage())
    dtype = tensor.dtype
    nbytes = _nbytes(host)
    alias: torch.Tensor = _empty(dtype).data.set_(
        host, tensor.storage_offset(), tensor.size(), tensor.stride()
    )
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
    """Make a sim tensor on device ``index`` over the memory of the CPU tensor ``tensor``.

    Raises:
        UnsupportedError: it is quantized or of a layout for one library alone.
        torch.OutOfMemoryError: the device's capacity would be exceeded.
        TypeError: the device that this one stands for has no such dtype.
    """
    if sparse.has(tensor):
        return sparse.rebuilt(tensor, lambda part: adopt_tensor(part, index), memory.device(index))
    if tensor.layout != torch.strided or tensor.is_quantized:
        _refuse(tensor)
    if tensor.is_nested:
        whole = nested.buffer(tensor, tensor.untyped_storage())
        return nested.rebuilt(tensor, adopt_tensor(whole, index))
    return adopt_dense(tensor, index)


def adopt_dense(tensor: torch.Tensor, index: int) -> torch.Tensor:
    """Do :func:`adopt_tensor` for a tensor that is known to be dense, and not quantized."""
    if refusals.dtypes:
        tensor = refusals.allowed(tensor)
    host = tensor.untyped_storage()
    bits = tensor.is_neg() or (tensor.dtype.is_complex and tensor.is_conj())
    whole = None if bits else memory.adopt_whole(host, index, tensor)
    if whole is not None:
        return whole
    storage = memory.adopt(host, index)
    result = torch_api.tensor_over(
        storage,
        storage.device.index,
        tensor.dtype,
        tensor.size(),
        tensor.stride(),
        tensor.storage_offset(),
    )
    if bits:
        torch_api.set_conj_neg(result, tensor.is_conj(), tensor.is_neg())
    return result


def _refuse(tensor: torch.Tensor) -> None:
    kind = str(tensor.layout).removeprefix("torch.")
    kind = "quantized" if tensor.is_quantized else kind
    raise UnsupportedError(
        f"the 'sim' device has no {kind} tensors: its tensors are strided, nested or sparse. "
        "Do this step on the CPU (tensor.cpu()) and move dense results back.",
        "TDEV109",
    )
