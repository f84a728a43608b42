"""A slice of torch's own databases through the mirror; ``python tests/parity/opdb.py`` runs all."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tdev_core.backend import Backend, current

sys.path.insert(0, str(Path(__file__).parent))
import compare  # noqa: E402
import databases  # noqa: E402
import resolve  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402
from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

pytestmark = pytest.mark.skipif(
    current() is not Backend.CPU, reason="the expected values are torch's on the CPU"
)
OPERATORS = databases.operators()
# Whatever takes a device by itself: there the mirror's own code runs. Of the others, which are torch's own
# objects (test_names.py holds each of them to that), one in forty.
SLICE = [
    op
    for number, op in enumerate(OPERATORS)
    if number % 60 == 0 or databases.takes_device(op) or op.name in ("to", "clone", "cdouble")
]
GROUPS = 12


@functools.cache
def verdict(number: int) -> databases.Verdict:
    """What came of three samples in every type, by the operator's place in the slice."""
    torch.set_num_threads(1)
    return databases.judge_operator(SLICE[number], 3)


def judged(verdicts: list[databases.Verdict]) -> None:
    assert {v.name: v.different for v in verdicts if v.different} == {}
    assert all(v.samples for v in verdicts if not v.skipped)


@pytest.mark.parametrize("group", range(GROUPS))
def test_operators_give_the_same_values(group: int) -> None:
    judged([verdict(number) for number in range(group, len(SLICE), GROUPS)])


@pytest.mark.parametrize("group", range(4))
def test_modules_give_the_same_values_and_gradients(group: int) -> None:
    judged([databases.judge_module(info, 2) for info in module_db[group * 2 :: 8]])


@pytest.mark.parametrize("info", optim_db, ids=lambda info: info.optim_cls.__name__)
def test_optimizers_learn_the_same(info: Any) -> None:
    judged([databases.judge_optimizer(info, 3)])


def test_the_slice_reaches_what_the_mirror_defines() -> None:
    takes = [number for number, op in enumerate(SLICE) if databases.takes_device(op)]
    verdicts = [verdict(number) for number in takes]
    assert {"tdev.zeros", "tdev.full_like", "tdev.linspace", "tdev.arange"} <= {
        v.reached for v in verdicts
    }
    assert sum(v.with_device for v in verdicts) > 30


def test_a_wrong_answer_is_seen() -> None:
    """The comparison itself, on what it must tell apart."""
    ones = torch.ones(2)
    pairs: list[tuple[Any, Any]] = [
        (ones, torch.zeros(2)),
        (ones, torch.ones(2, dtype=torch.float64)),
        (ones, torch.ones(1, 2)),
        (ones, [ones]),
        (torch.ones(2, 2), torch.ones(2, 2).t().contiguous().t()),
        (torch.tensor([float("nan")]), ones[:1]),
        (1, True),
    ]
    for expected, found in pairs:
        assert compare.difference(compare.Outcome(expected), compare.Outcome(found))
        assert not compare.difference(compare.Outcome(expected), compare.Outcome(expected))
    error = compare.Outcome(error=ValueError("a"))
    assert compare.difference(error, compare.Outcome(error=TypeError("a")))
    assert compare.difference(error, compare.Outcome(ones))


def test_names_resolve_through_the_mirror() -> None:
    import tdev

    assert resolve.through_mirror(torch.zeros, "zeros") == (tdev.zeros, "tdev.zeros")
    assert resolve.through_mirror(torch.linalg.norm, "linalg.norm")[1] == "tdev.linalg.norm"
    assert resolve.through_mirror(torch.special.erf, "nothing")[1] == "tdev.special.erf"
