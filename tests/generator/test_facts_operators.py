"""Kernels per backend, from a small table of every form and from the one that torch ships."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.facts import FactsError, Member, Operators, support
from generator.facts.operators import read_operators

TABLE = """
- func: sgn(Tensor self) -> Tensor
  structured_delegate: sgn.out
  variants: function, method
  dispatch:
    SparseCPU, SparseCUDA: sgn_sparse
    CPU: own_kernel
  tags: pointwise
- func: sgn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: sgn_out
    MPS: sgn_out_mps
- func: plain(Tensor self) -> Tensor
- func: view(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutograd: view
- func: both(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutograd: slow
    CUDA: fast
- func: only_cuda(Tensor self) -> Tensor
  python_module: nn
  dispatch: {CUDA: k}
  tags: [core, pointwise]
- func: add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  ufunc_inner_loop:
    Generic: add (AllAndComplex)
  dispatch:
    MPS: add_out_mps
"""


@pytest.fixture
def table(tmp_path: Path) -> Operators:
    path = tmp_path / "native_functions.yaml"
    path.write_text(TABLE)
    return Operators(read_operators(path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", ("CompositeImplicitAutograd",) * 3),
        ("view", ("CompositeExplicitAutograd",) * 3),
        ("both", ("CompositeExplicitAutograd", "CUDA", "CompositeExplicitAutograd")),
        ("only_cuda", (None, "CUDA", None)),
        ("add", ("CPU", "CUDA", "MPS")),
    ],
)
def test_the_dispatchers_order_decides(
    table: Operators, name: str, expected: tuple[str | None, ...]
) -> None:
    (operator,) = table.overloads(name)
    found = support(operator)
    assert (found["cpu"], found["cuda"], found["mps"]) == expected


def test_a_structured_delegate_lends_its_kernels_and_own_ones_win(table: Operators) -> None:
    functional = next(item for item in table.overloads("sgn") if not item.overload)
    assert functional.dispatch["CPU"] == "own_kernel"
    assert functional.dispatch["CUDA"] == "sgn_out"
    assert functional.dispatch["MPS"] == "sgn_out_mps"
    assert functional.dispatch["SparseCUDA"] == "sgn_sparse"
    assert functional.composite is None and functional.delegate == "sgn.out"
    assert functional.variants == ("function", "method") and functional.tags == ("pointwise",)


def test_a_function_has_what_all_of_its_operators_have(table: Operators) -> None:
    def answer(*operators: str) -> object:
        return table.support(Member("torch.f", "function", operators=operators))

    assert answer() is None
    assert answer("plain", "unknown") is None
    assert answer("sgn") == {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS"}
    assert answer("sgn", "only_cuda") == {"cpu": None, "cuda": "CUDA", "mps": None}
    assert answer("sgn", "plain") == dict.fromkeys(
        ("cpu", "cuda", "mps"), "CompositeImplicitAutograd"
    )


def test_a_delegate_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_text("- func: a(Tensor self) -> Tensor\n  structured_delegate: a.out\n")
    with pytest.raises(FactsError, match=r"a delegates to a\.out"):
        read_operators(path)


def test_a_table_that_is_missing_says_where_it_comes_from(tmp_path: Path) -> None:
    with pytest.raises(FactsError, match="torch wheel"):
        read_operators(tmp_path / "none.yaml")
