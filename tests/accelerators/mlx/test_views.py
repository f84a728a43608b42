"""Reads and writes through views, against the CPU: shapes, strides, offsets, overlap, conj and neg bits."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

DTYPES = [
    torch.float32,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.float64,
]


@st.composite
def programs(draw: Any) -> list[tuple[Any, ...]]:
    """Steps that make a view of a (4, 6, 5) tensor."""
    steps: list[tuple[Any, ...]] = []
    shape = [4, 6, 5]
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(
            st.sampled_from(["transpose", "slice", "select", "unsqueeze", "flatten", "expand"])
        )
        if kind == "transpose" and len(shape) > 1:
            a, b = draw(st.integers(0, len(shape) - 1)), draw(st.integers(0, len(shape) - 1))
            shape[a], shape[b] = shape[b], shape[a]
            steps.append(("transpose", a, b))
        elif kind == "slice" and shape:
            d = draw(st.integers(0, len(shape) - 1))
            start = draw(st.integers(0, shape[d]))
            stop = draw(st.integers(start, shape[d]))
            step = draw(st.integers(1, 3))
            shape[d] = len(range(start, stop, step))
            steps.append(("slice", d, start, stop, step))
        elif kind == "select" and shape:
            d = draw(st.integers(0, len(shape) - 1))
            if shape[d]:
                steps.append(("select", d, draw(st.integers(0, shape[d] - 1))))
                del shape[d]
        elif kind == "unsqueeze":
            d = draw(st.integers(0, len(shape)))
            shape.insert(d, 1)
            steps.append(("unsqueeze", d))
    return steps


def view(x: torch.Tensor, steps: list[tuple[Any, ...]]) -> torch.Tensor:
    for name, *args in steps:
        x = torch.ops.aten.slice.Tensor(x, *args) if name == "slice" else getattr(x, name)(*args)
    return x


def made(dtype: torch.dtype) -> torch.Tensor:
    x = torch.arange(120).reshape(4, 6, 5) % 17 - 3
    return (x + 1j * (x % 5)).to(dtype) if dtype.is_complex else x.to(dtype)


@given(steps=programs(), dtype=st.sampled_from(DTYPES))
@settings(max_examples=150, deadline=None)
def test_a_view_reads_what_the_cpu_reads(steps: Any, dtype: torch.dtype) -> None:
    x = made(dtype)
    theirs, ours = view(x, steps), view(x.to("mlx"), steps)
    assert ours.shape == theirs.shape and ours.stride() == theirs.stride()
    assert ours.storage_offset() == theirs.storage_offset()
    torch.testing.assert_close(ours.cpu(), theirs, rtol=0, atol=0)


@given(
    steps=programs(),
    dtype=st.sampled_from(DTYPES),
    how=st.sampled_from(["fill", "copy", "index", "add"]),
)
@settings(max_examples=200, deadline=None)
def test_a_write_through_a_view_changes_the_base_like_on_the_cpu(
    steps: Any, dtype: torch.dtype, how: str
) -> None:
    results = []
    for device in ("cpu", "mlx"):
        base = made(dtype).to(device)
        v = view(base, steps)
        if how == "fill":
            v.fill_(1)
        elif how == "copy":
            v.copy_((torch.arange(v.numel()).reshape(v.shape) % 7).to(dtype).to(device))
        elif how == "index" and v.dim():
            v[..., v.shape[-1] // 2 :] = 1
        elif how == "add" and dtype is not torch.bool:
            v.add_(v.clone())
        results.append(base.cpu())
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)


@given(steps=programs())
@settings(max_examples=60, deadline=None)
def test_conjugated_and_negated_views(steps: Any) -> None:
    x = made(torch.complex64)
    d = x.to("mlx")
    pairs = [
        (view(d, steps).conj(), view(x, steps).conj()),
        (view(d, steps).conj().imag, view(x, steps).conj().imag),
        (view(d, steps).conj() * 2, view(x, steps).conj() * 2),
        (view(d, steps).real.clone(), view(x, steps).real.clone()),
        (view(d, steps).conj().sum(), view(x, steps).conj().sum()),
    ]
    for ours, theirs in pairs:
        torch.testing.assert_close(
            ours.cpu().resolve_conj().resolve_neg(), theirs.resolve_conj().resolve_neg()
        )


def test_a_conjugated_matrix_product() -> None:
    a, b = made(torch.complex64)[0], made(torch.complex64)[1]
    ours = a.to("mlx").conj() @ b.to("mlx").mH
    torch.testing.assert_close(ours.cpu(), a.conj() @ b.mH)


@pytest.mark.parametrize(
    "to", [torch.int32, torch.uint8, torch.int16, torch.float64, torch.complex64]
)
def test_views_of_another_dtype_share_memory(to: torch.dtype) -> None:
    results = []
    for device in ("cpu", "mlx"):
        base = torch.arange(8, dtype=torch.float32).to(device)
        other = base.view(to)
        other[0] = 5
        base[3] = 9.0
        results.append((base.cpu(), other.cpu()))
    for ours, theirs in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_a_write_to_an_expanded_tensor_is_refused() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1, device="mlx").expand(3).add_(1)


def test_channels_last_is_kept() -> None:
    x = torch.randn(2, 3, 4, 5)
    y = x.to("mlx").to(memory_format=torch.channels_last)
    assert y.is_contiguous(memory_format=torch.channels_last) and not y.is_contiguous()
    assert y.clone().stride() == y.stride()
    torch.testing.assert_close(y.cpu(), x)


def test_resize_and_set_keep_what_was_there() -> None:
    x = torch.arange(6.0, device="mlx")
    v = x[1:3]
    x.resize_(2, 2)
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    x.resize_(8)
    assert x[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] or x[:4].tolist() == [
        0.0,
        1.0,
        2.0,
        3.0,
    ]
    y = torch.empty(0, device="mlx").set_(v)  # type: ignore[call-overload]
    y.mul_(10)
    assert v.tolist() == [10.0, 20.0]
