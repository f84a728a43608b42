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
        for target in out:
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
        RuntimeError: ``devices`` (or ``chunk_sizes``) together with ``out``.
        ValueError: lengths that do not add up.
    """
    if out is not None:
        if devices is not None or chunk_sizes is not None:
            raise RuntimeError("'devices' and 'chunk_sizes' must not be given together with 'out'")
        pieces = torch.split(tensor, [value.size(dim) for value in out], dim)
        for target, piece in zip(out, pieces, strict=True):
            target.copy_(piece)
        return tuple(out)
    places = [_place(device) for device in devices] if devices is not None else [_place(None)]
    if chunk_sizes is None:
        pieces = tensor.chunk(len(places), dim)
    else:
        if len(chunk_sizes) != len(places) or sum(chunk_sizes) != tensor.size(dim):
            raise ValueError(
                f"chunk_sizes {list(chunk_sizes)} must be {len(places)} lengths that add up to "
                f"{tensor.size(dim)}"
            )
        pieces = torch.split(tensor, list(chunk_sizes), dim)
    scattered: list[torch.Tensor] = []
    for number, (piece, place) in enumerate(zip(pieces, places, strict=False)):
        # What lies there already is a view, as on CUDA. On the CPU it may not be the accelerator's, and where two
        # devices are one here, the second's piece is a copy.
        view = place.type != "cpu" and piece.device == place and place not in places[:number]
        scattered.append(piece if view else piece.to(place, copy=True))
    return tuple(scattered)


def gather(
    tensors: Sequence[torch.Tensor], dim: int = 0, destination: Any = None, *, out: Any = None
) -> torch.Tensor:
    """``tensors`` concatenated along ``dim`` on ``destination``, or written to ``out``.

    Args:
        destination: a device; ``torch.device("cpu")`` or -1 for the CPU, None for the current device.

    Raises:
        RuntimeError: both ``destination`` and ``out``.
    """
    if out is not None:
        if destination is not None:
            raise RuntimeError("'destination' must not be given together with 'out'")
        result: torch.Tensor = torch.cat([value.to(out.device) for value in tensors], dim, out=out)
        return result
    if destination is None:
        place = _place(None)
    elif destination == -1:
        place = torch.device("cpu")
    else:
        place = translate(destination)
    return torch.cat([value.to(place) for value in tensors], dim)
