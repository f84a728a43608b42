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


CALLS: dict[str, Callable[[], object]] = {
    "matmul": lambda: whole(2, 2) @ whole(2, 2),
    "batches": lambda: whole(3, 2, 2) @ whole(3, 2, 2),
    "a vector": lambda: whole(2, 2) @ whole(2),
    "dot": lambda: torch.dot(whole(2), whole(2)),
    "linear": lambda: F.linear(whole(2, 2), whole(2, 2), whole(2)),
    "einsum": lambda: torch.einsum("ij,jk->ik", whole(2, 2), whole(2, 2)),
    "conv": lambda: F.conv2d(whole(1, 1, 4, 4), whole(1, 1, 2, 2)),
    "avg_pool": lambda: F.avg_pool2d(whole(1, 1, 4, 4), 2),
    "max_pool": lambda: F.max_pool2d(whole(1, 1, 4, 4), 2),
    "bilinear": lambda: F.interpolate(whole(1, 1, 4, 4, dtype=torch.uint8), scale_factor=2, mode="bilinear"),
    "histogram": lambda: torch.histogram(whole(4, dtype=torch.float32), 2),
    "angle": lambda: torch.angle(whole(4, dtype=torch.float16)),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_cuda_refuses_by_dtype(call: Callable[[], object], strictly: None) -> None:
    with pytest.raises(NotImplementedError, match=r'^"\w+_cuda" not implemented for '):
        call()
    refusals.clear()
    call()  # the CPU's kernels are there


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
