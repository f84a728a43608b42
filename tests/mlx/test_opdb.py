"""torch's operator database on the device, as tests: one for each operator, kind and dtype (see ``opdb``)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.mlx.opdb import DTYPES, KINDS, applies, database, name_of, run, skip_reason


def _cases() -> list[Any]:
    """float32 for every operator and kind; the other dtypes forward only (``opdb.py`` reports all of them)."""
    cases = []
    for op in database():
        for kind in KINDS:
            for dtype in DTYPES if kind == "forward" else ("float32",):
                if not applies(op, kind, getattr(torch, dtype)):
                    continue
                reason = skip_reason(name_of(op), kind, dtype)
                marks = [pytest.mark.skip(reason=reason)] if reason else []
                name = f"{name_of(op)}-{kind}-{dtype}"
                cases.append(pytest.param(op, kind, getattr(torch, dtype), id=name, marks=marks))
    return cases


@pytest.mark.parametrize(("op", "kind", "dtype"), _cases())
def test_operator(op: Any, kind: str, dtype: torch.dtype) -> None:
    outcome = run(op, kind, dtype)
    assert outcome.status != "fail", outcome.message
