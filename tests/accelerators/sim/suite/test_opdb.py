"""A slice of torch's databases, bit for bit; ``python tests/accelerators/sim/opdb.py`` runs all of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tdev_core.release import torch_release
from tests.accelerators.sim import bits, databases, opdb

OPERATORS = opdb.op_database()
# Every twenty-first operator, and those that sim treats by itself.
NAMED = frozenset(
    "nn.functional.scaled_dot_product_attention nn.functional.dropout nn.functional.conv2d sgn"
    " nn.functional.conv_transpose2d native_layer_norm linalg.lu_solve index_put tensor_split resize_"
    " as_strided view_as_real to".split()
)
CASES = [
    pytest.param(op, category, dtype, id=f"{opdb.full_name(op)}-{category}-{str(dtype)[6:]}")
    for which, dtype in enumerate(opdb.DTYPES)
    for number, op in enumerate(OPERATORS)
    # The other dtypes take turns among those that float32 leaves out.
    if (number % 21 == 0 or op.name in NAMED if which == 0 else number % 56 == 8 * which + 1)
    for category in opdb.CATEGORIES
    if opdb.applies(op, category, dtype)
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("op", "category", "dtype"), CASES)
def test_operator(op: Any, category: str, dtype: torch.dtype) -> None:
    failures = opdb.check(op, category, dtype, limit=2)
    if torch_release < (
        2,
        13,
    ):  # there a device of Python's cannot resize what `out=` is given, and says so
        failures = [one for one in failures if "needs torch 2.13 or newer" not in one]
    if (opdb.full_name(op), category) in opdb.EXPECTED:
        return
    assert not failures, failures


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("info", databases.module_database(), ids=lambda info: info.name)
def test_module(info: Any, training: bool) -> None:
    failures = databases.check_module(info, torch.float32, training, limit=1)
    assert not failures, failures


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", databases.MODES)
@pytest.mark.parametrize(
    "info", databases.optimizer_database(), ids=lambda info: info.optim_cls.__name__
)
def test_optimizer(info: Any, mode: str) -> None:
    if mode in databases.implementations(info):
        failures = databases.check_optimizer(info, mode, limit=2)
        assert not failures, failures


def test_the_comparison_can_fail() -> None:
    """A harness that sees no differences would pass everything."""
    x = torch.tensor([1.0, 0.0, float("nan")])
    same, other = x.to("sim"), torch.tensor([1.0, -0.0, float("nan")]).to("sim")
    assert bits.difference(x, same) is None
    assert "values differ" in bits.difference(x, other)
    assert "stride" in bits.difference(torch.ones(2, 2), torch.ones(2, 2, device="sim").t())
    assert bits.difference(x, x) is not None and bits.difference(x, same.double()) is not None
    assert bits.compare(lambda: x + 1, lambda: same, "") is not None
