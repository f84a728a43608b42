"""The migration plan's list: read strictly, and held against torch's names."""

from __future__ import annotations

from typing import Any

import pytest

from generator import paths
from generator.errors import GenerationError
from generator.plan.planned import Planned, check_planned, read_planned
from generator.plan.routes import read_routes


def test_rows_are_sorted_and_carry_what_became_of_a_lost_name() -> None:
    rows = read_planned(
        {
            "B": {"functions": ["torch.new"]},
            "A": {"functions": ["torch.old"]},
            "gone": {"torch.old": {"note": "renamed", "successor": "torch.new"}},
        }
    )
    assert rows == (
        Planned("torch.old", "A", "renamed", "torch.new"),
        Planned("torch.new", "B"),
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"A": {"functions": ["torch.x"], "function": []}}, "unknown key 'function'"),
        ({"A": {"functions": ["torch.x"]}, "B": {"functions": ["torch.x"]}}, "is in A already"),
        ({"A": ["torch.x"]}, "expected a table"),
        ({"A": {"functions": []}, "gone": {"torch.x": {"note": "n"}}}, "in no category"),
        ({"A": {"functions": ["torch.x"]}, "gone": {"torch.x": {}}}, "what became of it"),
        ({"gone": {"torch.x": {"note": "n", "why": "w"}}}, "unknown key 'why'"),
    ],
)
def test_mistakes_name_the_place(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(GenerationError, match=message):
        read_planned(tables)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Planned("torch.lost", "A"), "torch 2 has no 'torch.lost'"),
        (Planned("torch.back", "A", "renamed"), "delete its entry under gone"),
        (Planned("torch.lost", "A", "renamed", "torch.lost_too"), "not have 'torch.lost_too'"),
    ],
)
def test_a_torch_that_differs_announces_itself(row: Planned, message: str) -> None:
    (decision,) = check_planned((row,), {"torch.back"}, "2")
    assert message in decision.text and decision.member == row.dotted
    assert check_planned((Planned("torch.back", "A"),), {"torch.back"}, "2") == []


def test_the_real_list_has_every_function_of_the_plan() -> None:
    planned = read_routes(paths.ROUTES).planned
    assert len(planned) == 369
    assert sum(bool(row.gone) for row in planned) == 6
