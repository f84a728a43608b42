"""Moving arguments to ``sim`` as they are, and comparing results bit for bit with the CPU's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

SEED = 20

_NEAR = {
    torch.float32: {"rtol": 1.3e-6, "atol": 1e-5},
    torch.float16: {"rtol": 1e-2, "atol": 1e-2},
    torch.bfloat16: {"rtol": 1.6e-2, "atol": 1.6e-2},
}


def to_sim(value: Any) -> Any:
    """Tensors of ``value`` on ``sim`` with the same strides, storage layout and bits."""
    return tree_map(lambda x: _to_sim(x) if isinstance(x, torch.Tensor) else x, _devices(value))


def _devices(value: Any) -> Any:
    def one(x: Any) -> Any:
        if isinstance(x, torch.device) and x.type == "cpu":
            return torch.device("sim")
        return "sim" if isinstance(x, str) and x == "cpu" else x

    return tree_map(one, value)


def _to_sim(x: torch.Tensor) -> torch.Tensor:
    if x.layout != torch.strided:
        return x.detach().to("sim").requires_grad_(x.requires_grad)
    plain = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())  # type: ignore[call-overload]
    moved: torch.Tensor = plain.to("sim").as_strided(x.size(), x.stride(), x.storage_offset())
    if x.is_conj():
        moved = moved.conj()
    if x.is_neg():
        moved = torch._neg_view(moved)
    return moved.requires_grad_(x.requires_grad)


def copy(value: Any) -> Any:
    """Fresh CPU tensors with the same contents and strides."""

    def one(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        if x.layout != torch.strided:
            return x.detach().clone().requires_grad_(x.requires_grad)
        plain = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage().clone())
        fresh = plain.as_strided(x.size(), x.stride(), x.storage_offset())
        fresh = fresh.conj() if x.is_conj() else fresh
        fresh = torch._neg_view(fresh) if x.is_neg() else fresh
        return fresh.requires_grad_(x.requires_grad)

    return tree_map(one, value)


def difference(
    expected: Any, actual: Any, where: str = "result", values: bool | str = True
) -> str | None:
    """What distinguishes two results, or None: structure, dtype, shape, strides, device and bits.

    ``values`` False leaves the bits out; ``"close"`` allows what torch allows between two devices.
    """
    left, left_spec = tree_flatten(expected)
    right, right_spec = tree_flatten(actual)
    if left_spec != right_spec:
        return f"{where}: structure {left_spec} against {right_spec}"
    for number, (x, y) in enumerate(zip(left, right, strict=True)):
        found = _difference(x, y, values)
        if found:
            return f"{where}[{number}]: {found}"
    return None


def _difference(x: Any, y: Any, values: bool | str) -> str | None:
    if not isinstance(x, torch.Tensor):
        same = x == y or (x != x and y != y) or isinstance(x, torch.device)
        return None if same else f"{x!r} against {y!r}"
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{x.dtype} {tuple(x.shape)} against {y.dtype} {tuple(y.shape)}"
    if x.layout != y.layout:
        return f"{x.layout} against {y.layout}"
    if x.layout != torch.strided:
        pairs = zip(_components(x), _components(y), strict=True)
        return next((found for a, b in pairs if (found := _difference(a, b, values))), None)
    if x.numel() and x.stride() != y.stride():
        return f"stride {x.stride()} against {y.stride()}"
    if y.device.type != "sim":
        return f"on {y.device}"
    if x.is_conj() != y.is_conj() or x.is_neg() != y.is_neg():
        return "conj or neg bit differs"
    host = y.cpu().resolve_conj().resolve_neg()
    if values == "close":
        near = torch.allclose(x.detach(), host, **_NEAR[x.dtype], equal_nan=True)
        return None if near else "values are not even close"
    if values and not torch.equal(_bits(x.detach().resolve_conj().resolve_neg()), _bits(host)):
        return "values differ"
    return None


def _components(x: torch.Tensor) -> list[Any]:
    """Indices, values and flags of a sparse tensor."""
    x = x.detach()
    if x.layout is torch.sparse_coo:
        return [x._indices(), x._values(), x.is_coalesced(), x.sparse_dim()]
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [x.crow_indices(), x.col_indices(), x.values()]
    return [x.ccol_indices(), x.row_indices(), x.values()]


def _bits(x: torch.Tensor) -> torch.Tensor:
    flat = torch.empty(x.numel(), dtype=x.dtype).copy_(x.detach().reshape(-1))
    if flat.dtype.is_complex:
        flat = torch.view_as_real(flat).reshape(-1)
    if flat.dtype.is_floating_point:  # every NaN alike: its payload is not a value
        flat = torch.where(flat != flat, torch.full_like(flat, float("nan")), flat)
    return flat.view(torch.uint8)


compared: list[str] = []
"""One entry for each pair of results that was compared; both sides refusing is not a comparison."""


def attempt(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """The result of ``call``, or its exception; the random sequence starts anew."""
    torch.manual_seed(SEED)
    try:
        return call(), None
    except Exception as error:
        return None, error


def compare(
    cpu: Callable[[], Any], sim: Callable[[], Any], where: str, values: bool | str = True
) -> str | None:
    """Run both; None if equal or if both refuse."""
    expected, cpu_error = attempt(cpu)
    actual, sim_error = attempt(sim)
    if cpu_error is not None:
        return None if sim_error is not None else f"{where}: sim accepts what the CPU refuses"
    if sim_error is not None:
        return f"{where}: {type(sim_error).__name__}: {str(sim_error).splitlines()[0]}"
    compared.append(where)
    return difference(expected, actual, where, values)
