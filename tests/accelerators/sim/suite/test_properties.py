"""Views, strides, conj and neg bits, and what is done to them, against the CPU (hypothesis)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

DTYPES = [torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16]

VIEWS: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "t": lambda x, n: x.transpose(0, -1) if x.dim() else x,
    "flip view": lambda x, n: x.movedim(0, -1) if x.dim() > 1 else x,
    "select": lambda x, n: x.select(0, n % x.shape[0]) if x.dim() and x.shape[0] else x,
    "narrow": lambda x, n: x.narrow(0, 0, n % (x.shape[0] + 1)) if x.dim() else x,
    "step": lambda x, n: x[:: n % 3 + 1] if x.dim() else x,
    "unsqueeze": lambda x, n: x.unsqueeze(n % (x.dim() + 1)),
    "squeeze": lambda x, n: x.squeeze(),
    "expand": lambda x, n: x.expand(2, *x.shape),
    "diagonal": lambda x, n: x.diagonal() if x.dim() > 1 else x,
    "unfold": lambda x, n: x.unfold(0, 1, 1) if x.dim() and x.shape[0] else x,
    "conj": lambda x, n: x.conj(),
    "real": lambda x, n: torch.view_as_real(x) if x.is_complex() and not x.is_conj() else x,
    "imag": lambda x, n: x.imag if x.is_complex() else x,
    "neg view": lambda x, n: torch._neg_view(x) if x.dtype != torch.bool else x,
    "flatten": lambda x, n: x.flatten(),
    "bytes": lambda x, n: x.view(torch.uint8) if x.dim() and x.stride(-1) == 1 and _plain(x) else x,
    "chunk": lambda x, n: x.chunk(2)[-1] if x.dim() else x,
    "detach": lambda x, n: x.detach(),
}


def _plain(x: torch.Tensor) -> bool:
    return not x.is_neg() and not x.is_conj() and x.dtype != torch.bool


OPERATIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "add": lambda x: x + x,
    "sum": lambda x: x.sum(),
    "reshape": lambda x: x.reshape(-1),
    "cat": lambda x: torch.cat([x.unsqueeze(0), x.unsqueeze(0)]),
    "where": lambda x: torch.where(x == x, x, torch.zeros_like(x)),
    "index": lambda x: x[..., None][[0] if x.dim() and x.shape[0] else ...],
    "resolve": lambda x: x.resolve_conj().resolve_neg(),
    "to double": lambda x: x.to(torch.complex128),
    "nonzero": lambda x: x.nonzero(),
}

WRITES: dict[str, Callable[[torch.Tensor], Any]] = {
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3),
    "mul_": lambda x: x.mul_(x.new_tensor(2)),
    "copy_": lambda x: x.copy_(torch.ones_like(x)),
    "setitem": lambda x: x.__setitem__(..., 1),
    "masked": lambda x: x.masked_fill_(x == x, 1),
}

programs = st.lists(st.tuples(st.sampled_from(sorted(VIEWS)), st.integers(0, 5)), max_size=6)
shapes = st.lists(st.integers(0, 4), max_size=3)


def _make(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    count = 1
    for length in shape:
        count *= length
    x = torch.arange(count, dtype=torch.float32).reshape(shape) - 3
    return (x * (1 + 2j)).to(dtype) if dtype.is_complex else x.to(dtype)


def _same(x: torch.Tensor, y: torch.Tensor) -> None:
    assert y.device.type == "sim" and x.dtype == y.dtype and x.shape == y.shape
    assert x.is_conj() == y.is_conj() and x.is_neg() == y.is_neg()
    if x.numel():
        assert x.stride() == y.stride() and x.storage_offset() == y.storage_offset()
    assert torch.equal(_bits(x), _bits(y.cpu()))


def _bits(x: torch.Tensor) -> torch.Tensor:
    """The bytes, so that NaN compares too."""
    flat = x.resolve_conj().resolve_neg().reshape(-1)
    return flat.clone(memory_format=torch.contiguous_format).view(torch.uint8)


def _attempt(f: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
    try:
        return f(x)
    except (RuntimeError, IndexError, NotImplementedError) as error:
        return type(error)


def _apply(base: torch.Tensor, program: list[tuple[str, int]]) -> torch.Tensor:
    for name, number in program:
        base = VIEWS[name](base, number)
    return base


@settings(max_examples=250, deadline=None, database=None)
@given(shapes, st.sampled_from(DTYPES), programs, st.sampled_from(sorted(OPERATIONS)))
def test_reading_views(
    shape: list[int], dtype: torch.dtype, program: list[tuple[str, int]], operation: str
) -> None:
    base = _make(shape, dtype)
    x, y = _apply(base, program), _apply(base.to("sim"), program)
    _same(x, y)
    expected, actual = (_attempt(OPERATIONS[operation], z) for z in (x, y))
    if isinstance(expected, torch.Tensor):
        assert isinstance(actual, torch.Tensor), actual
        assert expected.dtype == actual.dtype and expected.shape == actual.shape
        assert torch.equal(_bits(expected), _bits(actual.cpu()))
    else:
        assert expected == actual


@settings(max_examples=250, deadline=None, database=None)
@given(shapes, st.sampled_from(DTYPES), programs, st.sampled_from(sorted(WRITES)))
def test_writing_through_views(
    shape: list[int], dtype: torch.dtype, program: list[tuple[str, int]], write: str
) -> None:
    base = _make(shape, dtype)
    moved = base.to("sim")
    x, y = _apply(base, program), _apply(moved, program)
    expected, actual = _attempt(WRITES[write], x), _attempt(WRITES[write], y)
    assert isinstance(expected, type) == isinstance(actual, type), (expected, actual)
    _same(x, y)
    assert torch.equal(_bits(base), _bits(moved.cpu()))


@settings(max_examples=150, deadline=None, database=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_as_strided(shape: list[int], data: st.DataObject) -> None:
    base = torch.arange(64.0)
    stride = [data.draw(st.integers(0, 6)) for _ in shape]
    offset = data.draw(st.integers(0, 20))
    x, y = base.as_strided(shape, stride, offset), base.to("sim").as_strided(shape, stride, offset)
    _same(x, y)
    assert torch.equal(x.sum(0), y.sum(0).cpu())


@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=6))
def test_resizes(steps: list[tuple[int, bool]]) -> None:
    x, y = torch.arange(8.0), torch.arange(8.0, device="sim")
    view = y[:1]
    for size, write in steps:
        x.resize_(size)
        y.resize_(size)
        if write:
            x.fill_(float(size))
            y.fill_(float(size))
        assert y.shape == x.shape and y.untyped_storage().nbytes() == x.untyped_storage().nbytes()
        assert view.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    x.fill_(1)
    assert y.fill_(1).sum().item() == x.sum().item()
