"""torch's operator database on the device, as tests: one for each operator, kind and dtype (see ``opdb``)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.accelerators.mlx.opdb import DTYPES, KINDS, applies, database, name_of, run, skip_reason

OTHERS = DTYPES[1:]
SLICE = 8
"""The dtypes beside float32 are tried with each eighth operator; with the others in the deep session."""
TURNS = {"forward": 3, "backward": 5, "inplace": 8, "out": 8}
"""In float32 each third operator runs forward, each fifth backward, each eighth in place and to ``out``."""


def _dtypes(op: Any, number: int) -> dict[str, tuple[str, ...]]:
    """List the dtypes of each kind: float32 in all, and one other forward.

    The other dtypes take turns among the operators that have them: what a dtype asks for (promotion, wider
    accumulation, the fallback's own dtypes) is code that operators share.  ``opdb.py`` goes through all of them.
    """
    had = [d for d in OTHERS if applies(op, "forward", getattr(torch, d))]
    turn = (had[number % len(had)],) if had else ()
    return {kind: ("float32", *(turn if kind == "forward" else ())) for kind in KINDS}


def _cases() -> list[Any]:
    cases = []
    for number, op in enumerate(database()):
        for kind, dtypes in _dtypes(op, number).items():
            for dtype in dtypes:
                if not applies(op, kind, getattr(torch, dtype)):
                    continue
                reason = skip_reason(name_of(op), kind, dtype)
                marks = [pytest.mark.skip(reason=reason)] if reason else []
                if number % (SLICE if dtype != "float32" else TURNS[kind]):
                    marks.append(pytest.mark.deep)
                name = f"{name_of(op)}-{kind}-{dtype}"
                cases.append(pytest.param(op, kind, getattr(torch, dtype), id=name, marks=marks))
    return cases


@pytest.mark.parametrize(("op", "kind", "dtype"), _cases())
def test_operator(op: Any, kind: str, dtype: torch.dtype) -> None:
    outcome = run(op, kind, dtype)
    assert outcome.status != "fail", outcome.message
