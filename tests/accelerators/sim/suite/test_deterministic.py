"""``torch.use_deterministic_algorithms``: what adds in any order on CUDA is refused, in torch's words, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tdev_core.accelerators.sim import determinism
from tdev_core.accelerators.sim.native import using

nn: Any = torch.ops.aten


@pytest.fixture(autouse=True)
def asked() -> Iterator[None]:
    """The program asks that all be deterministic."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(params=[True, False], ids=["native", "python"])
def kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    with using(request.param):
        yield


def real(*shape: int) -> torch.Tensor:
    return torch.rand(shape, device="sim", requires_grad=True)


def counts(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, device="sim")


def differentiated(call: Callable[[torch.Tensor], Any], *shape: int) -> Callable[[], object]:
    return lambda: call(real(*shape)).sum().backward()


REFUSED: dict[str, Callable[[], object]] = {
    "avg_pool3d_backward_cuda": differentiated(lambda x: F.avg_pool3d(x, 2), 1, 1, 2, 2, 2),
    "adaptive_avg_pool2d_backward_cuda": differentiated(lambda x: F.adaptive_avg_pool2d(x, 2), 1, 1, 4, 4),
    "adaptive_avg_pool3d_backward_cuda": differentiated(lambda x: F.adaptive_avg_pool3d(x, 2), 1, 1, 4, 4, 4),
    "adaptive_max_pool2d_backward_cuda": differentiated(lambda x: F.adaptive_max_pool2d(x, 2), 1, 1, 4, 4),
    "fractional_max_pool2d_backward_cuda": differentiated(lambda x: F.fractional_max_pool2d(x, 2, 2), 1, 1, 4, 4),
    "fractional_max_pool3d_backward_cuda": differentiated(lambda x: F.fractional_max_pool3d(x, 2, 2), 1, 1, 4, 4, 4),
    "upsample_linear1d_backward_out_cuda": differentiated(lambda x: F.interpolate(x, 4, mode="linear"), 1, 1, 2),
    "upsample_bilinear2d_backward_out_cuda": differentiated(lambda x: nn.upsample_bilinear2d(x, [4] * 2, False), 1, 1, 2, 2),
    "upsample_bicubic2d_backward_out_cuda": differentiated(lambda x: nn.upsample_bicubic2d(x, [4] * 2, False), 1, 1, 2, 2),
    "upsample_trilinear3d_backward_out_cuda": differentiated(lambda x: nn.upsample_trilinear3d(x, [4] * 3, False), 1, 1, 2, 2, 2),
    "reflection_pad1d_backward_out_cuda": differentiated(lambda x: F.pad(x, (1, 1), "reflect"), 1, 1, 3),
    "reflection_pad2d_backward_cuda": differentiated(lambda x: F.pad(x, (1,) * 4, "reflect"), 1, 1, 3, 3),
    "reflection_pad3d_backward_out_cuda": differentiated(lambda x: F.pad(x, (1,) * 6, "reflect"), 1, 1, 3, 3, 3),
    "nll_loss2d_forward_out_cuda_template": lambda: F.nll_loss(real(1, 2, 1, 1), counts(0).reshape(1, 1, 1)),
    "ctc_loss_backward_gpu": differentiated(
        lambda x: F.ctc_loss(x.log_softmax(2), counts(1).reshape(1, 1), counts(3), counts(1)), 3, 1, 4
    ),
    "embedding_bag_backward_cuda_max": differentiated(
        lambda w: F.embedding_bag(counts(1, 2).reshape(1, 2), w, mode="max"), 4, 3
    ),
    "grid_sampler_2d_backward_cuda": differentiated(lambda x: F.grid_sample(x, torch.zeros(1, 2, 2, 2, device="sim"), align_corners=False), 1, 1, 3, 3),
    "grid_sampler_3d_backward_cuda": differentiated(lambda x: F.grid_sample(x, torch.zeros(1, 1, 2, 2, 3, device="sim"), align_corners=False), 1, 1, 2, 3, 3),
    "put_": lambda: torch.zeros(4, device="sim").put_(counts(0), torch.ones(1, device="sim"), accumulate=True),
    "scatter_reduce_cuda_prod_": lambda: torch.ones(4, device="sim").scatter_reduce(0, counts(0), torch.ones(1, device="sim"), "prod"),
    "_histc_cuda with floating point input": lambda: torch.histc(torch.rand(4, device="sim"), 2),
    "_bincount_cuda": lambda: torch.bincount(counts(0, 1), torch.ones(2, device="sim")),
    "kthvalue CUDA": lambda: torch.rand(4, device="sim").kthvalue(2),
    "median CUDA with indices output": lambda: torch.rand(4, device="sim").median(0),
}  # fmt: skip
"""By the name in the message: a call that CUDA refuses."""

TAKEN: dict[str, Callable[[], object]] = {
    "bilinear": differentiated(lambda x: F.interpolate(x, 4, mode="bilinear"), 1, 1, 2, 2),
    "padding by replication": differentiated(lambda x: F.pad(x, (1, 1), "replicate"), 1, 1, 3),
    "max pooling": differentiated(lambda x: F.max_pool3d(x, 2), 1, 1, 2, 2, 2),
    "the forward pass": lambda: F.adaptive_avg_pool2d(real(1, 1, 4, 4), 2),
    "a loss of each pixel": lambda: F.nll_loss(real(1, 2, 1, 1), counts(0).reshape(1, 1, 1), reduction="none"),
    "the loss of classes": differentiated(lambda x: F.nll_loss(x, counts(1)), 1, 3),
    "sums of bags": differentiated(lambda w: F.embedding_bag(counts(1, 2).reshape(1, 2), w), 4, 3),
    "counts": lambda: torch.bincount(counts(0, 1)),
    "the median alone": lambda: torch.rand(4, device="sim").median(),
    "scattered sums": lambda: torch.zeros(4, device="sim").scatter_reduce(0, counts(0), torch.ones(1, device="sim"), "sum"),
    "running sums": lambda: torch.rand(4, device="sim").cumsum(0),
}  # fmt: skip


def test_every_refusal_is_called() -> None:
    assert {name for name, _ in determinism._CALLERS.values()} == set(REFUSED)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", REFUSED)
def test_what_adds_in_any_order_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name} does not have a deterministic implementation"):
        REFUSED[name]()
    torch.use_deterministic_algorithms(False)
    REFUSED[name]()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", TAKEN)
def test_what_has_a_deterministic_way_runs(name: str) -> None:
    TAKEN[name]()


@pytest.mark.parametrize("name", ["put", "put_"])
def test_a_copy_is_refused_as_what_is_changed_in_place(name: str) -> None:
    call = getattr(torch.zeros(4, device="sim"), name)
    with pytest.raises(RuntimeError, match="put_ does not have a deterministic implementation"):
        call(counts(0), torch.ones(1, device="sim"), accumulate=True)


def test_a_warning_where_the_program_asks_for_one() -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match="kthvalue CUDA does not have a deterministic"):
        assert torch.tensor([3.0, 1.0], device="sim").kthvalue(1).values.item() == 1.0


def test_the_cpus_tensors_are_its_own() -> None:
    assert torch.tensor([3.0, 1.0]).kthvalue(1).values.item() == 1.0
