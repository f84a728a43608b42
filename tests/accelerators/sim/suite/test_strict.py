"""``TDEV_SIM_STRICT=1``: what CUDA refuses by dtype, from torch's own database, and devices that there are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import tdev
import torch
import torch.nn.functional as F

from tdev_core.accelerators.sim import refusals, strict


@pytest.fixture
def strictly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TDEV_SIM_STRICT", "1")
    strict.install()
    yield
    refusals.clear()


def whole(*shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype, device="sim")


def half(*shape: int) -> torch.Tensor:
    return torch.ones(shape, dtype=torch.float16, device="sim")


def byte(*shape: int) -> torch.Tensor:
    return whole(*shape, dtype=torch.uint8)


def real(*shape: int) -> torch.Tensor:
    return whole(*shape, dtype=torch.float32)


CALLS: dict[str, Callable[[], object]] = {
    "mm": lambda: whole(2, 2) @ whole(2, 2),
    "addmm": lambda: F.linear(whole(2, 2), whole(2, 2), whole(2)),
    "addmv": lambda: torch.addmv(whole(2), whole(2, 2), whole(2)),
    "mv": lambda: whole(2, 2) @ whole(2),
    "dot": lambda: torch.dot(whole(2), whole(2)),
    "vdot": lambda: torch.vdot(whole(2), whole(2)),
    "bmm": lambda: whole(3, 2, 2) @ whole(3, 2, 2),
    "baddbmm": lambda: torch.baddbmm(whole(2, 2), whole(3, 2, 2), whole(3, 2, 2)),
    "addbmm": lambda: torch.addbmm(whole(2, 2), whole(3, 2, 2), whole(3, 2, 2)),
    "max_pool2d_with_indices": lambda: F.max_pool2d(whole(1, 1, 4, 4), 2, return_indices=True),
    "max_pool3d_with_indices": lambda: F.max_pool3d(whole(1, 1, 2, 2, 2), 2, return_indices=True),
    "avg_pool2d": lambda: F.avg_pool2d(whole(1, 1, 4, 4), 2),
    "avg_pool3d": lambda: F.avg_pool3d(whole(1, 1, 2, 2, 2), 2),
    "convolution": lambda: F.conv2d(whole(1, 1, 4, 4), whole(1, 1, 2, 2)),
    "upsample_bilinear2d": lambda: F.interpolate(byte(1, 1, 4, 4), scale_factor=2, mode="bilinear"),
    "upsample_bicubic2d": lambda: F.interpolate(byte(1, 1, 4, 4), scale_factor=2, mode="bicubic"),
    "_upsample_bilinear2d_aa": lambda: F.interpolate(byte(1, 1, 4, 4), size=2, mode="bilinear", antialias=True),
    "_upsample_bicubic2d_aa": lambda: F.interpolate(byte(1, 1, 4, 4), size=2, mode="bicubic", antialias=True),
    "igamma": lambda: torch.igamma(half(2), half(2)),
    "igammac": lambda: torch.igammac(half(2), half(2)),
    "angle": lambda: torch.angle(half(4)),
    "histc": lambda: torch.histc(half(4), 2),
    "histogram": lambda: torch.histogram(real(4), 2),
    "_histogramdd_bin_edges": lambda: torch.histogramdd(real(4, 2), [2, 2]),
    "_histogramdd_from_bin_cts": lambda: torch.ops.aten._histogramdd_from_bin_cts(real(4, 2), [2, 2]),
}  # fmt: skip
"""For each operator of the table a call that reaches it."""

SPELLINGS: dict[str, Callable[[], object]] = {
    "einsum": lambda: torch.einsum("ij,jk->ik", whole(2, 2), whole(2, 2)),
    "in place": lambda: whole(2, 2).addmm_(whole(2, 2), whole(2, 2)),
    "the second alone": lambda: torch.mm(real(2, 2), whole(2, 2)),
    "by name": lambda: torch.mm(input=whole(2, 2), mat2=whole(2, 2)),
}


def test_each_operator_of_the_table_has_its_call() -> None:
    assert CALLS.keys() == strict.REFUSED.keys()


@pytest.mark.parametrize("name", CALLS)
def test_what_cuda_refuses_by_dtype(name: str, strictly: None) -> None:
    with pytest.raises(NotImplementedError, match=rf'^"{name}_cuda" not implemented for '):
        CALLS[name]()
    refusals.clear()
    CALLS[name]()  # the CPU's kernels are there


@pytest.mark.parametrize("call", SPELLINGS.values(), ids=SPELLINGS)
def test_however_it_is_written(call: Callable[[], object], strictly: None) -> None:
    with pytest.raises(NotImplementedError, match=r'^"\w+_cuda" not implemented for '):
        call()


def test_what_cuda_computes_is_computed(strictly: None) -> None:
    x = torch.rand(2, 2, device="sim")
    assert torch.equal((x @ x).cpu(), x.cpu() @ x.cpu())
    assert (whole(2) + whole(2)).tolist() == [2, 2] and whole(2).sum() == 2


@pytest.mark.deep  # torch's database takes seconds to load
def test_the_table_is_what_torchs_database_says() -> None:
    from torch.testing._internal.common_methods_invocations import op_db

    lacking: dict[str, set[torch.dtype]] = {}
    for op in op_db:
        lacking.setdefault(op.name.rpartition(".")[2], set()).update(
            {*op.dtypes} - {*op.dtypesIfCUDA}
        )
    for name in (
        "mm",
        "addmm",
        "addmv",
        "mv",
        "dot",
        "vdot",
        "bmm",
        "baddbmm",
        "addbmm",
        "igamma",
        "angle",
        "histc",
    ):
        assert lacking[name] - {torch.bfloat16} == strict.REFUSED[name] - {torch.bfloat16}, name


def test_a_device_that_is_not_there_is_not_another_one(strictly: None, shims: None) -> None:
    assert tdev.device("cuda:5").index == 5  # as with CUDA, which looks at its use
    for call in (
        lambda: tdev.ones(1, device="cuda:5"),
        lambda: torch.ones(1).to("cuda:5"),
        lambda: torch.ones(1).cuda(5),
        lambda: torch.nn.Linear(1, 1).to("cuda:7"),
    ):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            call()
