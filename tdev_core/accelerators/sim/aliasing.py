"""A sim tensor as a CPU tensor over the same memory, and the other way round.

Dense tensors share their bytes. A sparse one is made anew around its components (indices and values),
a nested one around its buffer, and these share theirs; torch's own constructors put it on the device,
called at the CPU's dispatch key.

A dense tensor's alias is kept with its storage, since most tensors are read again as they are: of a training step's eight in
ten. It is used for a tensor of the same dtype, sizes, strides and offset alone, while the memory has the same length, and
given to no operator that may change the alias itself.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.sim import memory, nested, refusals, sparse
from tdev_core.errors import UnsupportedError

__all__ = [
    "adopt_dense",
    "adopt_tensor",
    "dense_alias",
    "forget_alias",
    "host_alias",
    "kept_alias",
]

_nbytes = torch_api.storage_nbytes
_STRIDED = torch.strided


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


def dense_alias(tensor: torch.Tensor, index: int | None = None) -> torch.Tensor:
    """Make the :func:`host_alias` of a tensor that is known to be dense.

    With the ``index`` of its device it is kept for the next operator that reads or writes there, see :func:`kept_alias`:
    one for each storage, by its Python object, to die with it.
    """
    storage: Any = tensor.untyped_storage()
    host: Any = memory.host_of(storage)
    dtype, size, stride = tensor.dtype, tensor.size(), tensor.stride()
    offset, nbytes = tensor.storage_offset(), _nbytes(host)
    alias: torch.Tensor = _empty(dtype).data.set_(host, offset, size, stride)
    if _nbytes(host) != nbytes:  # torch grew it to hold the tensor
        host.resize_(nbytes)
        raise RuntimeError(
            f"a tensor on the 'sim' device is used after its storage was resized to {nbytes} bytes, "
            "which do not hold it"
        )
    if tensor.is_neg() or (dtype.is_complex and tensor.is_conj()):
        torch_api.set_conj_neg(alias, tensor.is_conj(), tensor.is_neg())
    elif index is not None and not dtype.is_complex:
        storage._tdev_alias = alias, index, dtype, size, stride, offset, host, nbytes
    return alias


def kept_alias(tensor: torch.Tensor) -> Any:
    """Return the alias that is kept of ``tensor``, its device's index, and what else is known of it.

    None where there is none that is still over the same memory, with the same shape.
    """
    if tensor.layout is not _STRIDED or tensor.is_nested:
        return None
    kept = getattr(tensor.untyped_storage(), "_tdev_alias", None)
    if kept is None:
        return None
    _, _, dtype, size, stride, offset, host, nbytes = kept
    if (
        tensor.dtype is dtype
        and tensor.size() == size
        and tensor.stride() == stride
        and tensor.storage_offset() == offset
        and _nbytes(host) == nbytes
        and not tensor.is_neg()
    ):
        return kept
    return None


def forget_alias(tensor: torch.Tensor) -> None:
    """Keep no alias of ``tensor``'s memory any more: an operator may change the one that it was given."""
    if tensor.layout is _STRIDED and not tensor.is_nested:
        storage: Any = tensor.untyped_storage()
        storage._tdev_alias = None


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
    return adopt_dense(tensor, index, tensor.untyped_storage())


def adopt_dense(
    tensor: torch.Tensor, index: int, host: torch.UntypedStorage, keep: bool = False
) -> torch.Tensor:
    """Do :func:`adopt_tensor` for a tensor that is known to be dense, over the storage ``host``, and not quantized.

    ``keep`` says that nobody else has the tensor: it is the alias that is kept then, see :func:`kept_alias`.
    """
    if refusals.dtypes:
        allowed = refusals.allowed(tensor)
        if allowed is not tensor:
            tensor, host = allowed, allowed.untyped_storage()
    dtype = tensor.dtype
    bits = tensor.is_neg() or (dtype.is_complex and tensor.is_conj())
    result = None if bits else memory.adopt_whole(host, index, tensor)
    if result is not None:
        if keep and not (dtype.is_complex or tensor.requires_grad or tensor.is_inference()):
            storage: Any = result.untyped_storage()
            size, stride = tensor.size(), tensor.stride()
            storage._tdev_alias = tensor, index, dtype, size, stride, 0, host, _nbytes(host)
        return result
    storage = memory.adopt(host, index)
    result = torch_api.tensor_over(
        storage,
        storage.device.index,
        dtype,
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
