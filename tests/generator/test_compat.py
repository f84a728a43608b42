"""Which kernel answers for a plain operator: torch's own table, and the MLX device's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from generator import paths
from generator.errors import GenerationError
from generator.facts import composites
from generator.facts.model import Member, Operator
from generator.facts.pin import PINNED, installed_version
from generator.plan.compat import Compat, mlx_operators
from generator.plan.core import Core


def operator(name: str, *keys: str, overload: str = "") -> Operator:
    composite = "implicit" if keys == ("CompositeImplicitAutograd",) else None
    return Operator(name, overload, {key: name for key in keys}, composite, None, ())


OPERATORS = [
    operator("i0", "CPU", "CUDA", "MPS"),
    operator("special_i0", "CompositeImplicitAutograd"),
    operator("_svd", "CPU", "CUDA"),
    operator("svd", "CompositeImplicitAutograd"),
    operator("svd", "CompositeExplicitAutograd", overload="out"),
    operator("einsum", "CompositeImplicitAutograd"),
    operator("zeros_like", "CompositeExplicitAutograd"),
    operator("cudnn_conv", "CUDA"),
    operator("int_repr", "QuantizedCPU", "QuantizedCUDA"),
    operator("relu", "CPU", "CUDA", "MPS"),
    operator("relu_", "CPU", "CUDA", "MPS"),
    operator("of_the_host", "CPU", "XPU", "SparseXPU"),
]
MLX = {
    "i0.default": ("emulated", "mx.exp, mx.where", ""),
    "relu.default": ("mapped", "mx.maximum", ""),
}


def cells(*names: str) -> dict[str, tuple[str, str]]:
    return Compat(OPERATORS, MLX).cells(Member("torch.f", "builtin", operators=names))


def test_the_backends_own_kernel_answers() -> None:
    found = cells("relu", "relu_")
    assert {found[backend][0] for backend in ("cpu", "cuda", "mps", "mlx")} == {"same"}
    assert found["mps"][1] == "dispatch key MPS of relu"
    assert found["mlx"][1] == "dispatch key PrivateUse1: mx.maximum", "in-place forms are derived"


def test_kernels_for_xpu_are_not_told_of() -> None:
    """What is recorded of another torch leaves them out, and the installed one must say the same."""
    assert cells("of_the_host")["cuda"][1] == "torch has no kernel for CUDA, only for CPU"


def test_a_composite_is_followed_to_the_operator_that_works() -> None:
    assert cells("special_i0")["mps"] == ("same", "dispatch key MPS of i0")
    assert cells("special_i0")["mlx"] == ("same", "dispatch key PrivateUse1: mx.exp, mx.where")
    assert cells("svd")["cuda"] == ("same", "dispatch key CUDA of _svd")
    assert cells("svd")["mps"][0] == cells("svd")["mlx"][0] == "fallback"


def test_a_composite_that_cannot_be_followed_says_so() -> None:
    assert cells("einsum")["mps"][1].endswith("as its parts are answered")
    assert cells("zeros_like")["mlx"] == (
        "same", "dispatch key CompositeExplicitAutograd: as its parts are answered",
    )  # fmt: skip


def test_no_kernel_anywhere_near_is_unsupported() -> None:
    found = cells("cudnn_conv")
    assert {backend: found[backend][0] for backend in found} == {
        "cpu": "unsupported", "cuda": "same", "mps": "unsupported", "mlx": "unsupported",
    }  # fmt: skip
    assert cells("int_repr")["cpu"] == ("same", "dispatch key QuantizedCPU, no dense kernel")


def test_a_function_is_answered_as_its_worst_operator() -> None:
    assert cells("relu", "cudnn_conv")["mps"][0] == "unsupported"


def test_a_branch_for_sparse_or_quantized_tensors_does_not_decide() -> None:
    function = Member("torch.f", "function", operators=("int_repr", "relu"))
    assert Compat(OPERATORS, MLX).cells(function)["mps"] == ("same", "dispatch key MPS")
    only = Member("torch.f", "function", operators=("int_repr",))
    assert Compat(OPERATORS, MLX).cells(only) == {}


def test_unknown_operators_leave_the_cells_open() -> None:
    assert cells() == cells("relu", "nobody_knows") == {}


def test_the_real_mlx_table_is_read_and_gives_the_same_twice() -> None:
    table = mlx_operators(Core(paths.CORE))
    assert table["add.Tensor"][:2] == ("mapped", "mx.add")
    attention = "scaled_dot_product_attention"
    assert table[f"{attention}.default"] == ("whole", f"mx.fast.{attention}", "")
    assert len(table) > 300 and mlx_operators(Core(paths.CORE)) == table


def test_a_table_that_does_not_load_is_an_error(tmp_path: Path) -> None:
    assert mlx_operators(Core(tmp_path)) == {}
    (tmp_path / "mlx").mkdir()
    (tmp_path / "mlx" / "table.py").write_text("raise ValueError('two rows')\n")
    with pytest.raises(GenerationError, match="two rows"):
        mlx_operators(Core(tmp_path))


@pytest.mark.parametrize(
    ("special", "plain"),
    [("special_i0", "i0"), ("linalg_inv", "linalg_inv_ex"), ("softmax", "_softmax")],
)
def test_the_naming_rule_is_torchs_own(special: str, plain: str) -> None:
    """The composite really runs the operator that the rule names."""
    from torch.utils._python_dispatch import TorchDispatchMode

    ran: list[str] = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            ran.append(func.__name__.partition(".")[0])
            return func(*args, **(kwargs or {}))

    call = getattr(torch.ops.aten, special)
    with Names():
        call(torch.eye(3), 0) if special == "softmax" else call(torch.eye(3))
    assert plain in ran


SEEN = {
    "torch.f": ("i0", "relu"),
    "torch.g": ("_svd", "relu"),
    "torch.h": ("on_cpu_only",),
    "torch.i": ("einsum",),
}


def by_parts(public: str, *names: str) -> dict[str, tuple[str, str]]:
    operators = [*OPERATORS, operator("on_cpu_only", "CPU")]
    return Compat(operators, MLX, SEEN).cells(
        Member(public, "function", exports=(public,), operators=names)
    )


def test_a_composite_is_answered_as_the_operators_that_it_was_seen_to_run() -> None:
    found = by_parts("torch.f", "einsum")
    note = "dispatch key CompositeImplicitAutograd: its parts have kernels: i0, relu"
    assert found == dict.fromkeys(("cpu", "cuda", "mps", "mlx"), ("same", note))


def test_the_worst_part_decides_and_is_named() -> None:
    found = by_parts("torch.g", "einsum")
    assert found["cuda"][0] == "same"
    for backend in ("mps", "mlx"):
        route, note = found[backend]
        assert route == "fallback" and "_svd: no kernel for " in note


def test_a_composite_with_a_kernel_of_its_own_is_not_asked_for_its_parts() -> None:
    whole = MLX | {"einsum.default": ("whole", "mx.einsum", "")}
    member = Member("torch.g", "function", exports=("torch.g",), operators=("einsum",))
    found = Compat(OPERATORS, whole, SEEN).cells(member)
    assert found["mlx"] == ("same", "dispatch key AutogradPrivateUse1: mx.einsum")
    assert found["mps"][0] == "fallback"
    # A row like all others is met by compiled graphs alone.
    rows = MLX | {"einsum.default": ("mapped", "mx.einsum", "")}
    assert Compat(OPERATORS, rows, SEEN).cells(member)["mlx"][0] == "fallback"


def test_parts_that_may_be_others_on_another_device_tell_nothing_about_it() -> None:
    found = by_parts("torch.h", "einsum")
    assert found["cpu"][1].endswith("its parts have kernels: on_cpu_only")
    assert found["mps"][1].endswith("as its parts are answered")


def test_what_was_seen_decides_only_where_the_operators_do_not() -> None:
    assert by_parts("torch.f", "svd")["cuda"][1] == "dispatch key CUDA of _svd"
    assert by_parts("torch.f", "einsum", "relu")["mps"][1].endswith("as its parts are answered")
    assert by_parts("torch.i", "einsum")["cpu"][1].endswith("as its parts are answered")


TRACE = """
import json, sys
from generator.facts import composites
from torch.testing._internal.common_methods_invocations import op_db
print(json.dumps(composites.traced([entry for entry in op_db if entry.name in sys.argv[1:]])))
"""


def test_parts_that_another_torch_was_seen_to_run_are_not_read() -> None:
    assert len(composites.read(PINNED)) > 250
    assert composites.read("1.0.0") == {}


@pytest.mark.deep  # torch's whole operator database
def test_the_parts_are_those_that_torchs_samples_run() -> None:
    """A few of them, run again: all take minutes (``python -m generator.facts.composites --check``).

    Parts are recorded of one torch; another one's functions may come down to others, and are only traced.
    """
    wanted = ["nn.functional.conv2d", "linalg.cond", "nn.functional.grid_sample", "einsum", "kron"]
    # In a process of its own: the database imports parts of torch that the facts do not speak of.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TRACE, *wanted],
        cwd=paths.ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {f"torch.{name}" for name in wanted} <= found.keys()
    assert "convolution" in found["torch.nn.functional.conv2d"]
    assert "convolution" not in found["torch.kron"]
    if installed_version() == PINNED:
        known = composites.read(PINNED)
        assert found == {name: list(known[name]) for name in found}
