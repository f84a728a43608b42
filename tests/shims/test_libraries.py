"""Kernels that a program registers for CUDA run on the tensors that stand for CUDA's."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.forkserver import environment, python

_PROGRAM = """
import tdev, torch
library = tdev.library.Library("mine", "DEF")
for name in "both later only typed keyed".split():
    library.define(f"{name}(Tensor x) -> Tensor")
library.impl("both", lambda x: x + 1, "CPU")
library.impl("both", lambda x: x + 2, "CUDA")
library.impl("later", lambda x: x + 2, "CUDA")
library.impl("later", lambda x: x + 1, "CPU")
library.impl("only", lambda x: x + 2, "CUDA")
tdev.library.impl("mine::typed", "cuda")(lambda x: x + 2)
for_cuda = tdev.library.Library("mine", "IMPL", "CUDA")
for_cuda.impl("keyed", lambda x: x + 2)
x = tdev.zeros(1, device="cuda")
print([getattr(torch.ops.mine, name)(x).item() for name in "both later only typed keyed".split()])
print(torch.ops.mine.both(torch.zeros(1)).item())
"""


@pytest.mark.parametrize(
    ("backend", "found"),
    [
        ("cpu", [1.0, 1.0, 2.0, 2.0, 2.0]),  # the CPU's own kernel, where there is one
        ("sim", [2.0] * 5),
        pytest.param(
            "mlx",
            [2.0] * 5,
            marks=pytest.mark.skipif(find_spec("mlx") is None, reason="MLX is not installed"),
        ),
    ],
)
def test_a_kernel_for_cuda_is_found(backend: str, found: list[float]) -> None:
    done = python("-c", _PROGRAM, env=environment(TDEV_BACKEND=backend))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [str(found), "1.0"]


def test_what_torch_registers_for_cuda_stays_there() -> None:
    """torch's own kernels for CUDA are compiled for it; a build with CUDA registers some when Inductor is imported."""
    code = """
import tdev, torch, types
module = types.ModuleType("torch._native.example")
source = 'library = torch.library.Library("_theirs", "DEF"); library.define("f(Tensor x) -> Tensor")'
source += '; torch.library.Library.impl(library, "f", lambda x: x + 2, "CUDA")'
exec(source, {"torch": torch, "__name__": "torch._native.example"}, module.__dict__)
try:
    torch.ops._theirs.f(torch.zeros(1))
except NotImplementedError:
    print("not there")
"""
    done = python("-c", code)
    assert (done.returncode, done.stdout) == (0, "not there\n"), done.stderr
