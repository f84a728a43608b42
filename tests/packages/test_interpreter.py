"""Kernels in Triton, interpreted: values against torch, bfloat16 bit for bit, and what is refused."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tdev_core.errors import ConfigError
from tdev_core.packages.interpreter import choosing
from tdev_core.run.cache import CodeCache
from tdev_core.run.rewriting import rewritten_tree
from tests import forkserver

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="triton is not installed"
)
PROGRAM = Path(__file__).with_name("triton_program.py")
TRUE = [
    *(f"bfloat16 {name}" for name in ("add", "sub", "mul", "max", "where", "abs", "scalar", "casts")),
    "bfloat16_casts", "bfloat16_rounds_as_torch", "bfloat16_reductions", "bfloat16_dot", "bfloat16_atomics", "matmul_with_autotune",
    "bfloat16_padding_is_nan", "float8_rounds_as_torch", "float8_dot", "tensor_descriptors", "blocks_have_no_truth_of_their_own",
    "the_number_of_a_loop_is_a_tensor_too",
    "a_function_for_the_grid_is_given_the_arguments_themselves", "softmax_with_heuristics", "dropout_with_a_seed", "libdevice_functions", "module",
]  # fmt: skip
SAID = {
    "libdevice without meaning": "UnsupportedError.*libdevice.cyl_bessel_i0 has no meaning",
    "out of bounds": "kernel doubled reads outside its arguments: 4 of 16 elements",
    "compared and changed out of bounds": "kernel odd changes outside its arguments: 1 of 1 elements",
    "a grid of fractions": r"kernel doubled: its grid is \(1.0,\); whole numbers",
    "a grid of four": r"kernel doubled: its grid is \(1, 1, 1, 1\); a tuple of one to three numbers",
    "a negative grid": r"kernel doubled: its grid is \(-1,\); whole numbers that are not negative",
    "an empty grid": r"kernel doubled: its grid is \(\); a tuple of one to three",
    "a number for a grid": "kernel doubled: its grid is 1; a tuple",
    "a function that gives fractions": r"kernel doubled: its grid is \(1.0,\); whole numbers",
    "a function that gives four": r"kernel doubled: its grid is \(1, 1, 1, 1\); a tuple",
    "a function that gives a number": "kernel doubled: its grid is 1; a tuple",
    "a large grid": r"kernel doubled: its grid is \(1, 65536\); CUDA starts at most",
    "an unknown option": "kernel doubled has no parameter num_wraps",
    "an argument that is lacking": "TypeError: Triton kernel doubled: missing a required argument: 'x'",
    "no grid": "kernel doubled was called without a grid",
    "complex numbers": "kernel doubled: torch.complex64 is nothing that a kernel takes",
    "no memory": "kernel doubled: a tensor of shape \\(16,\\) has no memory to point to: it is on meta",
    "sums of float8": "fp8e5 is stored .*convert it first",
    "a chain of comparisons": "before 3.9 has no a < b < c",
    "a block under if": r"a block of shape \(8,\) is neither true nor false",
    "mixed pointers": "kernel binary: its pointers are on cpu and sim:0",
}


def run(device: str, *cases: str) -> dict[str, Any]:
    env = forkserver.environment(TDEV_TRITON="interpret", TDEV_BACKEND=device, KERNELS_ON=device)
    done = forkserver.python(str(PROGRAM), *cases, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Triton's kernels run in its interpreter") <= 1
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@needs_triton
def test_kernels_on_sim() -> None:
    found = run("sim")
    assert {name: found[name] for name in TRUE} == dict.fromkeys(TRUE, True)
    for name, words in SAID.items():
        assert re.search(words, found[name]), found[name]
    assert "interpreted kernels of Triton:\n  binary " in found["report"]


@needs_triton
@pytest.mark.deep
@pytest.mark.parametrize("device", ["cpu", "mlx"])
def test_kernels_on_other_devices(device: str) -> None:
    if device == "mlx" and importlib.util.find_spec("mlx") is None:
        pytest.skip("MLX is not installed")
    found = run(device)
    assert {name: found[name] for name in TRUE} == dict.fromkeys(TRUE, True)


@needs_triton
def test_bfloat16_is_torch_s_bit_for_bit() -> None:
    env = forkserver.environment(TDEV_TRITON="interpret", TDEV_BACKEND="sim", KERNELS_ON="sim")
    done = forkserver.python(str(PROGRAM.with_name("triton_bfloat16.py")), env=env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {}


@needs_triton
@pytest.mark.deep
@pytest.mark.inductor
def test_inductor_builds_what_it_builds_for_the_cpu() -> None:
    assert run("cpu", "bfloat16 add", "inductor")["inductor"] is True


def test_the_setting_is_interpret_or_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TDEV_RUN_STATE", raising=False)
    for text, chosen in (("", False), ("0", False), ("interpret", True), (" Interpret ", True)):
        monkeypatch.setenv("TDEV_TRITON", text)
        assert choosing.is_chosen() is chosen
    monkeypatch.setenv("TDEV_TRITON", "emulate")
    with pytest.raises(ConfigError, match="TDEV_TRITON='emulate' is not understood"):
        choosing.is_chosen()


@pytest.mark.parametrize("drivers", [(), (__file__,)])
def test_tdev_run_interprets_where_no_gpu_has_a_driver(
    drivers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TDEV_RUN_STATE", raising=False)
    monkeypatch.delenv("TDEV_TRITON", raising=False)
    monkeypatch.setattr(choosing, "_DRIVERS", drivers)
    assert choosing.is_chosen(rewritten=True) is not bool(drivers)
    assert not choosing.is_chosen()
    monkeypatch.setenv("TDEV_RUN_STATE", "{}")  # of a child
    assert choosing.is_chosen() is not bool(drivers)
    monkeypatch.setenv("TDEV_TRITON", "0")
    assert not choosing.is_chosen()


@pytest.mark.parametrize(("asked", "met"), [("interpret", True), ("0", False)])
def test_what_guards_an_interpreted_kernel_is_met(
    asked: str, met: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``sageattention`` asks before its kernels; under another setting it is compiled anew."""
    monkeypatch.setenv("TDEV_TRITON", asked)
    source = (
        b"import torch, triton\n\n@triton.jit\ndef kernel(x):\n    pass\n\ndef call(x: torch.Tensor):\n"
        b"    assert x.is_cuda, 'Input tensors must be on cuda.'\n    kernel[(1,)](x)\n"
    )
    tree, *_ = rewritten_tree(source, "program.py")
    assert (tree is not None and "answers_cuda(x)" in ast.unparse(tree)) is met
    kept = CodeCache(tmp_path)
    kept.put("program.py", source, compile("", "program.py", "exec"))
    monkeypatch.setenv("TDEV_TRITON", "0" if met else "interpret")
    assert kept.get("program.py", source) is None


def test_triton_that_was_imported_before_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    class Knobs:
        class runtime:
            interpret = False

    monkeypatch.setenv("TDEV_TRITON", "interpret")
    monkeypatch.setitem(sys.modules, "triton.language", Knobs)  # type: ignore[arg-type]  # a class for a module
    monkeypatch.setitem(sys.modules, "triton.knobs", Knobs)  # type: ignore[arg-type]  # a class for a module
    with pytest.raises(ConfigError, match="Import tdev before triton"):
        choosing.begin()


@pytest.mark.parametrize(
    ("backend", "drivers", "before", "imported", "after"),
    [
        ("sim", [], None, False, "1"),
        ("sim", [], "0", False, "0"),
        ("sim", ["/"], None, False, None),
        ("sim", [], None, True, None),
        ("cpu", [], None, False, None),
        ("", [], None, False, None),
    ],
)
def test_numba_is_simulated_on_sim_alone(
    backend: str, drivers: list[str], before: str | None, imported: bool, after: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("TDEV_BACKEND", backend)
    monkeypatch.setattr(choosing, "_DRIVERS", drivers)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    if before is not None:
        monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", before)
    if imported:
        monkeypatch.setitem(sys.modules, "numba", sys)
    choosing.simulate_numba()
    assert os.environ.get("NUMBA_ENABLE_CUDASIM") == after
    os.environ.pop("NUMBA_ENABLE_CUDASIM", None)
