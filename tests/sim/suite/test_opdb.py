"""A slice of torch's operator database, bit for bit; ``python tests/sim/opdb.py`` runs all of it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

_path = Path(__file__).parents[1] / "opdb.py"
_spec = importlib.util.spec_from_file_location("sim_opdb", _path)
assert _spec is not None and _spec.loader is not None
opdb: Any = importlib.util.module_from_spec(_spec)
sys.modules["sim_opdb"] = opdb
_spec.loader.exec_module(opdb)

OPERATORS = opdb.op_database()
# Every seventh operator, and those that sim treats by itself.
NAMED = frozenset(
    "nn.functional.scaled_dot_product_attention nn.functional.dropout nn.functional.conv2d sgn"
    " nn.functional.conv_transpose2d native_layer_norm linalg.lu_solve index_put tensor_split resize_"
    " as_strided view_as_real to".split()
)
SLICE = [op for number, op in enumerate(OPERATORS) if number % 7 == 0 or op.name in NAMED]
CASES = [(op, c) for op in SLICE for c in opdb.CATEGORIES if opdb.applies(op, c)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("op", "category"), CASES, ids=[f"{opdb.full_name(op)}-{c}" for op, c in CASES]
)
def test_operator(op: Any, category: str) -> None:
    failures = opdb.check(op, category, limit=2)
    if (opdb.full_name(op), category) in opdb.EXPECTED:
        return
    assert not failures, failures


def test_the_comparison_can_fail() -> None:
    """A harness that sees no differences would pass everything."""
    x = torch.tensor([1.0, 0.0, float("nan")])
    same, other = x.to("sim"), torch.tensor([1.0, -0.0, float("nan")]).to("sim")
    assert opdb.difference(x, same) is None
    assert "values differ" in opdb.difference(x, other)
    assert "stride" in opdb.difference(torch.ones(2, 2), torch.ones(2, 2, device="sim").t())
    assert opdb.difference(x, x) is not None and opdb.difference(x, same.double()) is not None
    assert opdb.compare(lambda: x + 1, lambda: same, "") is not None
