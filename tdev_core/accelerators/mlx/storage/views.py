"""Writes through views: a slice of the storage where the strides are regular, a scatter where they are not."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.lazy import mx, np, torch

__all__ = ["locate", "physical_order", "write_host", "written"]


def write_host(t: torch.Tensor, value: torch.Tensor) -> None:
    """Store a CPU tensor in a tensor whose storage is in host memory."""
    data = t.untyped_storage()._host  # type: ignore[attr-defined]
    torch.empty(0, dtype=t.dtype).set_(data, t.storage_offset(), t.shape, t.stride()).copy_(value)


def check_writable(t: torch.Tensor) -> None:
    """Refuse a destination in which several elements share memory, in torch's words."""
    if any(n > 1 and s == 0 for n, s in zip(t.shape, t.stride(), strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        )


def physical_order(t: torch.Tensor) -> list[int]:
    """Order the dimensions of `t` from the largest stride to the smallest."""
    strides, shape = t.stride(), t.shape
    return sorted(range(t.dim()), key=lambda i: (-strides[i], -shape[i], i))


def locate(t: torch.Tensor, length: int) -> tuple[list[int], list[int], tuple[Any, ...]] | None:
    """Find where `t` lies in its storage of `length` elements, as a rectangular slice.

    Returns the permutation that sorts the dimensions by stride, the shape to give the storage, and the slices
    in it; or None when no reshape of the storage makes `t` rectangular.
    """
    order = [i for i in physical_order(t) if t.size(i) != 1]
    bounds: list[int] = []
    slices: list[Any] = []
    rest, span = t.storage_offset(), length
    for i in order:
        stride, size = t.stride(i), t.size(i)
        if stride == 0 or span % stride:
            return None
        start = rest // stride
        rest -= start * stride
        if start + size > span // stride:
            return None
        bounds.append(span // stride)
        slices.append(slice(start, start + size))
        span = stride
    bounds.append(span)
    slices.append(slice(rest, rest + 1))
    return order, bounds, tuple(slices)


def written(old: Any, t: torch.Tensor, a: Any) -> Any:
    """Give the storage's array `old` with `a` stored in the elements of `t`; flat."""
    check_writable(t)
    if not a.size:
        return old
    where = locate(t, old.size)
    if where is not None:
        order, bounds, slices = where
        value = mx.transpose(
            mx.reshape(a, t.shape), order + [i for i in range(t.dim()) if i not in order]
        )
        base = mx.reshape(old, bounds)
        if [s.stop - s.start for s in slices] == bounds:
            return mx.reshape(value, bounds)
        base = base[...]  # a handle of our own: item assignment changes the handle it is given
        base[slices] = mx.reshape(value, [s.stop - s.start for s in slices])
        return base
    index = mx.array(
        np.ascontiguousarray(positions(t)).astype(np.int32 if old.size < 2**31 else np.int64)
    )
    flat = mx.reshape(old, (-1,))[...]
    flat[mx.reshape(index, (-1,))] = mx.reshape(a, (-1,))
    return flat


def positions(t: torch.Tensor) -> Any:
    """Compute the index in the storage of each element of `t`, as a numpy array of `t`'s shape."""
    out = np.full((), t.storage_offset(), dtype=np.int64)
    for i in range(t.dim()):
        steps = np.arange(t.size(i), dtype=np.int64) * t.stride(i)
        out = out + steps.reshape([-1 if j == i else 1 for j in range(t.dim())])
    return np.broadcast_to(out, tuple(t.shape))
