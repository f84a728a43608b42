"""Dtypes that CUDA computes and the CPU refuses: each is known, and the way round that is told works."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tdev_core.accelerators.cpu.lacking import WIDER, advice
from tests.forkserver import environment, python

_DTYPES = {
    "Bool": torch.bool,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "ComplexHalf": torch.complex32,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
}
_IMAGE = (1, 1, 2, 2, 2)


def _pool_backward(x: torch.Tensor) -> Any:
    gradient = torch.ones((1, 1, 1, 1, 1), dtype=x.dtype)
    return torch.ops.aten.avg_pool3d_backward(
        gradient, x.view(_IMAGE), [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None
    )


# One call for each kernel; those not named here are the operator of that name.
CALLS: dict[str, Callable[[torch.Tensor], Any]] = {
    "avg_pool3d_out_frame": lambda x: F.avg_pool3d(x.view(_IMAGE), 2),
    "avg_pool3d_backward_out_frame": _pool_backward,
    "compute_index_ranges_weights": lambda x: F.interpolate(
        x.view(1, 1, 2, 4), scale_factor=2, mode="bilinear", antialias=True
    ),
    "div_cpu": lambda x: x / x,
    "histogram_cpu": lambda x: torch.histc(x, 4),
    "lerp_kernel_scalar": lambda x: torch.lerp(x, x, 0.5),
    "lerp_kernel_tensor": lambda x: torch.lerp(x, x, x),
    "logaddexp_cpu": lambda x: torch.logaddexp(x, x),
    "multi_margin_loss_cpu_kernel": lambda x: F.multi_margin_loss(
        x.view(2, 4), torch.tensor([1, 2])
    ),
    "multilabel_margin_loss_forward_out_frame": lambda x: F.multilabel_margin_loss(
        x.view(2, 4), torch.tensor([[1, 2, -1, 0], [0, -1, 1, 2]])
    ),
    "pow": lambda x: x**x,
    "prod_out_cpu": torch.prod,
    "rrelu_with_noise_out_cpu": lambda x: F.rrelu(x, 0.5, 0.5, training=True),
    "trace": lambda x: torch.trace(x.view(2, 4)),
}
CASES = [(kernel, dtype, wide) for kernel, row in WIDER.items() for dtype, wide in row.items()]


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize(("kernel", "dtype", "wide"), CASES)
def test_refused_with_advice_that_works(kernel: str, dtype: str, wide: str) -> None:
    name = re.sub(r"(?:_vml)?_cpu$", "", kernel)
    call = CALLS.get(kernel) or getattr(torch, name)
    x = torch.tensor([1, 2, 3, 4, 1, 2, 3, 4]).to(_DTYPES[dtype])
    with pytest.raises(RuntimeError) as caught:
        call(x)
    told = advice(caught.value)
    assert told.startswith(f"CUDA has a kernel for {kernel} of {dtype}, the CPU has none"), (
        caught.value
    )
    assert f"compute it in {wide} and cast back" in told
    call(x.to(getattr(torch, wide)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.complex32])
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_transforms_and_sums_that_the_cpu_refuses(dtype: torch.dtype) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.fft.fft(torch.ones(8).to(dtype))
    assert "Fourier transforms in half precision" in advice(caught.value)
    with pytest.raises(RuntimeError) as caught:
        torch.nansum(torch.ones(8, dtype=torch.complex64))
    assert "torch.where(x.isnan(), 0, x).sum()" in advice(caught.value)


def test_what_cuda_refuses_too_gets_no_advice() -> None:
    with pytest.raises(RuntimeError, match="not implemented for 'Bool'") as caught:
        torch.ones(2, dtype=torch.bool).cumsum_(0, dtype=torch.bool)
    assert advice(caught.value) == ""
    assert advice(ValueError("\"abs_cpu\" not implemented for 'Bool'")) == ""


# Kernels of attention under names of their own, which torch.nn.functional reaches on CUDA alone.
_NO_CPU = {"torch.ops.aten._flash_attention_forward", "torch.ops.aten._efficient_attention_forward"}

# Prints what is refused although CUDA has it, `{operator: {dtype: advice}}`, and the number of samples made.
SWEEP = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch
from torch.testing._internal.common_methods_invocations import op_db
import tdev
from tdev_core.accelerators.cpu.lacking import advice

device, refused, made = sys.argv[1], {}, 0
moved = lambda value: torch.utils._pytree.tree_map(
    lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, value)
for op in op_db:
    for dtype in sorted(set(op.dtypesIfCUDA) - set(op.dtypes), key=str):
        for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
            try:
                given = moved((sample.input, sample.args, sample.kwargs))
                op.op(given[0], *given[1], **given[2])
                made += 1
            except Exception as error:
                refused.setdefault(op.name, {})[str(dtype)] = advice(error)
print(json.dumps([refused, made]))
"""


def _sweep(backend: str) -> tuple[dict[str, dict[str, str]], int]:
    done = python("-c", SWEEP, "cuda", env=environment(TDEV_BACKEND=backend))
    assert done.returncode == 0, done.stderr[-3000:]
    refused, made = json.loads(done.stdout.splitlines()[-1])
    return refused, made


@pytest.mark.deep
def test_the_list_is_whole() -> None:
    """Every operator of torch's database, every dtype that CUDA has more than the CPU."""
    refused, _ = _sweep("cpu")
    assert len(refused) > 40
    unknown = {name: row for name, row in refused.items() if not all(row.values())}
    assert set(unknown) <= _NO_CPU, unknown


@pytest.mark.deep
def test_sim_answers_by_itself() -> None:
    refused, made = _sweep("sim")
    assert made > 100
    left = {name for name in refused if not name.startswith("fft.")}
    assert left <= _NO_CPU | {"nansum", "nanmean"}, refused
