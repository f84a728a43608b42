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


_AGAIN = """
import tdev, torch
library = tdev.library.Library("mine", "DEF")
for name in "later anew undefined".split():
    if name != "undefined":
        library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, lambda x: x + 2, "CUDA")
library.define("undefined(Tensor x) -> Tensor")
key = "PrivateUse1" if tdev.accelerator.is_available() else "CPU"
# On CUDA these are two kernels at two keys, and none overrides another.
library.impl("later", lambda x: x + 1, key, allow_override=False)
library.impl("anew", lambda x: x + 3, "CUDA", allow_override=True)
x = tdev.zeros(1, device="cuda")
print([getattr(torch.ops.mine, name)(x).item() for name in "later anew undefined".split()])
for place, overrides in (("later", key), ("anew", "CUDA")):
    try:
        library.impl(place, lambda x: x, overrides, allow_override=False)
    except RuntimeError as error:
        print("already a kernel" in str(error))
"""


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_a_kernel_for_cuda_takes_no_place_from_others(backend: str) -> None:
    """Before 2.13 torch refuses a second kernel at one key unless told otherwise; this asks for that on each."""
    done = python("-c", _AGAIN, env=environment(TDEV_BACKEND=backend))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[1.0, 3.0, 2.0]", "True", "True"]


@pytest.mark.parametrize(
    "registers",
    [
        'torch.library.Library.impl(library, "f", lambda x: x + 2, "CUDA")',
        # As FSDP does, for CUDA and for PrivateUse1: before 2.13 torch refused the second one.
        'torch.library.impl(library, "f", "CUDA")(lambda x: x + 2)',
    ],
)
def test_what_torch_registers_for_cuda_stays_there(registers: str) -> None:
    """torch's own kernels for CUDA are compiled for it; a build with CUDA registers some when Inductor is imported."""
    code = """
import sys, tdev, torch, types
module = types.ModuleType("torch._native.example")
source = 'library = torch.library.Library("_theirs", "DEF"); library.define("f(Tensor x) -> Tensor")'
source += "; " + sys.argv[1]
exec(source, {"torch": torch, "__name__": "torch._native.example"}, module.__dict__)
try:
    torch.ops._theirs.f(torch.zeros(1))
except NotImplementedError:
    print("not there")
"""
    done = python("-c", code, registers)
    assert (done.returncode, done.stdout) == (0, "not there\n"), done.stderr
