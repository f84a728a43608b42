"""``torch.cuda.comm``: copying and adding tensors across the devices of one process.

Indices of devices mean what they mean everywhere in tdev: one that the backend lacks is device 0. The
shapes of the results are those of CUDA with as many devices, so that code that splits a batch over
two devices gets its two parts.

Source: ``torch.nn.parallel.comm``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from tdev_core.accelerators.queues import device_of_index
from tdev_core.backend import Backend, current, device_type
from tdev_core.devices import device_index, translate

__all__ = [
    "broadcast",
    "broadcast_coalesced",
    "gather",
    "reduce_add",
    "reduce_add_coalesced",
    "scatter",
]


def _place(device: Any) -> torch.device:
    return device_of_index(device_index(device))


def _check_on_device(tensor: torch.Tensor, what: str) -> None:
    """Refuse a tensor of the host, where one can be told from the accelerator's."""
    if current() is not Backend.CPU and tensor.device.type != device_type():
        raise RuntimeError(f"Expected all {what} has device '{tensor.device}'")


def broadcast(
    tensor: torch.Tensor, devices: Iterable[Any] | None = None, *, out: Any = None
) -> Any:
    """Copies of ``tensor``, one on each of ``devices``, or written to the tensors ``out``.

    The first copy is ``tensor`` itself where it is on that device already.

    Raises:
        RuntimeError: neither or both of ``devices`` and ``out`` were given.
    """
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and "
            f"out={out}"
        )
    if out is not None:
        for number, target in enumerate(out):
            _check_on_device(
                target, f"output tensors to be CUDA tensors, but output tensor at index {number}"
            )
            if target.shape != tensor.shape:
                raise RuntimeError(
                    f"Expected all output tensors to have same shape as the source tensor {list(tensor.shape)}, but output "
                    f"tensor at index {number} has shape {list(target.shape)}"
                )
            target.copy_(tensor)
        return tuple(out)
    assert devices is not None
    copies: list[torch.Tensor] = []
    for device in devices:
        place = _place(device)
        itself = not copies and tensor.device == place
        copies.append(tensor if itself else tensor.to(place, copy=True))
    return tuple(copies)


def broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[Any], buffer_size: int = 10485760
) -> list[tuple[torch.Tensor, ...]]:
    """Copies of all ``tensors`` on each of ``devices``; one tuple for each device."""
    if len(devices) == 0:
        raise RuntimeError("broadcast_coalesced needs at least one device")
    columns = [broadcast(tensor, devices) for tensor in tensors]
    return [tuple(column[row] for column in columns) for row in range(len(devices))]


def reduce_add(inputs: Sequence[torch.Tensor], destination: Any = None) -> torch.Tensor:
    """Sum of ``inputs`` on ``destination``, the current device by default.

    Raises:
        RuntimeError: no inputs.
        ValueError: inputs of different shapes.
    """
    if len(inputs) == 0:
        raise RuntimeError("reduce_add expects at least one tensor")
    shapes = [tuple(value.shape) for value in inputs]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError(f"reduce_add expects inputs of one shape, got {shapes}")
    place = _place(destination)
    result = inputs[0].to(place, copy=True)
    for value in inputs[1:]:
        result.add_(value.to(place))
    return result


def reduce_add_coalesced(
    inputs: Sequence[Sequence[torch.Tensor]], destination: Any = None, buffer_size: int = 10485760
) -> tuple[torch.Tensor, ...]:
    """Sums of the tensors that stand at the same place in each of ``inputs``."""
    return tuple(reduce_add(column, destination) for column in zip(*inputs, strict=True))


def scatter(
    tensor: torch.Tensor,
    devices: Sequence[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Any = None,
) -> tuple[torch.Tensor, ...]:
    """``tensor`` split along ``dim``, one piece for each device, or written to the tensors ``out``.

    Args:
        chunk_sizes: lengths of the pieces; equal ones by default.

    Raises:
        RuntimeError: ``devices`` (or ``chunk_sizes``) together with ``out``; lengths or shapes that do not add up; in
            torch's words.
    """
    if out is not None:
        for name, given in (("devices", devices), ("chunk_sizes", chunk_sizes)):
            if given is not None:
                raise RuntimeError(
                    f"'{name}' must not be specified when 'out' is specified, but got {name}={given}"
                )
        for target, piece in zip(out, _pieces_for(tensor, out, dim), strict=True):
            target.copy_(piece)
        return tuple(out)
    places = [_place(device) for device in devices] if devices is not None else [_place(None)]
    if not places:
        raise RuntimeError("Expected at least one device to scatter to")
    if chunk_sizes is None:
        pieces = tensor.chunk(len(places), dim)
    else:
        if len(chunk_sizes) != len(places):
            raise RuntimeError(
                f"Expected devices and chunk_sizes to be of same length, but got len(devices) = {len(places)} and "
                f"len(chunk_sizes) = {len(chunk_sizes)}"
            )
        pieces = torch.split(tensor, list(chunk_sizes), dim)
    scattered: list[torch.Tensor] = []
    for number, (piece, place) in enumerate(zip(pieces, places, strict=False)):
        # What lies there already is a view, as on CUDA. On the CPU it may not be the accelerator's, and where two
        # devices are one here, the second's piece is a copy.
        view = place.type != "cpu" and piece.device == place and place not in places[:number]
        scattered.append(piece if view else piece.to(place, copy=True))
    return tuple(scattered)


def _pieces_for(
    tensor: torch.Tensor, out: Sequence[torch.Tensor], dim: int
) -> tuple[torch.Tensor, ...]:
    """Split ``tensor`` as the tensors ``out`` are long; raises where they do not fit."""
    if len(out) == 0:
        raise RuntimeError("Expected at least one output tensor to scatter to")
    dim %= tensor.dim()
    for number, target in enumerate(out):
        _check_on_device(
            target, f"output tensors to be CUDA tensors, but output tensor at index {number}"
        )
        if _without(target, dim) != _without(tensor, dim) or target.dim() != tensor.dim():
            raise RuntimeError(
                f"Output tensor at index {number} has incorrect shape: {list(target.shape)}. Expected same shape except for "
                f"scatter dim {dim} as the source tensor: {list(tensor.shape)}"
            )
    lengths = [target.size(dim) for target in out]
    if sum(lengths) != tensor.size(dim):
        raise RuntimeError(
            f"Total size for output tensors along scatter dim {dim} does not match the source tensor size along dim {dim}. "
            f"Expected {tensor.size(dim)}, but got total size {sum(lengths)}"
        )
    return torch.split(tensor, lengths, dim)


def _without(tensor: torch.Tensor, dim: int) -> list[int]:
    return [length for number, length in enumerate(tensor.shape) if number != dim]


def _gathered_shape(tensors: Sequence[torch.Tensor], dim: int) -> torch.Size:
    """Return the shape of ``tensors`` joined along ``dim``; raises where they do not fit together."""
    if len(tensors) == 0:
        raise RuntimeError("Expected at least one tensor to gather from")
    dims = tensors[0].dim()
    for number, tensor in enumerate(tensors):
        _check_on_device(tensor, f"input tensors to be CUDA tensors, but tensor at index {number}")
        if tensor.dim() != dims:
            raise RuntimeError(
                f"Expected all input tensors to have the same number of dimensions, but tensor at index {number} has "
                f"{tensor.dim()} dimensions, (expected {dims})"
            )
        if _without(tensor, dim % dims) != _without(tensors[0], dim % dims):
            raise RuntimeError(
                f"Input tensor at index {number} has invalid shape {list(tensor.shape)}, but expected "
                f"{list(tensors[0].shape)} but for dimension {dim % dims}"
            )
    shape = list(tensors[0].shape)
    shape[dim] = sum(tensor.size(dim) for tensor in tensors)
    return torch.Size(shape)


def gather(
    tensors: Sequence[torch.Tensor], dim: int = 0, destination: Any = None, *, out: Any = None
) -> torch.Tensor:
    """``tensors`` concatenated along ``dim`` on ``destination``, or written to ``out``.

    Args:
        destination: a device; ``torch.device("cpu")`` or -1 for the CPU, None for the current device.

    Raises:
        RuntimeError: both ``destination`` and ``out``; tensors that do not fit together; in torch's words.
    """
    if out is not None and destination is not None:
        raise RuntimeError(
            f"'destination' must not be specified when 'out' is specified, but got destination={destination}"
        )
    shape = _gathered_shape(tensors, dim)
    if out is not None:
        if out.shape != shape:
            raise RuntimeError(
                f"Expected out tensor to have shape {list(shape)}, but got {list(out.shape)}"
            )
        result: torch.Tensor = torch.cat([value.to(out.device) for value in tensors], dim, out=out)
        return result
    if destination is None:
        place = _place(None)
    elif destination == -1:
        place = torch.device("cpu")
    else:
        place = translate(destination)
    return torch.cat([value.to(place) for value in tensors], dim)
